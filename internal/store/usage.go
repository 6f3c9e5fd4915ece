package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/usage"
)

// AddUsage implements usage.Store.
//
// Several processes flush at once, thousands of rows that others also write. All write in one order, so none waits in a circle.
func (s *Store) AddUsage(ctx context.Context, d usage.Delta) (quotas []usage.Quota, err error) {
	cells := mergedCells(minutesOf(d.Cells))
	charged := chargedOf(cells)
	uses := slices.SortedFunc(slices.Values(d.LastUses), func(a, b usage.LastUse) int {
		return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Hint, b.Hint), b.At.Compare(a.At))
	})
	uses = slices.CompactFunc(uses, func(a, b usage.LastUse) bool { return a.KeyID == b.KeyID && a.Hint == b.Hint })
	err = s.usage.Run(ctx, func(ctx context.Context) error {
		added, err := s.addFlush(ctx, d)
		if err != nil {
			return err
		}
		if added {
			if err := s.addCells(ctx, addMinutes, time.Minute, cells); err != nil {
				return fmt.Errorf("add usage: %w", err)
			}
			if quotas, err = s.addToQuotas(ctx, charged, d.Totals); err != nil {
				return err
			}
		} else if d.Totals {
			if quotas, err = s.quotasOf(ctx, charged); err != nil {
				return err
			}
		}
		return s.moveLastUses(ctx, uses)
	})
	return quotas, err
}

// addFlush records the number of a flush. added is false if that number was added before.
func (s *Store) addFlush(ctx context.Context, d usage.Delta) (added bool, err error) {
	if d.Number == 0 {
		return true, nil
	}
	written, err := s.usage.In(ctx).Exec(ctx, `
		INSERT INTO usage_flush (recorder, number, flushed_at) VALUES ($1, $2, $3)
		ON CONFLICT (recorder) DO UPDATE SET number = excluded.number, flushed_at = excluded.flushed_at
		WHERE usage_flush.number < excluded.number`, d.Recorder, d.Number, micros(d.At))
	if err != nil {
		return false, fmt.Errorf("number a flush: %w", err)
	}
	return written > 0, nil
}

// minutesOf returns a copy of cells in which each starts with its minute.
func minutesOf(cells []usage.Cell) []usage.Cell {
	cells = slices.Clone(cells)
	for i := range cells {
		cells[i].Start = cells[i].Start.Truncate(time.Minute)
		cells[i].Latency = cells[i].Latency.Clone()
	}
	return cells
}

// mergedCells sorts cells and merges those with the same dimensions. It changes the list.
func mergedCells(cells []usage.Cell) []usage.Cell {
	slices.SortFunc(cells, func(a, b usage.Cell) int { return compareCells(&a, &b) })
	merged := cells[:0]
	for i := range cells {
		c := &cells[i]
		if n := len(merged); n > 0 && compareCells(c, &merged[n-1]) == 0 {
			merged[n-1].Add(c)
			continue
		}
		merged = append(merged, *c)
	}
	return merged
}

// compareCells compares the dimensions of cells in the order of the primary key.
func compareCells(a, b *usage.Cell) int {
	return cmp.Or(
		cmp.Compare(a.WorkspaceID, b.WorkspaceID), cmp.Compare(a.KeyID, b.KeyID), a.Start.Compare(b.Start),
		cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status),
		cmp.Compare(a.Version, b.Version), cmp.Compare(a.Surface, b.Surface),
	)
}

// chargedOf returns what cells add to quotas, sorted.
func chargedOf(cells []usage.Cell) []usage.Quota {
	type key struct{ owner, period string }
	sums := map[key]int64{}
	var day, month string
	dayOf := int64(-1)
	for i := range cells {
		c := &cells[i]
		if c.Charged == 0 {
			continue
		}
		if n := c.Start.Unix() / 86400; n != dayOf {
			at := c.Start.UTC()
			dayOf, day, month = n, at.Format(time.DateOnly), at.Format("2006-01")
		}
		for _, owner := range [...]string{c.WorkspaceID, c.KeyID} {
			if owner != "" {
				sums[key{owner, day}] += c.Charged
				sums[key{owner, month}] += c.Charged
			}
		}
	}
	list := make([]usage.Quota, 0, len(sums))
	for k, n := range sums {
		list = append(list, usage.Quota{OwnerID: k.owner, Period: k.period, Added: n})
	}
	slices.SortFunc(list, func(a, b usage.Quota) int {
		return cmp.Or(cmp.Compare(a.OwnerID, b.OwnerID), cmp.Compare(a.Period, b.Period))
	})
	return list
}

var (
	addMinutes = &bulk{
		into:    `usage_minute (workspace_id, key_id, minute, route, method, status, version, surface, requests, charged, bytes_in, bytes_out)`,
		columns: 12,
		rest: `ON CONFLICT (workspace_id, key_id, minute, route, method, status, version, surface) DO UPDATE SET
			requests = usage_minute.requests + excluded.requests, charged = usage_minute.charged + excluded.charged,
			bytes_in = usage_minute.bytes_in + excluded.bytes_in, bytes_out = usage_minute.bytes_out + excluded.bytes_out`,
	}
	addHours = &bulk{
		into:    `usage_hour (workspace_id, key_id, hour, route, method, status, version, surface, requests, charged, bytes_in, bytes_out)`,
		columns: 12,
		rest: `ON CONFLICT (workspace_id, key_id, hour, route, method, status, version, surface) DO UPDATE SET
			requests = usage_hour.requests + excluded.requests, charged = usage_hour.charged + excluded.charged,
			bytes_in = usage_hour.bytes_in + excluded.bytes_in, bytes_out = usage_hour.bytes_out + excluded.bytes_out`,
	}
	addQuotas = &bulk{
		into:    `usage_quota (owner_id, period, charged)`,
		columns: 3,
		rest:    `ON CONFLICT (period, owner_id) DO UPDATE SET charged = usage_quota.charged + excluded.charged`,
	}
	addQuotasReturning = &bulk{into: addQuotas.into, columns: 3, rest: addQuotas.rest + ` RETURNING owner_id, period, charged`}
	moveLastUses       = &bulk{
		into:    `last_use (key_id, hint, used_at)`,
		columns: 3,
		rest:    `ON CONFLICT (key_id, hint) DO UPDATE SET used_at = excluded.used_at WHERE excluded.used_at > last_use.used_at`,
	}
)

// addCells adds merged cells to minutes, or to hours.
func (s *Store) addCells(ctx context.Context, to *bulk, step time.Duration, cells []usage.Cell) error {
	seconds := int64(step / time.Second)
	_, err := s.insert(ctx, s.usage, to, len(cells), func(i int, values []any) []any {
		c := &cells[i]
		return append(values, c.WorkspaceID, c.KeyID, c.Start.Unix()/seconds, c.Route, c.Method, c.Status, c.Version, c.Surface,
			c.Requests, c.Charged, c.BytesIn, c.BytesOut)
	})
	return err
}

// addToQuotas adds what was charged. With totals it returns the sums that result.
func (s *Store) addToQuotas(ctx context.Context, charged []usage.Quota, totals bool) (list []usage.Quota, err error) {
	row := func(i int, values []any) []any {
		return append(values, charged[i].OwnerID, charged[i].Period, charged[i].Added)
	}
	if !totals {
		if _, err := s.insert(ctx, s.usage, addQuotas, len(charged), row); err != nil {
			return nil, fmt.Errorf("add to quotas: %w", err)
		}
		return nil, nil
	}
	err = s.eachInsert(addQuotasReturning, len(charged), row, func(text string, values []any) error {
		return s.eachUsageRow(ctx, text, values, func(row Row) error {
			var q usage.Quota
			err := row.Scan(&q.OwnerID, &q.Period, &q.Charged)
			list = append(list, q)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("add to quotas: %w", err)
	}
	return withAdded(list, charged), nil
}

// quotasOf reads the current sums of the quotas in charged.
func (s *Store) quotasOf(ctx context.Context, charged []usage.Quota) ([]usage.Quota, error) {
	var owners, periods []string
	for _, q := range charged { // sorted by owner
		if len(owners) == 0 || owners[len(owners)-1] != q.OwnerID {
			owners = append(owners, q.OwnerID)
		}
		if !slices.Contains(periods, q.Period) {
			periods = append(periods, q.Period)
		}
	}
	list, err := s.OwnerQuotas(ctx, owners, periods)
	if err != nil {
		return nil, err
	}
	return withAdded(list, charged), nil
}

// withAdded returns charged with the totals from list.
func withAdded(list, charged []usage.Quota) []usage.Quota {
	type key struct{ owner, period string }
	totals := make(map[key]int64, len(list))
	for _, q := range list {
		totals[key{q.OwnerID, q.Period}] = q.Charged
	}
	all := slices.Clone(charged)
	for i := range all {
		all[i].Charged = totals[key{all[i].OwnerID, all[i].Period}]
	}
	return all
}

func (s *Store) moveLastUses(ctx context.Context, uses []usage.LastUse) error {
	_, err := s.insert(ctx, s.usage, moveLastUses, len(uses), func(i int, values []any) []any {
		return append(values, uses[i].KeyID, uses[i].Hint, micros(uses[i].At))
	})
	if err != nil {
		return fmt.Errorf("write last use: %w", err)
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

var quotasByOwners = `SELECT owner_id, charged FROM usage_quota WHERE period = $1 AND owner_id IN (` + Parameters(2, ListSize) + `)`

// OwnerQuotas implements usage.Store.
func (s *Store) OwnerQuotas(ctx context.Context, ownerIDs, periods []string) ([]usage.Quota, error) {
	var list []usage.Quota
	for ids := range slices.Chunk(ownerIDs, ListSize) {
		for _, period := range periods {
			err := s.eachUsageRow(ctx, quotasByOwners, Padded([]any{period}, ids), func(row Row) error {
				q := usage.Quota{Period: period}
				err := row.Scan(&q.OwnerID, &q.Charged)
				list = append(list, q)
				return err
			})
			if err != nil {
				return nil, fmt.Errorf("read quotas of owners: %w", err)
			}
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

// KeySeries implements usage.Store. An hour that was rolled up counts in the step that contains its start.
func (s *Store) KeySeries(ctx context.Context, workspaceID, keyID string, from, to time.Time, step time.Duration) ([]usage.Point, error) {
	seconds := int64(step / time.Second)
	if seconds <= 0 {
		return nil, fmt.Errorf("read usage series: a step of %v is too short", step)
	}
	var list []usage.Point
	err := s.eachUsageRow(ctx, `
		SELECT at / $1 * $1 AS step, CAST(sum(requests) AS BIGINT),
			CAST(sum(CASE WHEN status >= 400 AND status <> 429 THEN requests ELSE 0 END) AS BIGINT),
			CAST(sum(CASE WHEN status = 429 THEN requests ELSE 0 END) AS BIGINT), CAST(sum(charged) AS BIGINT)
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

// compactCells is about how many cells one transaction of a roll-up or clean-up handles. A flush waits a tenth of a second for
// it; for a whole busy hour it would wait longer than usage can be lost.
const compactCells = 10_000

// compact runs fn in several transactions, each up to a minute (or hour), until that is end. Processes that do so at once take
// turns.
func (s *Store) compact(ctx context.Context, table, column string, end int64, fn func(ctx context.Context, upTo int64) error) error {
	for more := true; more; {
		err := s.usage.Run(ctx, func(ctx context.Context) error {
			if err := s.holdCompacting(ctx); err != nil {
				return err
			}
			upTo := end
			err := s.usage.In(ctx).QueryRow(ctx, `SELECT `+column+` + 1 FROM `+table+` WHERE `+column+` < $1 ORDER BY `+column+` LIMIT 1 OFFSET $2`,
				end, int64(compactCells)).Scan(&upTo)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return fmt.Errorf("count old usage: %w", err)
			}
			more = upTo < end
			return fn(ctx, upTo)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// holdCompacting makes other processes wait that compact, but not those that flush.
func (s *Store) holdCompacting(ctx context.Context) error {
	_, err := s.usage.In(ctx).Exec(ctx, `INSERT INTO usage_flush (recorder, number, flushed_at) VALUES ('', 0, 0) ON CONFLICT DO NOTHING`)
	if err == nil {
		err = s.usage.Hold(ctx, `SELECT number FROM usage_flush WHERE recorder = ''`)
	}
	if err != nil {
		return fmt.Errorf("wait for other processes that compact usage: %w", err)
	}
	return nil
}

// RollUpUsage implements usage.Store.
func (s *Store) RollUpUsage(ctx context.Context, before time.Time) error {
	return s.compact(ctx, "usage_minute", "minute", before.Unix()/3600*60, s.rollUp)
}

// rollUp adds the cells of minutes before one to their hours: exactly those that the DELETE returned. A minute that another
// process adds meanwhile remains.
func (s *Store) rollUp(ctx context.Context, minute int64) error {
	var cells []usage.Cell
	err := s.eachUsageRow(ctx, `DELETE FROM usage_minute WHERE minute < $1
		RETURNING workspace_id, key_id, minute / 60, route, method, status, version, surface, requests, charged, bytes_in, bytes_out`,
		[]any{minute}, func(row Row) error {
			var c usage.Cell
			err := scanCell(row, time.Hour, &c)
			cells = append(cells, c)
			return err
		})
	if err == nil {
		err = s.addCells(ctx, addHours, time.Hour, mergedCells(cells))
	}
	if err != nil {
		return fmt.Errorf("roll usage up: %w", err)
	}
	return nil
}

// PruneUsage implements usage.Store.
func (s *Store) PruneUsage(ctx context.Context, before time.Time) error {
	for _, t := range []struct {
		table, column string
		end           int64
	}{{"usage_minute", "minute", before.Unix() / 60}, {"usage_hour", "hour", before.Unix() / 3600}} {
		err := s.compact(ctx, t.table, t.column, t.end, func(ctx context.Context, upTo int64) error {
			_, err := s.usage.In(ctx).Exec(ctx, `DELETE FROM `+t.table+` WHERE `+t.column+` < $1`, upTo)
			if err != nil {
				return fmt.Errorf("prune usage: %w", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.usage.Run(ctx, func(ctx context.Context) error {
		if err := s.holdCompacting(ctx); err != nil {
			return err
		}
		q := s.usage.In(ctx)
		// "2026-10-31" < "2026-11" < "2026-11-01".
		if _, err := q.Exec(ctx, `DELETE FROM usage_quota WHERE period < $1`, before.UTC().Format("2006-01")); err != nil {
			return fmt.Errorf("prune quotas: %w", err)
		}
		if _, err := q.Exec(ctx, `DELETE FROM usage_flush WHERE flushed_at < $1 AND recorder <> ''`, micros(before)); err != nil {
			return fmt.Errorf("prune numbers of flushes: %w", err)
		}
		return nil
	})
}

func (s *Store) eachUsageRow(ctx context.Context, query string, args []any, fn func(Row) error) error {
	rows, err := s.usage.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return err
	}
	return ForEach(rows, fn)
}
