package auth

import (
	"context"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/base/coalesce"
	"keepsake/internal/base/problem"
)

// This file is for processes that share a database: each of them creates and removes signing keys.

// ErrUnknownKey means that a token names a key that is not in memory, and that another process has possibly created it.
var ErrUnknownKey = errors.New("auth: the key of the token is not in memory")

var errNotReloaded = problem.NotAvailable("Access tokens cannot be verified right now; try again.", time.Second)

const (
	reloadEvery   = time.Second
	reloadTimeout = 2 * time.Second
	maxWaiting    = 256
)

// reloader reloads the keys for tokens with unknown keys. Clients can invent any number of such tokens, so it reloads at
// most once each reloadEvery, for all that are waiting. A caller that comes after a reload has begun waits for the next one,
// because the key that it needs is possibly newer.
type reloader struct {
	refresh func(ctx context.Context) error // reads the vault again
	reloads *coalesce.Batcher[struct{}]
}

func newReloader(refresh, reload func(ctx context.Context) error) *reloader {
	last := time.Now().Add(-reloadEvery) // when the last reload began
	return &reloader{refresh, coalesce.New(coalesce.Options[struct{}]{
		Abandon: true,
		Pause:   func() { time.Sleep(time.Until(last.Add(reloadEvery))) },
		Run: func(ctx context.Context, _ string, _ []struct{}) error {
			last = time.Now()
			ctx, cancel := context.WithTimeout(ctx, reloadTimeout)
			defer cancel()
			if err := reload(ctx); err != nil {
				return errNotReloaded.Because(fmt.Errorf("reload signing keys: %w", err))
			}
			return nil
		},
	})}
}

// ReloadFrom prepares the keys for other processes that create and remove keys, too. refresh reads the vault again. Call it
// before the keys are used.
func (s *SigningKeys) ReloadFrom(refresh func(ctx context.Context) error) {
	s.reloader = newReloader(refresh, s.Reload)
}

// Reload reads the keys again after another process has created or removed one.
func (s *SigningKeys) Reload(ctx context.Context) error {
	s.rotating.Lock()
	defer s.rotating.Unlock()
	return s.reload(ctx)
}

// reload is Reload for a caller that holds rotating.
func (s *SigningKeys) reload(ctx context.Context) error {
	if err := s.reloader.refresh(ctx); err != nil {
		return err
	}
	keys, err := s.kept()
	if err != nil {
		return err
	}
	if len(keys) > 0 { // an empty vault is of another database; the keys in memory still verify tokens
		s.keys.Store(&keys)
	}
	return nil
}

// ReloadKeys returns after a reload that began after the call. It returns ErrUnknownKey if no other process creates keys,
// and problem.Unavailable if the reload fails or too many callers are waiting.
func (t *Tokens) ReloadKeys(ctx context.Context) error {
	r := t.keys.reloader
	if r == nil {
		return ErrUnknownKey
	}
	if r.reloads.Waiting("") >= maxWaiting {
		return errNotReloaded
	}
	return r.reloads.Do(ctx, "", struct{}{})
}

// isMissing reports that a key that is to be removed does not exist: another process has removed it.
func isMissing(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.NotFound
}
