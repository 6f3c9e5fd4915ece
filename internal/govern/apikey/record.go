package apikey

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/govern/limit"
)

// Record is a key as clients see it: what is stored, and what follows from it now. Verify and Limits do not read the last
// uses; they are nil there.
type Record struct {
	*APIKey                  // its Secrets include expired ones
	LiveSecrets []LiveSecret // newest first
	LastUsedAt  *time.Time   // last use of any secret that it ever had; nil: never
	State       State
	PerMinute   int64 // its own minute limit, or the tier's
	Inherited   bool  // PerMinute is the tier's
	Pending     bool  // it is revoked in this process, and the revocation is not stored yet
}

// LiveSecret is a secret that has not expired.
type LiveSecret struct {
	Secret
	LastUsedAt *time.Time // nil: never
}

// recordOf returns the record of a key without its last uses.
func (s *Service) recordOf(k *APIKey, tier *limit.Tier, now time.Time) *Record {
	r := &Record{APIKey: k, State: k.StateAt(now), PerMinute: tier.RequestsPerMinute, Inherited: true}
	for _, secret := range k.liveSecrets(now) {
		r.LiveSecrets = append(r.LiveSecrets, LiveSecret{Secret: secret})
	}
	if k.RequestsPerMinute != nil {
		r.PerMinute, r.Inherited = *k.RequestsPerMinute, false
	}
	_, r.Pending = s.pending.find(k.ID)
	return r
}

// recordAfterChange returns the record of a key after a change that is in force. It cannot fail: if the stored last uses
// cannot be read, the record has those since the program started.
func (s *Service) recordAfterChange(ctx context.Context, k *APIKey, tier *limit.Tier, now time.Time) *Record {
	r := s.recordOf(k, tier, now)
	if err := s.fillLastUses(ctx, []*Record{r}); err != nil {
		s.o.Log.WarnContext(ctx, "reading last uses failed", "key", k.ID, "error", err)
		s.fillLastUse(r, nil)
	}
	return r
}

// records returns the records of keys of one workspace.
func (s *Service) records(ctx context.Context, workspaceID string, keys []APIKey, now time.Time) ([]*Record, error) {
	tier, err := s.tier(workspaceID)
	if err != nil {
		return nil, err
	}
	records := make([]*Record, len(keys))
	for i := range keys {
		records[i] = s.recordOf(&keys[i], tier, now)
	}
	return records, s.fillLastUses(ctx, records)
}

// fillLastUses sets the last uses of the records, from the database and from the uses since it was last flushed.
func (s *Service) fillLastUses(ctx context.Context, records []*Record) error {
	if len(records) == 0 {
		return nil
	}
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID
	}
	stored, err := s.o.Uses.LastUses(ctx, ids)
	if err != nil {
		return fmt.Errorf("read last uses of API keys: %w", err)
	}
	uses := make(map[string]map[string]time.Time, len(records)) // by key, by hint
	for _, u := range stored {
		if uses[u.KeyID] == nil {
			uses[u.KeyID] = map[string]time.Time{}
		}
		uses[u.KeyID][u.Hint] = u.At
	}
	for _, r := range records {
		s.fillLastUse(r, uses[r.ID])
	}
	return nil
}

func (s *Service) fillLastUse(r *Record, byHint map[string]time.Time) {
	var last time.Time
	for _, at := range byHint { // also of secrets that have expired
		last = later(last, at)
	}
	for i := range r.LiveSecrets {
		secret := &r.LiveSecrets[i]
		at := later(byHint[secret.Hint], s.o.Directory.lastUsed(secret.Hash))
		secret.LastUsedAt = timeOrNil(at)
		last = later(last, at)
	}
	r.LastUsedAt = timeOrNil(last)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// timeOrNil is t to the millisecond, nil for the zero time.
func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Millisecond)
	return &t
}
