package apikey_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/testing/testtier"
)

func (b *bundle) rotate(t testing.TB, keyID string, r apikey.Rotation) *apikey.Created {
	t.Helper()
	k, err := b.Rotate(t.Context(), b.manager(auth.All), keyID, nil, r)
	if err != nil {
		t.Fatalf("rotate %s: %v", keyID, err)
	}
	return k
}

func TestRotatedKeyHasTwoSecretsAndOneLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	three := int64(3)
	created := b.newKey(t, apikey.Draft{RequestsPerMinute: &three})
	old, err := b.Directory.Authenticate(t.Context(), created.Text, b.now())
	if err != nil || old.RotateBy != 0 {
		t.Fatalf("before its rotation the key is %+v, %v", old, err)
	}
	old.Touch(b.now())
	if err := b.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}

	b.pass(time.Second)
	limit.Local{}.Charge(b.now(), 1, old.Workspace.Account(), old.Account) // a new minute can have begun for the key
	rotated := b.rotate(t, created.ID, apikey.Rotation{Grace: time.Hour})
	if rotated.ID != created.ID || rotated.Text == created.Text || rotated.State != apikey.Rotating || rotated.Revision != 2 {
		t.Errorf("the rotated key is %+v", rotated.Record)
	}
	if s := rotated.LiveSecrets; len(s) != 2 || s[0].Hint != rotated.Text[:9] || s[0].ValidUntil != nil || s[0].LastUsedAt != nil ||
		!s[1].ValidUntil.Equal(b.now().Add(time.Hour)) || s[1].LastUsedAt == nil || !s[1].LastUsedAt.Equal(noon) {
		t.Errorf("its secrets are %+v", s)
	}
	for text, rotateBy := range map[string]int64{created.Text: b.now().Add(time.Hour).Unix(), rotated.Text: 0} {
		live, err := b.Directory.Authenticate(t.Context(), text, b.now())
		if err != nil || live.RotateBy != rotateBy || live.Principal.KeyID() != created.ID {
			t.Fatalf("a secret of a key being rotated is %+v, %v; want it to rotate by %d", live, err, rotateBy)
		}
		limit.Local{}.Charge(b.now(), 1, live.Workspace.Account(), live.Account)
	}
	live, _ := b.Directory.Authenticate(t.Context(), rotated.Text, b.now())
	if v := (limit.Local{}).Peek(b.now(), 1, live.Workspace.Account(), live.Account); v.Allowed || v.KeyRemaining != 0 {
		t.Errorf("after one use before and two after the rotation of three there are %d left", v.KeyRemaining)
	}

	// A second rotation is refused unless it is forced; then the oldest secret ends and the current one continues to work.
	if _, err := b.Rotate(t.Context(), b.manager(auth.All), created.ID, nil, apikey.Rotation{}); code(t, err) != problem.CodeRotationInProgress {
		t.Errorf("rotating while rotating: %v", err)
	}
	forced := b.rotate(t, created.ID, apikey.Rotation{Grace: time.Minute, Force: true})
	for text, want := range map[string]string{created.Text: problem.CodeInvalidAPIKey, rotated.Text: "", forced.Text: ""} {
		if got := b.codeWith(t, text); got != want {
			t.Errorf("after a forced rotation a secret answers %q, want %q", got, want)
		}
	}
	b.pass(time.Minute)
	if got := b.codeWith(t, rotated.Text); got != problem.CodeInvalidAPIKey {
		t.Errorf("a secret whose grace is over answers %q", got)
	}
	read, err := b.APIKey(t.Context(), b.manager(auth.All), created.ID)
	if err != nil || read.State != apikey.Active || len(read.LiveSecrets) != 1 || read.LiveSecrets[0].Hint != forced.Text[:9] {
		t.Errorf("when the grace is over the key is %+v, %v", read, err)
	}
	if read.LastUsedAt == nil {
		t.Error("with its secret a key forgot that it was used")
	}
}

func TestCompletedRotationEndsTheOldSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	created := b.newKey(t, apikey.Draft{})
	rotated := b.rotate(t, created.ID, apikey.Rotation{Grace: apikey.MaxGrace})
	for revision := range 2 {
		k, err := b.CompleteRotation(t.Context(), b.manager(auth.All), created.ID, nil)
		if err != nil || k.State != apikey.Active || len(k.LiveSecrets) != 1 || k.Revision != 3 {
			t.Errorf("completed %d times: %+v, %v", revision+1, k, err)
		}
	}
	if old, next := b.codeWith(t, created.Text), b.codeWith(t, rotated.Text); old != problem.CodeInvalidAPIKey || next != "" {
		t.Errorf("after the completion the secrets answer %q and %q", old, next)
	}
	stale := int64(2)
	if _, err := b.CompleteRotation(t.Context(), b.manager(auth.All), created.ID, []int64{stale}); code(t, err) != problem.CodeRevisionMismatch {
		t.Errorf("completing another revision: %v", err)
	}
	if _, err := b.Rotate(t.Context(), b.manager(auth.All), created.ID, []int64{stale}, apikey.Rotation{}); code(t, err) != problem.CodeRevisionMismatch {
		t.Errorf("rotating another revision: %v", err)
	}
	if got := b.codeWith(t, rotated.Text); got != "" {
		t.Errorf("after refused rotations the secret answers %q", got)
	}
}

func TestRotationIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.newKey(t, apikey.Draft{Scopes: auth.Admin})
	bound := b.newKey(t, apikey.Draft{SubjectID: "person-7"})
	lesser, foreign := b.manager(auth.DeveloperManage|auth.Read), b.manager(auth.All)
	foreign.WorkspaceID = operatorOf(b)
	other := b.manager(auth.All)
	other.SubjectID = "person-8"
	for name, c := range map[string]struct {
		p    *auth.Principal
		id   string
		want string
	}{
		"scopes it lacks":   {lesser, admin.ID, problem.CodeInsufficientScope},
		"another workspace": {foreign, admin.ID, problem.CodeNotFound},
		"another subject":   {other, bound.ID, problem.CodeNotFound},
		"no id":             {lesser, "key_x", problem.CodeNotFound},
	} {
		if _, err := b.Rotate(t.Context(), c.p, c.id, nil, apikey.Rotation{}); code(t, err) != c.want {
			t.Errorf("rotate, %s: %v, want %s", name, err, c.want)
		}
		if _, err := b.CompleteRotation(t.Context(), c.p, c.id, nil); code(t, err) != c.want {
			t.Errorf("complete, %s: %v, want %s", name, err, c.want)
		}
	}

	expiring := b.newKey(t, apikey.Draft{ExpiresAt: b.in(time.Minute)})
	off := true
	if _, err := b.Change(t.Context(), b.manager(auth.All), bound.ID, nil, apikey.Change{Disabled: &off}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), admin.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Minute)
	for _, k := range []*apikey.Created{expiring, bound, admin} {
		if _, err := b.Rotate(t.Context(), b.manager(auth.All), k.ID, nil, apikey.Rotation{Force: true}); code(t, err) != problem.CodeConflict {
			t.Errorf("rotating a key that is not live: %v", err)
		}
	}
	if k, err := b.APIKey(t.Context(), b.manager(auth.All), expiring.ID); err != nil || !k.ExpiresAt.Equal(*expiring.ExpiresAt) {
		t.Errorf("a refused rotation moved the expiry: %+v, %v", k, err)
	}
}

// A key is rotated, completed, disabled and revoked in any order while time passes. After every step each secret that it
// ever had is looked up and compared with a model.
func TestSecretsFollowAModelOfRotation(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rapid.Check(t, func(t *rapid.T) {
		type secret struct {
			text  string
			until time.Time // zero: as long as the key
		}
		manager := b.manager(auth.All)
		manager.WorkspaceID = operatorOf(b) // no limit on keys
		created, err := b.Create(context.Background(), manager, apikey.Draft{Name: "rotated", Scopes: auth.Read})
		if err != nil {
			t.Fatal(err)
		}
		texts := []string{created.Text}
		live := []secret{{text: created.Text}} // newest first
		var disabled, revoked bool
		lapse := func() {
			live = slices.DeleteFunc(live, func(s secret) bool { return !s.until.IsZero() && !b.now().Before(s.until) })
		}
		rotate := func(t *rapid.T, force bool) {
			grace := time.Duration(rapid.SampledFrom([]int64{0, 1, 60, 3600}).Draw(t, "grace")) * time.Second
			k, err := b.Rotate(context.Background(), manager, created.ID, nil, apikey.Rotation{Grace: grace, Force: force})
			want := ""
			switch {
			case revoked || disabled:
				want = problem.CodeConflict
			case len(live) > 1 && !force:
				want = problem.CodeRotationInProgress
			}
			if got := codeIn(err); got != want {
				t.Fatalf("rotate: %q, want %q", got, want)
			}
			if want != "" {
				return
			}
			used := live[0]
			live = []secret{{text: k.Text}}
			if grace > 0 {
				used.until = b.now().Truncate(time.Millisecond).Add(grace)
				live = append(live, used)
			}
			texts = append(texts, k.Text)
		}
		t.Repeat(map[string]func(*rapid.T){
			"rotate": func(t *rapid.T) { rotate(t, false) },
			"force":  func(t *rapid.T) { rotate(t, true) },
			"complete": func(t *rapid.T) {
				_, err := b.CompleteRotation(context.Background(), manager, created.ID, nil)
				if got := codeIn(err); (got == problem.CodeConflict) != revoked || got != "" && !revoked {
					t.Fatalf("complete: %v, revoked is %v", err, revoked)
				}
				if !revoked {
					live = live[:1]
				}
			},
			"disable": func(t *rapid.T) {
				to := !disabled
				_, err := b.Change(context.Background(), manager, created.ID, nil, apikey.Change{Disabled: &to})
				if (err != nil) != revoked {
					t.Fatalf("disabled %v: %v, revoked is %v", to, err, revoked)
				}
				if !revoked {
					disabled = to
				}
			},
			"wait": func(t *rapid.T) {
				b.pass(time.Duration(rapid.IntRange(1, 4000).Draw(t, "milliseconds")) * time.Millisecond)
				lapse()
			},
			"revoke": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
					return
				}
				if _, err := b.Revoke(context.Background(), manager, created.ID, nil, ""); err != nil {
					t.Fatal(err)
				}
				revoked = true
			},
			"": func(t *rapid.T) {
				for i, text := range texts {
					want := problem.CodeInvalidAPIKey
					if slices.ContainsFunc(live, func(s secret) bool { return s.text == text }) {
						switch {
						case revoked:
							want = problem.CodeAPIKeyRevoked
						case disabled:
							want = problem.CodeAPIKeyDisabled
						default:
							want = ""
						}
					}
					_, err := b.Directory.Authenticate(context.Background(), text, b.now())
					if got := codeIn(err); got != want {
						t.Fatalf("secret %d of %d answers %q, want %q", i, len(texts), got, want)
					}
				}
				read, err := b.APIKey(context.Background(), manager, created.ID)
				if err != nil {
					t.Fatal(err)
				}
				state := apikey.Active
				switch {
				case revoked:
					state = apikey.Revoked
				case disabled:
					state = apikey.Disabled
				case len(live) > 1:
					state = apikey.Rotating
				}
				if read.State != state || len(read.LiveSecrets) != len(live) {
					t.Fatalf("the key is %s with %d secrets, want %s with %d", read.State, len(read.LiveSecrets), state, len(live))
				}
			},
		})
		// A restart gives the same answers.
		again := apikey.NewDirectory(b.store.APIKeys, b.Hasher, b.Accounts, b.recorder, b.now)
		if err := again.Load(context.Background(), nil); err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			_, before := b.Directory.Authenticate(context.Background(), text, b.now())
			if _, err := again.Authenticate(context.Background(), text, b.now()); codeIn(err) != codeIn(before) {
				t.Fatalf("after a restart a secret answers %q, before it %q", codeIn(err), codeIn(before))
			}
		}
	})
}

func codeIn(err error) string {
	if err == nil {
		return ""
	}
	if p, ok := problem.As(err); ok {
		return p.Code
	}
	return fmt.Sprint(err)
}

// A replaced secret is never taken for the one that replaced it.
func TestReplacedSecretIsInvalidUnderLoad(t *testing.T) {
	t.Parallel()
	b := setup(t)
	created := b.newKey(t, apikey.Draft{})
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	dead := make(chan string, 1)
	for range 3 {
		readers.Go(func() {
			var text string
			for ctx.Err() == nil {
				select {
				case text = <-dead:
				default:
				}
				if text == "" {
					continue
				}
				if _, err := b.Directory.Authenticate(t.Context(), text, b.now()); err == nil {
					t.Error("a secret was found after its rotation had ended it")
					return
				}
			}
		})
	}
	last := created.Text
	rotations := testtier.Rounds(50, 200)
	for range rotations {
		next := b.rotate(t, created.ID, apikey.Rotation{}).Text
		select {
		case dead <- last:
		default:
		}
		if got := b.codeWith(t, next); got != "" {
			t.Fatalf("the new secret answers %q", got)
		}
		last = next
	}
	stop()
	readers.Wait()
	if s := b.Directory.Stats(); s.Entries != 1 {
		t.Errorf("after %d rotations the directory is %+v", rotations, s)
	}
}
