package apikey

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/problem"
	"keepsake/internal/revision"
	"keepsake/internal/unit"
)

// Revocation is one that is in force in this process and that the store could not take yet.
type Revocation struct {
	WorkspaceID string     `json:"workspaceId"`
	KeyID       string     `json:"keyId"`
	Reason      string     `json:"reason"`
	Actor       string     `json:"actor"`
	At          time.Time  `json:"at"`
	Address     netip.Addr `json:"address"`
	RequestID   string     `json:"requestId"`
}

// Reserve keeps revocations over a restart where the store takes no writes: room that was set aside before the disk was
// full.
type Reserve interface {
	// Load reads what was kept last.
	Load() ([]Revocation, error)
	// Keep replaces what is kept, on stable storage when it returns.
	Keep(list []Revocation) error
}

// pending are the revocations that the store has not taken yet, by key.
type pending struct {
	mu   sync.Mutex
	list map[string]Revocation
}

func (p *pending) find(keyID string) (Revocation, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.list[keyID]
	return r, ok
}

func (p *pending) all() []Revocation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.list), func(a, b Revocation) int { return a.At.Compare(b.At) })
}

// over shows a key as it is for this process: revoked, also where the store does not know it yet.
func (p *pending) over(k *APIKey) {
	if r, ok := p.find(k.ID); ok && k.RevokedAt == nil {
		k.RevokedAt, k.RevokeReason = &r.At, r.Reason
	}
}

// revokeHere revokes a key in this process where the store takes no writes, which cause says, and can be read. The store takes
// it as soon as it can (Run).
func (s *Service) revokeHere(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, reason string, cause error) (*Record, error) {
	k, err := s.visible(ctx, p, keyID)
	if err == nil && !ifRevision.Allows(k.Revision) {
		err = problem.RevisionMismatch()
	}
	if err != nil {
		return nil, err
	}
	if k.RevokedAt == nil {
		source, _ := ctx.Value(audit.SourceKey).(audit.Source)
		r := Revocation{
			WorkspaceID: k.WorkspaceID, KeyID: k.ID, Reason: reason, Actor: p.Actor(), At: s.now(), Address: source.Address, RequestID: source.RequestID,
		}
		s.Directory.Deny(k.ID)
		kept := s.addPending(r)
		s.Log.ErrorContext(ctx, "revoked an API key in memory, because it cannot be stored", "key", k.ID, "kept", kept == nil, "error", cause, "keepError", kept)
		s.pending.over(k)
	}
	return s.record(ctx, k, s.now())
}

// addPending adds a revocation and keeps all of them. An error says that a restart would forget it.
func (s *Service) addPending(r Revocation) error {
	s.pending.mu.Lock()
	if s.pending.list == nil {
		s.pending.list = map[string]Revocation{}
	}
	s.pending.list[r.KeyID] = r
	s.pending.mu.Unlock()
	return s.keepPending()
}

func (s *Service) keepPending() error {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	return s.Reserve.Keep(s.pending.all())
}

// Resume takes up the revocations that a process before this one could not store: the keys are refused from here on, also where
// they still cannot be. It comes after Directory.Load.
func (s *Service) Resume(ctx context.Context) error {
	list, err := s.Reserve.Load()
	if err != nil {
		return fmt.Errorf("read the revocations that were kept: %w", err)
	}
	s.pending.mu.Lock()
	s.pending.list = make(map[string]Revocation, len(list))
	for _, r := range list {
		s.pending.list[r.KeyID] = r
	}
	s.pending.mu.Unlock()
	for _, r := range list {
		s.Directory.Deny(r.KeyID)
	}
	s.storePending(ctx)
	return nil
}

// retryEvery is how often Run tries to store the revocations that are pending.
const retryEvery = time.Second

// Run stores revocations that could not be stored when they were made, until ctx ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.storePending(ctx)
		}
	}
}

// storePending stores what it can of the pending revocations.
func (s *Service) storePending(ctx context.Context) {
	stored := 0
	for _, r := range s.pending.all() {
		if err := s.store(ctx, &r); err != nil {
			break // the others would fail alike, and each try may wait
		}
		s.pending.mu.Lock()
		delete(s.pending.list, r.KeyID)
		s.pending.mu.Unlock()
		s.Log.InfoContext(ctx, "stored the revocation of an API key", "key", r.KeyID, "revokedAt", r.At)
		stored++
	}
	if stored == 0 {
		return
	}
	if err := s.keepPending(); err != nil { // what is kept too long is stored once more, which changes nothing
		s.Log.WarnContext(ctx, "forgetting stored revocations failed", "error", err)
	}
}

// store has the store take a revocation. A key that is gone or revoked needs none.
func (s *Service) store(ctx context.Context, r *Revocation) error {
	return s.Units.Run(ctx, func(ctx context.Context) error {
		k, err := s.Store.APIKey(ctx, r.WorkspaceID, r.KeyID)
		if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
			return nil
		}
		if err != nil || k.RevokedAt != nil {
			return err
		}
		k.RevokedAt, k.RevokeReason = &r.At, r.Reason
		k.UpdatedAt, k.Revision = s.now(), k.Revision+1
		if err := s.Store.UpdateAPIKey(ctx, k); err != nil {
			return err
		}
		s.putAfterCommit(ctx, k)
		return s.Audit.Record(ctx, audit.Entry{
			Action: audit.KeyRevoked, WorkspaceID: r.WorkspaceID, Actor: r.Actor, Target: r.KeyID, Address: r.Address, RequestID: r.RequestID,
			Details: map[string]string{"revokedAt": r.At.Format(time.RFC3339)},
		})
	})
}

// deferrable reports whether a revocation that failed with err can be in force before it is stored: the store takes no writes,
// and no unit of somebody else's fails with it.
func deferrable(ctx context.Context, err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.Unavailable && !unit.Running(ctx) && ctx.Err() == nil
}
