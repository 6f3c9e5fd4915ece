package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/usage"
)

// AddUsage implements usage.Store.
func (s *Store) AddUsage(ctx context.Context, d usage.Delta) error {
	return s.usage.Run(ctx, func(ctx context.Context) error {
		charged := map[quotaKey]int64{}
		for _, c := range d.Cells {
			if err := s.addCell(ctx, c); err != nil {
				return err
			}
			if c.Charged == 0 {
				continue
			}
			at := time.Unix(c.Minute*60, 0).UTC()
			for _, owner := range []string{c.WorkspaceID, c.KeyID} {
				if owner != "" {
					charged[quotaKey{at.Format(time.DateOnly), owner}] += c.Charged
					charged[quotaKey{at.Format("2006-01"), owner}] += c.Charged
				}
			}
		}
		for k, n := range charged {
			if _, err := s.usage.In(ctx).Exec(ctx, `
				INSERT INTO usage_quota (period, owner_id, charged) VALUES ($1, $2, $3)
				ON CONFLICT (period, owner_id) DO UPDATE SET charged = usage_quota.charged + excluded.charged`,
				k.period, k.owner, n); err != nil {
				return fmt.Errorf("add to quota: %w", err)
			}
		}
		for _, u := range d.LastUses {
			if _, err := s.usage.In(ctx).Exec(ctx, `
				INSERT INTO last_use (key_id, hint, used_at) VALUES ($1, $2, $3)
				ON CONFLICT (key_id, hint) DO UPDATE SET used_at = excluded.used_at WHERE excluded.used_at > last_use.used_at`,
				u.KeyID, u.Hint, micros(u.At)); err != nil {
				return fmt.Errorf("write last use: %w", err)
			}
		}
		return nil
	})
}

type quotaKey struct{ period, owner string }

func (s *Store) addCell(ctx context.Context, c usage.Cell) error {
	_, err := s.usage.In(ctx).Exec(ctx, `
		INSERT INTO usage_minute (workspace_id, key_id, minute, route, method, status, version, surface, requests, charged, bytes_in, bytes_out)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (workspace_id, key_id, minute, route, method, status, version, surface) DO UPDATE SET
			requests = usage_minute.requests + excluded.requests, charged = usage_minute.charged + excluded.charged,
			bytes_in = usage_minute.bytes_in + excluded.bytes_in, bytes_out = usage_minute.bytes_out + excluded.bytes_out`,
		c.WorkspaceID, c.KeyID, c.Minute, c.Route, c.Method, c.Status, c.Version, c.Surface, c.Requests, c.Charged, c.BytesIn, c.BytesOut)
	if err != nil {
		return fmt.Errorf("add usage: %w", err)
	}
	return nil
}

// Quotas implements usage.Store.
func (s *Store) Quotas(ctx context.Context, periods []string) ([]usage.Quota, error) {
	var list []usage.Quota
	for _, period := range periods {
		err := s.eachUsageRow(ctx, `SELECT owner_id, charged FROM usage_quota WHERE period = $1`, []any{period}, func(row Row) error {
			q := usage.Quota{Period: period}
			if err := row.Scan(&q.OwnerID, &q.Charged); err != nil {
				return err
			}
			list = append(list, q)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read quotas: %w", err)
		}
	}
	return list, nil
}

// LastUses implements usage.Store.
func (s *Store) LastUses(ctx context.Context, keyIDs []string) ([]usage.LastUse, error) {
	var list []usage.LastUse
	for _, id := range keyIDs {
		err := s.eachUsageRow(ctx, `SELECT hint, used_at FROM last_use WHERE key_id = $1`, []any{id}, func(row Row) error {
			u := usage.LastUse{KeyID: id}
			var at int64
			if err := row.Scan(&u.Hint, &at); err != nil {
				return err
			}
			u.At = timeOf(at)
			list = append(list, u)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read last use: %w", err)
		}
	}
	return list, nil
}

// KeySeries implements usage.Store. Hours that have been rolled up count wholly in the step their start is in.
func (s *Store) KeySeries(ctx context.Context, workspaceID, keyID string, from, to time.Time, step time.Duration) ([]usage.Point, error) {
	seconds := int64(step / time.Second)
	if seconds <= 0 {
		return nil, fmt.Errorf("read usage series: a step of %v is too short", step)
	}
	var list []usage.Point
	err := s.eachUsageRow(ctx, `
		SELECT at / $1 * $1 AS step, sum(requests), sum(CASE WHEN status >= 400 AND status <> 429 THEN requests ELSE 0 END),
			sum(CASE WHEN status = 429 THEN requests ELSE 0 END), sum(charged)
		FROM (
			SELECT minute * 60 AS at, status, requests, charged FROM usage_minute
			WHERE workspace_id = $2 AND key_id = $3 AND minute >= $4 AND minute < $5
			UNION ALL
			SELECT hour * 3600, status, requests, charged FROM usage_hour
			WHERE workspace_id = $2 AND key_id = $3 AND hour >= $6 AND hour < $7
		) cells GROUP BY 1 ORDER BY 1`,
		[]any{seconds, workspaceID, keyID, ceilDiv(from.Unix(), 60), ceilDiv(to.Unix(), 60), ceilDiv(from.Unix(), 3600), ceilDiv(to.Unix(), 3600)},
		func(row Row) error {
			var p usage.Point
			var at int64
			if err := row.Scan(&at, &p.Requests, &p.Errors, &p.Throttled, &p.Charged); err != nil {
				return err
			}
			p.At = time.Unix(at, 0).UTC()
			list = append(list, p)
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("read usage series: %w", err)
	}
	return list, nil
}

// ceilDiv is the first cell of a size that starts at n or later.
func ceilDiv(n, size int64) int64 { return (n + size - 1) / size }

// rollUpCells is about how many cells one transaction of a roll-up takes: a flush waits behind it for a tenth of a
// second, where a busy hour at once would hold it up for longer than usage may be lost.
const rollUpCells = 10_000

// RollUpUsage implements usage.Store.
func (s *Store) RollUpUsage(ctx context.Context, before time.Time) error {
	end := before.Unix() / 3600 * 60
	for more := true; more; {
		err := s.usage.Run(ctx, func(ctx context.Context) error {
			upTo, err := s.rollUpTo(ctx, end)
			more = upTo < end
			if err != nil {
				return err
			}
			return s.rollUp(ctx, upTo)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// rollUpTo is the minute before which lie about rollUpCells cells, end when there are no more than that.
func (s *Store) rollUpTo(ctx context.Context, end int64) (int64, error) {
	var minute int64
	err := s.usage.In(ctx).QueryRow(ctx, `SELECT minute FROM usage_minute WHERE minute < $1 ORDER BY minute LIMIT 1 OFFSET $2`,
		end, rollUpCells).Scan(&minute)
	if errors.Is(err, sql.ErrNoRows) {
		return end, nil
	}
	if err != nil {
		return 0, fmt.Errorf("count usage to roll up: %w", err)
	}
	return minute + 1, nil
}

// rollUp adds the cells of minutes before one to their hours.
func (s *Store) rollUp(ctx context.Context, minute int64) error {
	q := s.usage.In(ctx)
	if _, err := q.Exec(ctx, `
		INSERT INTO usage_hour (workspace_id, key_id, hour, route, method, status, version, surface, requests, charged, bytes_in, bytes_out)
		SELECT workspace_id, key_id, minute / 60, route, method, status, version, surface, sum(requests), sum(charged), sum(bytes_in), sum(bytes_out)
		FROM usage_minute WHERE minute < $1
		GROUP BY workspace_id, key_id, minute / 60, route, method, status, version, surface
		ON CONFLICT (workspace_id, key_id, hour, route, method, status, version, surface) DO UPDATE SET
			requests = usage_hour.requests + excluded.requests, charged = usage_hour.charged + excluded.charged,
			bytes_in = usage_hour.bytes_in + excluded.bytes_in, bytes_out = usage_hour.bytes_out + excluded.bytes_out`,
		minute); err != nil {
		return fmt.Errorf("roll usage up: %w", err)
	}
	if _, err := q.Exec(ctx, `DELETE FROM usage_minute WHERE minute < $1`, minute); err != nil {
		return fmt.Errorf("remove usage that was rolled up: %w", err)
	}
	return nil
}

// PruneUsage implements usage.Store.
func (s *Store) PruneUsage(ctx context.Context, before time.Time) error {
	return s.usage.Run(ctx, func(ctx context.Context) error {
		q := s.usage.In(ctx)
		if _, err := q.Exec(ctx, `DELETE FROM usage_minute WHERE minute < $1`, before.Unix()/60); err != nil {
			return fmt.Errorf("prune usage: %w", err)
		}
		if _, err := q.Exec(ctx, `DELETE FROM usage_hour WHERE hour < $1`, before.Unix()/3600); err != nil {
			return fmt.Errorf("prune usage: %w", err)
		}
		// "2026-10-31" lies before "2026-11", "2026-11-01" after it.
		if _, err := q.Exec(ctx, `DELETE FROM usage_quota WHERE period < $1`, before.UTC().Format("2006-01")); err != nil {
			return fmt.Errorf("prune quotas: %w", err)
		}
		return nil
	})
}

func (s *Store) eachUsageRow(ctx context.Context, query string, args []any, fn func(Row) error) error {
	rows, err := s.usage.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
