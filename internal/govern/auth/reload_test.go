package auth_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
)

// store is a vault that several processes share.
type store struct {
	mu  sync.Mutex
	all vault
}

// copies is a process's view of the store, as of its last reload.
type copies struct {
	vault   // rotations and reloads use it one at a time
	of      *store
	reloads atomic.Int64
	fail    error
}

func (c *copies) reload(context.Context) error {
	c.reloads.Add(1)
	if c.fail != nil {
		return c.fail
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	clear(c.vault)
	maps.Copy(c.vault, c.of.all)
	return nil
}

// process returns the keys and tokens of a process on a shared vault.
func process(t *testing.T, shared *store) (*copies, *auth.SigningKeys, *auth.Tokens) {
	t.Helper()
	c := &copies{vault: maps.Clone(shared.all), of: shared}
	keys, err := auth.OpenSigningKeys(t.Context(), c, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	keys.ReloadFrom(c.reload)
	return c, keys, auth.NewTokens(keys, issuer, time.Now)
}

// newStore returns a store with a first key.
func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{all: vault{}}
	if _, err := auth.OpenSigningKeys(t.Context(), s.all, time.Now); err != nil {
		t.Fatal(err)
	}
	return s
}

// Add and Remove change the store.
func (c *copies) Add(ctx context.Context, name string, secret []byte) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return errors.Join(c.vault.Add(ctx, name, secret), c.of.all.Add(ctx, name, secret))
}

func (c *copies) Remove(ctx context.Context, name string) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if _, ok := c.of.all[name]; !ok {
		return problem.Missing()
	}
	return errors.Join(c.vault.Remove(ctx, name), c.of.all.Remove(ctx, name))
}

func TestTokenOfAnotherProcessIsValidAfterAReload(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := newStore(t)
		_, aKeys, aTokens := process(t, shared)
		b, bKeys, bTokens := process(t, shared)
		if _, err := aKeys.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := aTokens.Issue("usr_1", "ses_1", auth.Read, auth.AccessLifetime)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bTokens.Check(text); !errors.Is(err, auth.ErrUnknownKey) {
			t.Fatalf("got %v, want ErrUnknownKey", err)
		}
		if err := bTokens.ReloadKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := bTokens.Check(text); err != nil {
			t.Errorf("after a reload: %v", err)
		}
		if len(bKeys.Public()) != 2 {
			t.Errorf("%d keys are shown, want 2", len(bKeys.Public()))
		}

		// 200 calls within two seconds cause one reload each second, and each call waits for one that begins after it.
		b.reloads.Store(0)
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				if i%20 == 0 {
					if _, err := aKeys.Rotate(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if err := bTokens.ReloadKeys(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := b.reloads.Load(); n != 2 {
			t.Errorf("%d reloads, want 2", n)
		}
		text, _ = aTokens.Issue("usr_1", "ses_1", auth.Read, auth.AccessLifetime)
		if _, err := bTokens.Check(text); err != nil {
			t.Errorf("the last key: %v", err)
		}

		b.fail = errors.New("away")
		if p, ok := problem.As(bTokens.ReloadKeys(t.Context())); !ok || p.Kind != problem.Unavailable {
			t.Errorf("got %v, want that keys cannot be reloaded", p)
		}
		if _, err := bTokens.Check(text); err != nil {
			t.Errorf("a known key after a failed reload: %v", err)
		}
	})
}

func TestSingleProcessReloadsNoKeys(t *testing.T) {
	t.Parallel()
	b, other := setup(t), setup(t)
	if _, err := b.tokens.Check(other.issue(t)); !errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("got %v", err)
	}
	if err := b.tokens.ReloadKeys(t.Context()); !errors.Is(err, auth.ErrUnknownKey) {
		t.Errorf("got %v", err)
	}
}

// The keys of two processes verify on both, and no key is removed while it still verifies.
func TestProcessesRotateKeysConcurrently(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		shared := newStore(t)
		_, aKeys, aTokens := process(t, shared)
		_, bKeys, bTokens := process(t, shared)
		for range 5 {
			if _, err := aKeys.Rotate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := bKeys.Rotate(t.Context()); err != nil {
				t.Fatal(err)
			}
			one, _ := aTokens.Issue("usr_1", "ses_1", auth.Read, auth.AccessLifetime)
			two, _ := bTokens.Issue("usr_1", "ses_1", auth.Read, auth.AccessLifetime)
			if err := aKeys.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{one, two} {
				for _, tokens := range []*auth.Tokens{aTokens, bTokens} {
					if _, err := tokens.Check(text); err != nil {
						t.Error(err)
					}
				}
			}
			time.Sleep(20 * time.Minute) // all earlier tokens expire
		}
		if err := aKeys.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := aKeys.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := bKeys.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(shared.all) > 3 {
			t.Errorf("%d keys are kept", len(shared.all))
		}
	})
}
