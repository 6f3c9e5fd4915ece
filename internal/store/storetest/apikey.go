package storetest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/store"
)

func testAPIKey(t *testing.T, setup setup) {
	t.Run("AKeyComesBackAsItWas", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		full := &apikey.APIKey{
			ID: "key_full", WorkspaceID: "wsp_a", Name: "Ünïcode", Scopes: auth.Read | auth.Admin,
			ExpiresAt: pointer(after(time.Hour)), RequestsPerMinute: pointer(int64(7)), Daily: pointer(int64(8)), Monthly: pointer(int64(9)),
			SubjectID: "sub", AgentID: "agent",
			AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")},
			Metadata:   map[string]any{"text": "a", "number": 1.5, "yes": true},
			CreatedAt:  epoch, CreatedBy: "usr_x", UpdatedAt: after(time.Second), DisabledAt: pointer(after(2 * time.Second)),
			RevokedAt: pointer(after(3 * time.Second)), RevokeReason: "leaked", Revision: 4,
			Secrets: []apikey.Secret{
				{Hash: hash(2), Hint: "kpsk_new0", CreatedAt: after(time.Minute)},
				{Hash: hash(1), Hint: "kpsk_old0", CreatedAt: epoch, ValidUntil: pointer(after(time.Hour))},
			},
		}
		plain := newKey("key_plain", "wsp_a", 3)
		for _, k := range []*apikey.APIKey{full, plain} {
			noError(t, s.APIKeys.CreateAPIKey(t.Context(), k, nil))
			got, err := s.APIKeys.APIKey(t.Context(), "wsp_a", k.ID)
			noError(t, err)
			wantKey(t, got, k)
			for _, secret := range k.Secrets {
				got, err := s.APIKeys.APIKeyBySecret(t.Context(), secret.Hash)
				noError(t, err)
				wantKey(t, got, k)
			}
		}
	})

	t.Run("AnotherWorkspacesKeyIsMissing", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		newWorkspace(t, s, "wsp_b")
		k := newKey("key_a", "wsp_a", 1)
		noError(t, s.APIKeys.CreateAPIKey(t.Context(), k, nil))
		for _, id := range []string{"key_a", "key_none"} {
			_, err := s.APIKeys.APIKey(t.Context(), "wsp_b", id)
			wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
		}
		foreign := *k
		foreign.WorkspaceID, foreign.Name, foreign.Revision = "wsp_b", "stolen", 2
		wantProblem(t, s.APIKeys.UpdateAPIKey(t.Context(), &foreign), problem.NotFound, problem.CodeNotFound)
		list, err := s.APIKeys.ListAPIKeys(t.Context(), "wsp_b", apikey.Filter{Now: epoch, Limit: 10})
		noError(t, err)
		if len(list) != 0 {
			t.Errorf("the other workspace lists %d keys", len(list))
		}
		_, err = s.APIKeys.APIKeyBySecret(t.Context(), hash(99))
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
	})

	t.Run("AChangeNeedsTheRevisionBefore", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		k := newKey("key_a", "wsp_a", 1)
		noError(t, s.APIKeys.CreateAPIKey(t.Context(), k, nil))
		k.Name, k.Scopes, k.Revision, k.Metadata = "renamed", auth.Write, 2, map[string]any{"a": "b"}
		k.ExpiresAt, k.Daily, k.DisabledAt = pointer(after(time.Hour)), pointer(int64(5)), pointer(after(time.Minute))
		k.UpdatedAt = after(time.Minute)
		noError(t, s.APIKeys.UpdateAPIKey(t.Context(), k))
		got, err := s.APIKeys.APIKey(t.Context(), "wsp_a", "key_a")
		noError(t, err)
		wantKey(t, got, k)
		wantProblem(t, s.APIKeys.UpdateAPIKey(t.Context(), k), problem.Mismatch, problem.CodeRevisionMismatch)
	})

	t.Run("AChangeReplacesTheSecrets", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		k := newKey("key_a", "wsp_a", 1)
		noError(t, s.APIKeys.CreateAPIKey(t.Context(), k, nil))
		bystander := newKey("key_b", "wsp_a", 7)
		noError(t, s.APIKeys.CreateAPIKey(t.Context(), bystander, nil))
		change := func(secrets ...apikey.Secret) {
			t.Helper()
			k.Secrets = secrets
			k.Revision++
			noError(t, s.APIKeys.UpdateAPIKey(t.Context(), k))
			got, err := s.APIKeys.APIKey(t.Context(), "wsp_a", "key_a")
			noError(t, err)
			wantKey(t, got, k)
		}
		first := k.Secrets[0]
		first.ValidUntil = pointer(after(time.Hour))
		// Created at the same time as the first: the one without an end is the newest.
		second := apikey.Secret{Hash: hash(2), Hint: "kpsk_2222", CreatedAt: first.CreatedAt}
		change(second, first)
		third := apikey.Secret{Hash: hash(3), Hint: "kpsk_3333", CreatedAt: after(time.Minute)}
		second.ValidUntil = pointer(after(2 * time.Hour))
		change(third, second)
		_, err := s.APIKeys.APIKeyBySecret(t.Context(), first.Hash)
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
		change(third)

		// A refused change removes no secret.
		k.Secrets = []apikey.Secret{{Hash: hash(4), Hint: "kpsk_4444", CreatedAt: after(time.Hour)}}
		wantProblem(t, s.APIKeys.UpdateAPIKey(t.Context(), k), problem.Mismatch, problem.CodeRevisionMismatch)
		for _, kept := range []*apikey.APIKey{{ID: "key_a", Secrets: []apikey.Secret{third}}, bystander} {
			got, err := s.APIKeys.APIKeyBySecret(t.Context(), kept.Secrets[0].Hash)
			noError(t, err)
			if got.ID != kept.ID || len(got.Secrets) != 1 {
				t.Errorf("the secret of %s finds %s with %d secrets", kept.ID, got.ID, len(got.Secrets))
			}
		}
	})

	t.Run("TheMaximumCountsLiveKeysAndHoldsUnderParallelCreation", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		revoked, expired := newKey("key_revoked", "wsp_a", 1), newKey("key_expired", "wsp_a", 2)
		revoked.RevokedAt, expired.ExpiresAt = pointer(epoch), pointer(epoch)
		noError(t, s.APIKeys.CreateAPIKey(t.Context(), revoked, new(int64(1))))
		noError(t, s.APIKeys.CreateAPIKey(t.Context(), expired, new(int64(1))))
		var mu sync.Mutex
		made, refused := 0, 0
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				err := s.APIKeys.CreateAPIKey(t.Context(), newKey(fmt.Sprintf("key_%02d", i), "wsp_a", byte(10+i)), new(int64(5)))
				mu.Lock()
				defer mu.Unlock()
				switch p, ok := problem.As(err); {
				case err == nil:
					made++
				case ok && p.Code == problem.CodeLimitReached && p.Details.Limit == "keys":
					refused++
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if made != 5 || refused != 15 {
			t.Errorf("%d made and %d refused, want 5 and 15", made, refused)
		}
		n, err := s.APIKeys.CountAPIKeys(t.Context(), "wsp_a", epoch)
		noError(t, err)
		if n != 5 {
			t.Errorf("%d keys counted, want 5", n)
		}
	})

	t.Run("ListsAreNewestFirstAndContinue", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		for i := range 7 { // pairs of equal times, so that the ID decides
			k := newKey(fmt.Sprintf("key_%d", i), "wsp_a", byte(i))
			k.CreatedAt = after(time.Duration(i/2) * time.Second)
			k.Secrets = append(k.Secrets, apikey.Secret{Hash: hash(byte(100 + i)), Hint: "h", CreatedAt: after(-time.Hour), ValidUntil: pointer(epoch)})
			noError(t, s.APIKeys.CreateAPIKey(t.Context(), k, nil))
		}
		var got []string
		var before *apikey.Position
		for {
			page, err := s.APIKeys.ListAPIKeys(t.Context(), "wsp_a", apikey.Filter{Now: epoch, Before: before, Limit: 3})
			noError(t, err)
			for _, k := range page {
				if len(k.Secrets) != 2 {
					t.Errorf("%s has %d secrets, want 2", k.ID, len(k.Secrets))
				}
				got = append(got, k.ID)
			}
			if len(page) < 3 {
				break
			}
			last := page[2]
			before = &apikey.Position{CreatedAt: last.CreatedAt, ID: last.ID}
		}
		if diff := cmp.Diff([]string{"key_6", "key_5", "key_4", "key_3", "key_2", "key_1", "key_0"}, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("TheStateFilterAgreesWithTheStateMachine", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		keys := everyState(t, s)
		for _, now := range []time.Time{after(-time.Second), epoch, after(time.Second)} {
			for _, state := range []apikey.State{"", apikey.Revoked, apikey.Disabled, apikey.Expired, apikey.Rotating, apikey.Active} {
				want := map[string]bool{}
				for _, k := range keys {
					if state == "" || k.StateAt(now) == state {
						want[k.ID] = true
					}
				}
				got := map[string]bool{}
				list, err := s.APIKeys.ListAPIKeys(t.Context(), "wsp_a", apikey.Filter{State: state, Now: now, Limit: 1000})
				noError(t, err)
				for _, k := range list {
					got[k.ID] = true
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("state %q at %v: %s", state, now, diff)
				}
			}
		}
	})

	t.Run("ListsNarrowToCreatorAndBinding", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		for i, bound := range []struct{ by, subject, agent string }{{"usr_a", "", ""}, {"usr_b", "s", ""}, {"usr_b", "s", "a"}, {"usr_b", "t", "a"}} {
			k := newKey(fmt.Sprintf("key_%d", i), "wsp_a", byte(i))
			k.CreatedBy, k.SubjectID, k.AgentID = bound.by, bound.subject, bound.agent
			noError(t, s.APIKeys.CreateAPIKey(t.Context(), k, nil))
		}
		for _, c := range []struct {
			filter apikey.Filter
			want   int
		}{
			{apikey.Filter{CreatedBy: "usr_a"}, 1},
			{apikey.Filter{SubjectID: "s"}, 2},
			{apikey.Filter{AgentID: "a"}, 2},
			{apikey.Filter{SubjectID: "s", AgentID: "a", CreatedBy: "usr_b"}, 1},
		} {
			c.filter.Now, c.filter.Limit = epoch, 10
			list, err := s.APIKeys.ListAPIKeys(t.Context(), "wsp_a", c.filter)
			noError(t, err)
			if len(list) != c.want {
				t.Errorf("%+v: %d keys, want %d", c.filter, len(list), c.want)
			}
		}
	})

	t.Run("EachAPIKeyVisitsEveryKeyThatIsNotRevokedOnce", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		want := map[string]int{}
		for _, k := range everyState(t, s) {
			if k.RevokedAt == nil {
				want[k.ID] = len(k.Secrets)
			}
		}
		got := map[string]int{}
		noError(t, s.APIKeys.EachAPIKey(t.Context(), func(k *apikey.APIKey) error {
			if _, again := got[k.ID]; again {
				t.Errorf("%s came twice", k.ID)
			}
			got[k.ID] = len(k.Secrets)
			return nil
		}))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		stop := errors.New("stop")
		if err := s.APIKeys.EachAPIKey(t.Context(), func(*apikey.APIKey) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("got %v, want the error of fn", err)
		}
	})

	t.Run("ASecretTakenElsewhereLeavesNothingBehind", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		noError(t, s.APIKeys.CreateAPIKey(t.Context(), newKey("key_a", "wsp_a", 1), nil))
		if err := s.APIKeys.CreateAPIKey(context.WithoutCancel(t.Context()), newKey("key_b", "wsp_a", 1), nil); err == nil {
			t.Fatal("two keys have one secret")
		}
		_, err := s.APIKeys.APIKey(t.Context(), "wsp_a", "key_b")
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
	})
}

// everyState adds a key for every combination of revoked, disabled, expiring and a second secret.
func everyState(t *testing.T, s *store.Store) []*apikey.APIKey {
	t.Helper()
	var keys []*apikey.APIKey
	for i := range 24 {
		k := newKey(fmt.Sprintf("key_%02d", i), "wsp_a", byte(i))
		if i&1 != 0 {
			k.RevokedAt = pointer(epoch)
		}
		if i&2 != 0 {
			k.DisabledAt = pointer(epoch)
		}
		if i&4 != 0 {
			k.ExpiresAt = pointer(epoch)
		}
		if i >= 8 {
			old := apikey.Secret{Hash: hash(byte(100 + i)), Hint: "old", CreatedAt: after(-time.Hour)}
			if i >= 16 {
				old.ValidUntil = pointer(epoch)
			}
			k.Secrets = append(k.Secrets, old)
		}
		noError(t, s.APIKeys.CreateAPIKey(t.Context(), k, nil))
		keys = append(keys, k)
	}
	return keys
}

func newKey(id, workspaceID string, n byte) *apikey.APIKey {
	return &apikey.APIKey{
		ID: id, WorkspaceID: workspaceID, Name: "a key", Scopes: auth.Read, CreatedAt: epoch, CreatedBy: "local", UpdatedAt: epoch,
		Revision: 1, Secrets: []apikey.Secret{{Hash: hash(n), Hint: "kpsk_abcd", CreatedAt: epoch}},
	}
}

func hash(n byte) [32]byte { return [32]byte{0: n, 31: 0xff} }

func wantKey(t *testing.T, got, want *apikey.APIKey) {
	t.Helper()
	equal := cmp.Options{cmpopts.EquateEmpty(), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}
	if diff := cmp.Diff(want, got, equal); diff != "" {
		t.Error(diff)
	}
}
