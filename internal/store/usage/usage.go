package usage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
)

// AddUsage implements usage.Store.
//
// Several processes flush at once. All write rows in one order, so none waits in a circle.
func (s *Counters) AddUsage(ctx context.Context, d usage.Delta) (quotas []usage.Quota, err error) {
	charged := chargedOf(d.Cells)
	uses := slices.SortedFunc(slices.Values(d.LastUses), func(a, b usage.LastUse) int {
		return cmp.Or(cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Hint, b.Hint), b.At.Compare(a.At))
	})
	uses = slices.CompactFunc(uses, func(a, b usage.LastUse) bool { return a.KeyID == b.KeyID && a.Hint == b.Hint })
	err = s.db.Run(ctx, func(ctx context.Context) error {
		added, err := addFlush(ctx, s.db, d)
		if err != nil {
			return err
		}
		if added {
			if err := s.addCells(ctx, d.Cells); err != nil {
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
func addFlush(ctx context.Context, db *store.DB, d usage.Delta) (added bool, err error) {
	if d.Number == 0 {
		return true, nil
	}
	written, err := db.In(ctx).Exec(ctx, `
		INSERT INTO usage_flush (recorder, number, flushed_at) VALUES ($1, $2, $3)
		ON CONFLICT (recorder) DO UPDATE SET number = excluded.number, flushed_at = excluded.flushed_at
		WHERE usage_flush.number < excluded.number`, d.Recorder, d.Number, store.Micros(d.At))
	if err != nil {
		return false, fmt.Errorf("number a flush: %w", err)
	}
	return written > 0, nil
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
	addQuotas = &store.Bulk{
		Into:    `usage_quota (owner_id, period, charged)`,
		Columns: 3, Updates: true,
		Rest: `ON CONFLICT (period, owner_id) DO UPDATE SET charged = usage_quota.charged + excluded.charged`,
	}
	addQuotasReturning = &store.Bulk{Into: addQuotas.Into, Columns: 3, Updates: true, Rest: addQuotas.Rest + ` RETURNING owner_id, period, charged`}
	moveLastUses       = &store.Bulk{
		Into:    `last_use (key_id, hint, used_at)`,
		Columns: 3, Updates: true,
		Rest: `ON CONFLICT (key_id, hint) DO UPDATE SET used_at = excluded.used_at WHERE excluded.used_at > last_use.used_at`,
	}
)

// addToQuotas adds what was charged. With totals it returns the sums that result.
func (s *Counters) addToQuotas(ctx context.Context, charged []usage.Quota, totals bool) (list []usage.Quota, err error) {
	row := func(i int, values []any) []any {
		return append(values, charged[i].OwnerID, charged[i].Period, charged[i].Added)
	}
	if !totals {
		if _, err := s.db.Insert(ctx, addQuotas, len(charged), row); err != nil {
			return nil, fmt.Errorf("add to quotas: %w", err)
		}
		return nil, nil
	}
	err = s.db.EachInsert(addQuotasReturning, len(charged), row, func(text string, values []any) error {
		return s.db.EachRow(ctx, text, values, func(row store.Row) error {
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
func (s *Counters) quotasOf(ctx context.Context, charged []usage.Quota) ([]usage.Quota, error) {
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

func (s *Counters) moveLastUses(ctx context.Context, uses []usage.LastUse) error {
	_, err := s.db.Insert(ctx, moveLastUses, len(uses), func(i int, values []any) []any {
		return append(values, uses[i].KeyID, uses[i].Hint, store.Micros(uses[i].At))
	})
	if err != nil {
		return fmt.Errorf("write last use: %w", err)
	}
	return nil
}

// Quotas implements usage.Store.
func (s *Counters) Quotas(ctx context.Context, periods []string) ([]usage.Quota, error) {
	var list []usage.Quota
	for _, period := range periods {
		err := s.db.EachRow(ctx, `SELECT owner_id, charged FROM usage_quota WHERE period = $1`, []any{period}, func(row store.Row) error {
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

var quotasByOwners = `SELECT owner_id, charged FROM usage_quota WHERE period = $1 AND owner_id IN (` + store.Parameters(2, store.ListSize) + `)`

// OwnerQuotas implements usage.Store.
func (s *Counters) OwnerQuotas(ctx context.Context, ownerIDs, periods []string) ([]usage.Quota, error) {
	var list []usage.Quota
	for ids := range slices.Chunk(ownerIDs, store.ListSize) {
		for _, period := range periods {
			err := s.db.EachRow(ctx, quotasByOwners, store.Padded([]any{period}, ids), func(row store.Row) error {
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
func (s *Counters) LastUses(ctx context.Context, keyIDs []string) ([]usage.LastUse, error) {
	var list []usage.LastUse
	for _, id := range keyIDs {
		err := s.db.EachRow(ctx, `SELECT hint, used_at FROM last_use WHERE key_id = $1`, []any{id}, func(row store.Row) error {
			u := usage.LastUse{KeyID: id}
			var at int64
			if err := row.Scan(&u.Hint, &at); err != nil {
				return err
			}
			u.At = store.TimeOf(at)
			list = append(list, u)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read last use: %w", err)
		}
	}
	return list, nil
}
