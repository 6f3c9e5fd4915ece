package apikey

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/id"
	"keepsake/internal/limit"
)

// Record is a key as people read it: what is stored, and what follows from it at this moment.
type Record struct {
	*APIKey
	State     State
	PerMinute int64 // its minute limit: its own, else the tier's
	Inherited bool  // PerMinute is the tier's
}

func recordOf(k *APIKey, tier *limit.Tier, now time.Time) *Record {
	r := &Record{APIKey: k, State: k.At(now), PerMinute: tier.RequestsPerMinute, Inherited: true}
	if k.RequestsPerMinute != nil {
		r.PerMinute, r.Inherited = *k.RequestsPerMinute, false
	}
	return r
}

func (s *Service) record(ctx context.Context, k *APIKey, now time.Time) (*Record, error) {
	records, err := s.records(ctx, k.WorkspaceID, []APIKey{*k}, now)
	if err != nil {
		return nil, err
	}
	return records[0], nil
}

func (s *Service) records(ctx context.Context, workspaceID string, keys []APIKey, now time.Time) ([]*Record, error) {
	tier, err := s.tier(workspaceID)
	if err != nil {
		return nil, err
	}
	if err := s.fillLastUses(ctx, keys); err != nil {
		return nil, err
	}
	records := make([]*Record, len(keys))
	for i := range keys {
		records[i] = recordOf(&keys[i], tier, now)
	}
	return records, nil
}

// fillLastUses tells the keys when their secrets were last used: what is in the store, or in memory since its last flush.
func (s *Service) fillLastUses(ctx context.Context, keys []APIKey) error {
	if len(keys) == 0 {
		return nil
	}
	ids := make([]string, len(keys))
	for i := range keys {
		ids[i] = keys[i].ID
	}
	stored, err := s.Uses.LastUses(ctx, ids)
	if err != nil {
		return fmt.Errorf("read when API keys were used: %w", err)
	}
	type secret struct{ keyID, hint string }
	last := make(map[secret]time.Time, len(stored))
	for _, u := range stored {
		last[secret{u.KeyID, u.Hint}] = u.At
	}
	for i := range keys {
		k := &keys[i]
		key, _ := id.Parse(id.APIKey, k.ID)
		for n := range k.Secrets {
			at := last[secret{k.ID, k.Secrets[n].Hint}]
			if recent := s.Directory.lastUsed(key, n); recent.After(at) {
				at = recent
			}
			if !at.IsZero() {
				at = at.UTC().Truncate(time.Millisecond)
				k.Secrets[n].LastUsedAt = &at
			}
		}
	}
	return nil
}
