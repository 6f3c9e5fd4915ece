package apikey

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
)

// A key can be revoked while the database does not accept writes, for example because the disk is full. The key is then
// refused in this process at once, the revocation is saved in a file whose space was reserved before, so that a restart
// does not forget it, and Run stores it in the database as soon as that works.

// PendingRevocation is a revocation that is in force in this process and not yet stored in the database.
type PendingRevocation struct {
	WorkspaceID string     `json:"workspaceId"`
	KeyID       string     `json:"keyId"`
	Reason      string     `json:"reason"`
	Actor       string     `json:"actor"`
	At          time.Time  `json:"at"`
	Address     netip.Addr `json:"address"`
	RequestID   string     `json:"requestId"`
}

// PendingStore saves pending revocations outside the database.
type PendingStore interface {
	// Load returns what was saved last.
	Load() ([]PendingRevocation, error)
	// Save replaces what is saved. It is on stable storage when Save returns.
	Save(list []PendingRevocation) error
}

// pending holds the pending revocations by key.
type pending struct {
	mu     sync.Mutex
	list   map[string]PendingRevocation
	failed map[string]string // the error of the last attempt to store each, so that a retry does not log it again
	saving sync.Mutex        // held while the list is read and saved, so that an older list does not replace a newer one
}

// apply marks k as revoked if its revocation is pending.
func (p *pending) apply(k *APIKey) {
	if r, ok := p.find(k.ID); ok && k.RevokedAt == nil {
		k.RevokedAt, k.RevokeReason = &r.At, r.Reason
	}
}

func (p *pending) find(keyID string) (PendingRevocation, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, ok := p.list[keyID]
	return r, ok
}

func (p *pending) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.list) == 0
}

// all returns the pending revocations, oldest first.
func (p *pending) all() []PendingRevocation {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(maps.Values(p.list), func(a, b PendingRevocation) int { return a.At.Compare(b.At) })
}

func (p *pending) add(list ...PendingRevocation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.list == nil {
		p.list, p.failed = map[string]PendingRevocation{}, map[string]string{}
	}
	for _, r := range list {
		p.list[r.KeyID] = r
	}
}

func (p *pending) remove(keyID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.list, keyID)
	delete(p.failed, keyID)
}

// fail records that storing a revocation failed. It reports whether the last attempt had another result.
func (p *pending) fail(keyID string, err error) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed = p.failed[keyID] != err.Error()
	p.failed[keyID] = err.Error()
	return changed
}

// deferrable reports whether a revocation that failed with err can be stored later: the database does not accept writes, and
// the revocation is not part of a larger transaction, which fails as a whole.
func deferrable(ctx context.Context, err error) bool {
	return isUnavailable(err) && !unit.Running(ctx) && ctx.Err() == nil
}

func isUnavailable(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.Unavailable
}

// revokeInMemory revokes a key in this process, because the database does not accept writes for the reason cause. If the
// revocation cannot be saved either, a restart forgets it.
func (s *Service) revokeInMemory(ctx context.Context, p *auth.Principal, keyID string, ifRevision revision.Expected, reason string, cause error) (*Record, error) {
	k, err := s.visible(ctx, p, keyID)
	if err != nil {
		return nil, err
	}
	if !ifRevision.Allows(k.Revision) {
		return nil, problem.RevisionMismatch()
	}
	tier, err := s.tier(k.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if k.RevokedAt == nil {
		source, _ := ctx.Value(audit.SourceKey).(audit.Source)
		s.o.Directory.Deny(k.ID)
		s.pending.add(PendingRevocation{
			WorkspaceID: k.WorkspaceID, KeyID: k.ID, Reason: reason, Actor: p.Actor(), At: s.stamp(), Address: source.Address, RequestID: source.RequestID,
		})
		saveErr := s.savePending()
		s.o.Log.ErrorContext(ctx, "revoked an API key in memory only", "key", k.ID, "saved", saveErr == nil, "error", cause, "saveError", saveErr)
		s.pending.apply(k)
	}
	return s.recordAfterChange(ctx, k, tier, s.stamp()), nil
}

func (s *Service) savePending() error {
	s.pending.saving.Lock()
	defer s.pending.saving.Unlock()
	return s.o.PendingStore.Save(s.pending.all())
}

// LoadPending loads the revocations that an earlier process could not store, refuses their keys and tries to store them.
// Call it after Directory.Load.
func (s *Service) LoadPending(ctx context.Context) error {
	list, err := s.o.PendingStore.Load()
	if err != nil {
		return fmt.Errorf("load pending revocations: %w", err)
	}
	s.pending.add(list...)
	for _, r := range list {
		s.o.Directory.Deny(r.KeyID)
	}
	s.storePending(ctx)
	return nil
}

// retryEvery is how often Run tries to store pending revocations.
const retryEvery = time.Second

// Run stores pending revocations and records events that no request causes, until ctx ends.
func (s *Service) Run(ctx context.Context) {
	tick, notices := time.NewTicker(retryEvery), time.NewTicker(noticeEvery)
	defer tick.Stop()
	defer notices.Stop()
	s.Notice(ctx) // of what happened while no process was running
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.storePending(ctx)
			s.recordRevokedUses(ctx)
		case <-notices.C:
			s.Notice(ctx)
		}
	}
}

// storePending tries to store the pending revocations, oldest first. It stops if the database does not accept writes: the
// others would fail too, and each attempt can wait for the database. A revocation that fails for another reason does not
// block the others.
func (s *Service) storePending(ctx context.Context) {
	stored := 0
	for _, r := range s.pending.all() {
		err := s.storeRevocation(ctx, &r)
		if isUnavailable(err) || err != nil && ctx.Err() != nil {
			break
		}
		if err != nil {
			if s.pending.fail(r.KeyID, err) {
				s.o.Log.ErrorContext(ctx, "storing a pending revocation failed", "key", r.KeyID, "error", err)
			}
			continue
		}
		s.pending.remove(r.KeyID)
		s.o.Log.InfoContext(ctx, "stored a pending revocation", "key", r.KeyID, "revokedAt", r.At)
		stored++
	}
	if stored == 0 {
		return
	}
	if err := s.savePending(); err != nil { // a restart stores them once more, which changes nothing
		s.o.Log.WarnContext(ctx, "saving pending revocations failed", "error", err)
	}
}

// storeRevocation stores a pending revocation, unless the key does not exist any more or is already revoked.
func (s *Service) storeRevocation(ctx context.Context, r *PendingRevocation) error {
	return s.o.Units.Run(ctx, func(ctx context.Context) error {
		k, err := s.o.Store.APIKey(ctx, r.WorkspaceID, r.KeyID)
		if isMissing(err) {
			return nil
		}
		if err != nil || k.RevokedAt != nil {
			return err
		}
		k.RevokedAt, k.RevokeReason = &r.At, r.Reason
		k.UpdatedAt, k.Revision = s.stamp(), k.Revision+1
		if err := s.o.Store.UpdateAPIKey(ctx, k); err != nil {
			return err
		}
		s.putAfterCommit(ctx, k)
		err = s.o.Audit.Record(ctx, audit.Entry{
			Action: audit.KeyRevoked, WorkspaceID: r.WorkspaceID, Actor: r.Actor, Target: r.KeyID, Address: r.Address, RequestID: r.RequestID,
			Details: map[string]string{"revokedAt": r.At.Format(time.RFC3339)},
		})
		if err != nil {
			return err
		}
		return s.recordEvent(ctx, event.APIKeyRevoked, k, r.Actor)
	})
}
