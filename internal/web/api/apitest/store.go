package apitest

import (
	"context"
	"sync"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/govern/usage"
)

// Store is a store in memory. It implements what the pipeline uses; other methods panic.
type Store struct {
	accountStore
	apikeyStore
	apikeyReader
	usageStore

	mu      sync.Mutex
	keys    map[[32]byte]*apikey.APIKey
	answers map[[32]byte]*idempotency.Answer
	each    func(fn func(k *apikey.APIKey) error) error
	reads   int // of keys by their secret
}

type (
	accountStore = account.Store
	apikeyStore  = apikey.Store
	apikeyReader = apikey.Reader
	usageStore   = usage.Store
)

func newStore() *Store {
	return &Store{keys: map[[32]byte]*apikey.APIKey{}, answers: map[[32]byte]*idempotency.Answer{}}
}

func (s *Store) addKey(k *apikey.APIKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range k.Secrets {
		s.keys[secret.Hash] = k
	}
}

// APIKeyBySecret implements apikey.Store.
func (s *Store) APIKeyBySecret(_ context.Context, hash [32]byte) (*apikey.APIKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	if k := s.keys[hash]; k != nil {
		return k, nil
	}
	return nil, problem.Missing()
}

// KeyReads returns how often a key was looked up by its secret.
func (s *Store) KeyReads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// EachAPIKey implements apikey.Reader.
func (s *Store) EachAPIKey(_ context.Context, fn func(k *apikey.APIKey) error) error {
	return s.each(fn)
}

// AddUsage implements usage.Store.
func (s *Store) AddUsage(context.Context, usage.Delta) ([]usage.Quota, error) { return nil, nil }

// Run implements unit.Runner without rollback: only responses are written, and those last.
func (s *Store) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	inner, hooks := unit.Begin(ctx)
	if err := fn(inner); err != nil {
		return err
	}
	if err := hooks.RunBefore(inner); err != nil {
		return err
	}
	hooks.RunAfter()
	return nil
}

// KeepAnswer implements idempotency.Store.
func (s *Store) KeepAnswer(_ context.Context, a *idempotency.Answer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := *a
	if a.Body != nil {
		kept.Body = append([]byte{}, a.Body...)
	}
	s.answers[a.Claim] = &kept
	return nil
}

// KeptAnswer implements idempotency.Store.
func (s *Store) KeptAnswer(_ context.Context, claim [32]byte, now time.Time) (*idempotency.Answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.answers[claim]; a != nil && now.Before(a.ExpiresAt) {
		return a, nil
	}
	return nil, nil
}

// DropAnswers implements idempotency.Store.
func (s *Store) DropAnswers(_ context.Context, workspaceID string, subject [16]byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.answers {
		for _, of := range a.Subjects {
			if of.WorkspaceID == workspaceID && of.Subject == subject {
				a.Sealed = nil
			}
		}
	}
	return nil
}

// PruneAnswers implements idempotency.Store.
func (s *Store) PruneAnswers(context.Context, time.Time) error { return nil }
