package store

import (
	"context"
	"fmt"

	"keepsake/internal/account"
	"keepsake/internal/cluster"
)

// ChangedTiers implements account.Store.
func (s *Store) ChangedTiers(ctx context.Context) ([]account.Tier, error) {
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT name, requests_per_minute, daily, monthly, keys, users, documents, memories, storage, revision FROM tier ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list tiers: %w", err)
	}
	defer rows.Close()
	var list []account.Tier
	for rows.Next() {
		var t account.Tier
		var storage *int64
		if err := rows.Scan(&t.Name, &t.RequestsPerMinute, &t.Daily, &t.Monthly, &t.Keys, &t.Users, &t.Documents, &t.Memories,
			&storage, &t.Revision); err != nil {
			return nil, fmt.Errorf("read tier: %w", err)
		}
		if t.StorageConfigured = storage == nil; storage != nil {
			t.Storage = *storage
		}
		list = append(list, t)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list tiers: %w", err)
	}
	return list, nil
}

// KeepTier implements account.Store.
func (s *Store) KeepTier(ctx context.Context, t *account.Tier) error {
	var storage any
	if !t.StorageConfigured {
		storage = t.Storage
	}
	return s.main.Run(ctx, func(ctx context.Context) error {
		n, err := s.main.In(ctx).Exec(ctx, `
			INSERT INTO tier (name, requests_per_minute, daily, monthly, keys, users, documents, memories, storage, revision)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
			ON CONFLICT (name) DO UPDATE SET requests_per_minute = excluded.requests_per_minute, daily = excluded.daily,
				monthly = excluded.monthly, keys = excluded.keys, users = excluded.users, documents = excluded.documents,
				memories = excluded.memories, storage = excluded.storage, revision = excluded.revision
			WHERE tier.revision = excluded.revision - 1`,
			t.Name, t.RequestsPerMinute, t.Daily, t.Monthly, t.Keys, t.Users, t.Documents, t.Memories, storage, t.Revision)
		if err != nil {
			return fmt.Errorf("store tier %s: %w", t.Name, err)
		}
		if n == 0 {
			return errStale
		}
		s.announce(ctx, cluster.Tier, t.Name)
		return nil
	})
}
