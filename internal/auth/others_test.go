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

	"keepsake/internal/auth"
	"keepsake/internal/problem"
)

// store is a vault that several processes reach at once.
type store struct {
	mu  sync.Mutex
	all vault
}

// copies is a vault that knows of what is in the store as of its last reload.
type copies struct {
	vault // used by who rotates or reloads alone, one at a time
	of    *store
	looks atomic.Int64
	fail  error
}

func (c *copies) reload(context.Context) error {
	c.looks.Add(1)
	if c.fail != nil {
		return c.fail
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	clear(c.vault)
	maps.Copy(c.vault, c.of.all)
	return nil
}

// process signs and checks over a vault that others share.
func process(t *testing.T, shared *store) (*copies, *auth.SigningKeys, *auth.Tokens) {
	t.Helper()
	c := &copies{vault: maps.Clone(shared.all), of: shared}
	keys, err := auth.OpenSigningKeys(t.Context(), c, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	keys.Share(c.reload)
	return c, keys, auth.NewTokens(keys, issuer, time.Now)
}

// newStore is one that holds a first key.
func newStore(t *testing.T) *store {
	t.Helper()
	s := &store{all: vault{}}
	if _, err := auth.OpenSigningKeys(t.Context(), s.all, time.Now); err != nil {
		t.Fatal(err)
	}
	return s
}

// Add and Remove reach the store.
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

func TestATokenOfAKeyThatAnotherProcessMade(t *testing.T) {
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
			t.Fatalf("got %v, want that the key is not known", err)
		}
		if err := bTokens.AskOthers(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := bTokens.Check(text); err != nil {
			t.Errorf("after asking: %v", err)
		}
		if len(bKeys.Public()) != 2 {
			t.Errorf("%d keys are shown, want 2", len(bKeys.Public()))
		}

		// However many ask, one looks each second, and always after they asked: here 200 ask within two seconds of the fake clock.
		b.looks.Store(0)
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				if i%20 == 0 {
					if _, err := aKeys.Rotate(t.Context()); err != nil {
						t.Error(err)
					}
				}
				if err := bTokens.AskOthers(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := b.looks.Load(); n != 2 {
			t.Errorf("%d looks, want 2, one each second", n)
		}
		text, _ = aTokens.Issue("usr_1", "ses_1", auth.Read, auth.AccessLifetime)
		if _, err := bTokens.Check(text); err != nil {
			t.Errorf("the last key: %v", err)
		}

		b.fail = errors.New("away")
		if p, ok := problem.As(bTokens.AskOthers(t.Context())); !ok || p.Kind != problem.Unavailable {
			t.Errorf("got %v, want that nobody can tell", p)
		}
		if _, err := bTokens.Check(text); err != nil {
			t.Errorf("what is known stays known: %v", err)
		}
	})
}

func TestWhoSignsAloneAsksNobody(t *testing.T) {
	t.Parallel()
	b, other := setup(t), setup(t)
	if _, err := b.tokens.Check(other.issue(t)); !errors.Is(err, auth.ErrInvalidToken) {
		t.Errorf("got %v", err)
	}
	if err := b.tokens.AskOthers(t.Context()); !errors.Is(err, auth.ErrUnknownKey) {
		t.Errorf("got %v", err)
	}
}

// Two processes may rotate at once: the keys of both verify on both, and none is removed that still verifies.
func TestTwoProcessesRotateAtOnce(t *testing.T) {
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
			if err := aKeys.Hear(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{one, two} {
				for _, tokens := range []*auth.Tokens{aTokens, bTokens} {
					if _, err := tokens.Check(text); err != nil {
						t.Error(err)
					}
				}
			}
			time.Sleep(20 * time.Minute) // all before are over
		}
		if err := aKeys.Hear(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := aKeys.Rotate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := bKeys.Hear(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(shared.all) > 3 {
			t.Errorf("%d keys are kept", len(shared.all))
		}
	})
}
