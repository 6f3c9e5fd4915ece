package apikey_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
)

// fullDisk lets no transaction commit.
type fullDisk struct{}

func (fullDisk) Run(context.Context, func(ctx context.Context) error) error {
	return problem.NotAvailable("The database is not accepting writes.", time.Second).Because(errors.New("the disk is full"))
}

// restarted is the service of a new process on the same database.
func (b *bundle) restarted(t *testing.T, full bool) *bundle {
	t.Helper()
	o := b.Options
	o.Accounts = account.NewDirectory(b.store.Accounts, limit.Tiers(), b.recorder, b.now)
	if err := o.Accounts.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o.Directory = apikey.NewDirectory(b.store.APIKeys, o.Hasher, o.Accounts, b.recorder, b.now)
	if err := o.Directory.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	o.Units = b.store
	if full {
		o.Units = fullDisk{}
	}
	next := &bundle{Service: apikey.NewService(o), Options: o}
	if err := next.LoadPending(t.Context()); err != nil {
		t.Fatal(err)
	}
	return next
}

func refused(t *testing.T, b *bundle, text string) bool {
	t.Helper()
	_, err := b.Directory.Authenticate(t.Context(), text, b.Now())
	p, ok := problem.As(err)
	return ok && p.Code == problem.CodeAPIKeyRevoked
}

func TestRevocationIsInForceBeforeItIsStored(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.manager(auth.All)
	k, other := b.newKey(t, apikey.Draft{Scopes: auth.Read}), b.newKey(t, apikey.Draft{Scopes: auth.Read})
	b.set(func(o *apikey.Options) { o.Units = fullDisk{} })
	ctx := context.WithValue(t.Context(), audit.SourceKey, audit.Source{Address: netip.MustParseAddr("192.0.2.7"), RequestID: "req_full"})

	wrong := k.Revision + 1
	for name, c := range map[string]struct {
		id       string
		by       *auth.Principal
		revision []int64
		want     problem.Kind
	}{
		"another revision":    {k.ID, p, []int64{wrong}, problem.Mismatch},
		"another workspace's": {k.ID, &auth.Principal{Kind: auth.Local, WorkspaceID: "wsp_other", Scopes: auth.All}, nil, problem.NotFound},
		"none":                {"key_none", p, nil, problem.NotFound},
	} {
		if got, ok := problem.As(second(b.Revoke(ctx, c.by, c.id, c.revision, ""))); !ok || got.Kind != c.want {
			t.Errorf("%s: %v, want kind %v", name, got, c.want)
		}
	}
	if refused(t, b, k.Text) {
		t.Fatal("the key is refused before it is revoked")
	}
	at := b.now().Truncate(time.Millisecond)
	for range 2 { // the second time changes nothing
		r, err := b.Revoke(ctx, p, k.ID, nil, "leaked")
		if err != nil || !r.Pending || r.State != apikey.Revoked || !r.RevokedAt.Equal(at) || r.RevokeReason != "leaked" {
			t.Fatalf("revoked on a full disk: %+v, %v", r, err)
		}
		b.pass(time.Minute)
	}
	if !refused(t, b, k.Text) || refused(t, b, other.Text) {
		t.Error("not just the revoked key is refused")
	}
	if r, err := b.APIKey(ctx, p, k.ID); err != nil || r.State != apikey.Revoked {
		t.Errorf("it reads %+v, %v", r, err)
	}
	list, err := b.List(ctx, p, apikey.Filter{Limit: 10})
	if err != nil || len(list) != 2 {
		t.Fatalf("the list has %d keys, %v", len(list), err)
	}
	for _, r := range list {
		if (r.ID == k.ID) != (r.State == apikey.Revoked) {
			t.Errorf("the list has %+v", r)
		}
	}
	// Neither a newer revision from elsewhere nor the hour after which revoked keys are forgotten brings the key back.
	newer, err := b.store.APIKeys.APIKey(ctx, b.tenant, k.ID)
	if err != nil {
		t.Fatal(err)
	}
	newer.Revision += 3
	b.Directory.Put(newer)
	b.pass(2 * time.Hour)
	b.Directory.Put(other.APIKey)
	if !refused(t, b, k.Text) {
		t.Error("the key is back")
	}

	// A restart while the disk is still full, then one after it.
	if s := b.restarted(t, true); !refused(t, s, k.Text) || len(b.reserve.list) != 1 {
		t.Errorf("after a restart the key works, and %d are saved", len(b.reserve.list))
	}
	s := b.restarted(t, false)
	stored, err := s.APIKey(ctx, p, k.ID)
	if err != nil || stored.Pending || stored.State != apikey.Revoked || !stored.RevokedAt.Equal(at) || len(b.reserve.list) != 0 || !refused(t, s, k.Text) {
		t.Errorf("stored is %+v, %v; %d are saved", stored, err, len(b.reserve.list))
	}
	entries := b.log.Entries()
	last := entries[len(entries)-1]
	if last.Action != audit.KeyRevoked || last.Target != k.ID || last.Actor != p.Actor() || last.RequestID != "req_full" || last.Address.String() != "192.0.2.7" {
		t.Errorf("the log has %+v", last)
	}
	if again := b.restarted(t, false); !refused(t, again, k.Text) || len(b.log.Entries()) != len(entries) {
		t.Error("it is stored twice")
	}
}

func TestVerifyShowsAPendingRevocation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.newKey(t, apikey.Draft{})
	b.set(func(o *apikey.Options) { o.Units = fullDisk{} })
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), k.ID, nil, "leaked"); err != nil {
		t.Fatal(err)
	}
	v := b.verify(t, apikey.VerifyRequest{Text: k.Text, Cost: 1})
	if v.Code != apikey.KeyRevoked || v.Key.State != apikey.Revoked || !v.Key.Pending || v.Key.RevokeReason != "leaked" {
		t.Errorf("got %s with the record %+v", v.Code, v.Key)
	}
}

func TestListFollowsPendingRevocations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.manager(auth.All)
	var ids []string // newest first
	for range 4 {
		ids = append([]string{b.newKey(t, apikey.Draft{}).ID}, ids...)
		b.pass(time.Second)
	}
	if _, err := b.Revoke(t.Context(), p, ids[3], nil, ""); err != nil {
		t.Fatal(err)
	}
	b.set(func(o *apikey.Options) { o.Units = fullDisk{} })
	if _, err := b.Revoke(t.Context(), p, ids[1], nil, ""); err != nil {
		t.Fatal(err)
	}
	for state, want := range map[apikey.State][]string{
		"": ids, apikey.Active: {ids[0], ids[2]}, apikey.Revoked: {ids[1], ids[3]}, apikey.Disabled: nil,
	} {
		for limit := 1; limit <= 5; limit++ {
			var got []string
			f := apikey.Filter{State: state, Limit: limit}
			for {
				page, err := b.List(t.Context(), p, f)
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range page {
					got = append(got, r.ID)
				}
				if len(page) < limit {
					break
				}
				last := page[len(page)-1]
				f.Before = &apikey.Position{CreatedAt: last.CreatedAt, ID: last.ID}
			}
			if !slices.Equal(got, want) {
				t.Errorf("state %q in pages of %d: got %v, want %v", state, limit, got, want)
			}
		}
	}
}

// brokenKey is a store that cannot update one key.
type brokenKey struct {
	apikey.Store
	id string
}

func (s *brokenKey) UpdateAPIKey(ctx context.Context, k *apikey.APIKey) error {
	if k.ID == s.id {
		return errors.New("this key cannot be updated")
	}
	return s.Store.UpdateAPIKey(ctx, k)
}

func TestFailedRevocationBlocksNoOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	p := b.manager(auth.All)
	broken, good := b.newKey(t, apikey.Draft{}), b.newKey(t, apikey.Draft{})
	b.set(func(o *apikey.Options) { o.Units = fullDisk{} })
	for _, k := range []*apikey.Created{broken, good} {
		if _, err := b.Revoke(t.Context(), p, k.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		b.pass(time.Second)
	}
	var log strings.Builder
	store := &brokenKey{b.store.APIKeys, broken.ID}
	b.Store, b.Log = store, slog.New(slog.NewTextHandler(&log, nil)) // of the next process
	s := b.restarted(t, false)
	s.StorePending(t.Context())
	if r, err := s.APIKey(t.Context(), p, good.ID); err != nil || r.Pending || r.State != apikey.Revoked {
		t.Errorf("the later revocation is %+v, %v; want it stored", r, err)
	}
	if r, err := s.APIKey(t.Context(), p, broken.ID); err != nil || !r.Pending || !refused(t, s, broken.Text) {
		t.Errorf("the failed revocation is %+v, %v; want it pending and in force", r, err)
	}
	if n := strings.Count(log.String(), "this key cannot be updated"); n != 1 || !strings.Contains(log.String(), broken.ID) {
		t.Errorf("two attempts logged the failure %d times, want once:\n%s", n, log.String())
	}
	store.id = ""
	s.StorePending(t.Context())
	if r, err := s.APIKey(t.Context(), p, broken.ID); err != nil || r.Pending || r.State != apikey.Revoked || len(b.reserve.list) != 0 {
		t.Errorf("when the key can be updated it is %+v, %v; %d are saved", r, err, len(b.reserve.list))
	}
}

func second[T any](_ T, err error) error { return err }

func TestRevocationFailsWithItsTransaction(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.newKey(t, apikey.Draft{Scopes: auth.Read})
	units := b.Units
	b.set(func(o *apikey.Options) { o.Units = fullDisk{} })
	err := units.Run(t.Context(), func(ctx context.Context) error { return second(b.Revoke(ctx, b.manager(auth.All), k.ID, nil, "")) })
	if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable || refused(t, b, k.Text) {
		t.Errorf("got %v", err)
	}
}
