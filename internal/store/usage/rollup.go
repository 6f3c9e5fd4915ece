package usage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
)

// usageStep is a table with the sums of series in steps of a length.
type usageStep struct {
	table  string
	length time.Duration
	write  *store.Bulk
}

var usageSteps = [...]usageStep{
	newUsageStep("usage_minute", time.Minute), newUsageStep("usage_hour", time.Hour), newUsageStep("usage_day", 24*time.Hour),
}

func newUsageStep(table string, length time.Duration) usageStep {
	return usageStep{table, length, &store.Bulk{
		Into:    table + ` (series, at, ` + countColumns + `)`,
		Columns: 7, Updates: true,
		Rest: `ON CONFLICT (series, at) DO UPDATE SET requests = excluded.requests, charged = excluded.charged,
			bytes_in = excluded.bytes_in, bytes_out = excluded.bytes_out, durations = excluded.durations`,
	}}
}

func (t *usageStep) seconds() int64 { return int64(t.length / time.Second) }

// movedRows is how many rows one transaction of a roll-up moves at most.
const movedRows = 20_000

// RollUpUsage implements usage.Store.
func (s *Counters) RollUpUsage(ctx context.Context) error {
	for moved := movedRows; moved == movedRows; {
		err := s.db.Run(ctx, func(ctx context.Context) (err error) {
			moved, err = s.moveFresh(ctx)
			return err
		})
		if err != nil {
			return fmt.Errorf("roll up usage: %w", err)
		}
	}
	return nil
}

// moveFresh moves some fresh rows. It makes other processes wait, which would add to the same rows.
func (s *Counters) moveFresh(ctx context.Context) (moved int, err error) {
	if err := holdTidying(ctx, s.db); err != nil {
		return 0, err
	}
	var c usage.Cell
	fresh := cellSums{}
	err = s.db.EachRow(ctx, `
		DELETE FROM usage_fresh WHERE (flush, series, at) IN (SELECT flush, series, at FROM usage_fresh LIMIT $1)
		RETURNING series, at, `+countColumns, []any{int64(movedRows)}, func(row store.Row) error {
		var k cellKey
		moved++
		err := scanCounts(row, &c, &k.series, &k.at)
		fresh.add(k, &c)
		return err
	})
	if err != nil || moved == 0 {
		return moved, err
	}
	for _, t := range usageSteps {
		if err := s.addSums(ctx, &t, fresh); err != nil {
			return 0, err
		}
	}
	return moved, nil
}

var selectSums = ` WHERE at = $1 AND series IN (` + store.Parameters(2, store.ListSize) + `)`

// addSums adds fresh cells to the sums of a table.
func (s *Counters) addSums(ctx context.Context, t *usageStep, fresh cellSums) error {
	sums, series := cellSums{}, map[int64][]int64{} // by time
	for k, c := range fresh {
		k.at = floorTo(k.at, t.seconds())
		if sums[k] == nil {
			series[k.at] = append(series[k.at], k.series)
		}
		sums.add(k, c)
	}
	for at, all := range series {
		for some := range slices.Chunk(all, store.ListSize) {
			err := s.db.EachRow(ctx, `SELECT series, at, `+countColumns+` FROM `+t.table+selectSums, store.Padded([]any{at}, some), func(row store.Row) error {
				var k cellKey
				var c usage.Cell
				err := scanCounts(row, &c, &k.series, &k.at)
				sums.add(k, &c)
				return err
			})
			if err != nil {
				return fmt.Errorf("read %s: %w", t.table, err)
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(sums), compareKeys)
	_, err := s.db.Insert(ctx, t.write, len(keys), func(i int, values []any) []any {
		return appendCounts(append(values, keys[i].series, keys[i].at), sums[keys[i]])
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", t.table, err)
	}
	return nil
}

// deletedRows is about how many rows one transaction of a clean-up deletes, so that a flush waits only some milliseconds for it.
const deletedRows = 250

// PruneUsage implements usage.Store.
func (s *Counters) PruneUsage(ctx context.Context, r usage.Retention) error {
	err := s.alone(ctx, "usage clean-up", func(ctx context.Context) error {
		days := floorTo(r.Days.Unix(), 24*3600)
		for _, t := range []struct {
			table, key, where string
			end               int64
		}{
			{"usage_minute", "series, at", "at < $1", r.Minutes.Unix()},
			{"usage_hour", "series, at", "at < $1", floorTo(r.Hours.Unix(), 3600)},
			{"usage_day", "series, at", "at < $1", days},
			{"usage_series", "id", "last_day < $1", days},
			{"usage_report", "id", "known_until <= $1", store.Micros(r.Now)},
		} {
			if err := s.deleteUsage(ctx, s.db.Dialect.DeleteSome(t.table, t.key, t.where, deletedRows), t.end); err != nil {
				return fmt.Errorf("prune %s: %w", t.table, err)
			}
		}
		return s.pruneQuotas(ctx, r.Hours)
	})
	if err != nil {
		return fmt.Errorf("prune usage: %w", err)
	}
	return nil
}

// deleteUsage runs a statement that deletes some rows until there are none.
func (s *Counters) deleteUsage(ctx context.Context, statement string, end int64) error {
	for {
		var n int64
		err := s.db.Run(ctx, func(ctx context.Context) (err error) {
			n, err = s.db.In(ctx).Exec(ctx, statement, end)
			return err
		})
		if err != nil || n == 0 {
			return err
		}
	}
}

// pruneQuotas deletes the quotas of days and months before the month of a time, and the numbers of flushes before the time.
func (s *Counters) pruneQuotas(ctx context.Context, before time.Time) error {
	return s.db.Run(ctx, func(ctx context.Context) error {
		q := s.db.In(ctx)
		// "2026-10-31" < "2026-11" < "2026-11-01".
		if _, err := q.Exec(ctx, `DELETE FROM usage_quota WHERE period < $1`, before.UTC().Format("2006-01")); err != nil {
			return fmt.Errorf("prune quotas: %w", err)
		}
		if _, err := q.Exec(ctx, `DELETE FROM usage_flush WHERE flushed_at < $1 AND recorder <> ''`, store.Micros(before)); err != nil {
			return fmt.Errorf("prune numbers of flushes: %w", err)
		}
		return nil
	})
}
