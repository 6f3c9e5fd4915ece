package store

import (
	"context"
	"fmt"

	"keepsake/internal/govern/account"
	"keepsake/internal/store/cluster"
)

// ChangedTiers implements account.Store.
func (s *Accounts) ChangedTiers(ctx context.Context) ([]account.Tier, error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT name, requests_per_minute, daily, monthly, keys, users, documents, memories, storage, revision FROM tier ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list tiers: %w", err)
	}
	defer rows.Close()
	var list []account.Tier
	for rows.Next() {
		var t account.Tier
		var keys, users, documents, memories, storage int64
		if err := rows.Scan(&t.Name, &t.RequestsPerMinute, &t.Daily, &t.Monthly, &keys, &users, &documents, &memories,
			&storage, &t.Revision); err != nil {
			return nil, fmt.Errorf("read tier: %w", err)
		}
		t.Keys, t.Users, t.Documents = countOf(keys), countOf(users), countOf(documents)
		t.Memories, t.Storage = countOf(memories), countOf(storage)
		list = append(list, t)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list tiers: %w", err)
	}
	return list, nil
}

// noLimit is a count without a limit, as it is stored.
const noLimit = -1

func countOf(stored int64) *int64 {
	if stored == noLimit {
		return nil
	}
	return &stored
}

func storedCount(limit *int64) int64 {
	if limit == nil {
		return noLimit
	}
	return *limit
}

// KeepTier implements account.Store.
func (s *Accounts) KeepTier(ctx context.Context, t *account.Tier) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO tier (name, requests_per_minute, daily, monthly, keys, users, documents, memories, storage, revision)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (name) DO UPDATE SET requests_per_minute = excluded.requests_per_minute, daily = excluded.daily,
				monthly = excluded.monthly, keys = excluded.keys, users = excluded.users, documents = excluded.documents,
				memories = excluded.memories, storage = excluded.storage, revision = excluded.revision
			WHERE tier.revision = excluded.revision - 1`,
			t.Name, t.RequestsPerMinute, t.Daily, t.Monthly, storedCount(t.Keys), storedCount(t.Users), storedCount(t.Documents),
			storedCount(t.Memories), storedCount(t.Storage), t.Revision)
		if err != nil {
			return fmt.Errorf("store tier %s: %w", t.Name, err)
		}
		if n == 0 {
			return errStale
		}
		s.news.announce(ctx, cluster.Tier, t.Name)
		return nil
	})
}
