package usage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/govern/analytics"
	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
)

var (
	addRequests = &store.Bulk{
		Into: `request_log (` + requestColumns + `)`,
		Rest: `ON CONFLICT DO NOTHING`, Columns: 14,
	}
	addGaps = &store.Bulk{Into: `request_gap (workspace_id, minute)`, Rest: `ON CONFLICT DO NOTHING`, Columns: 2}

	addErrors = &store.Bulk{
		Into: `request_error (` + errorColumns + `)`,
		Rest: `ON CONFLICT (workspace_id, minute, key_id, route, method, status, code, version, surface) DO UPDATE SET
			errors = request_error.errors + excluded.errors,
			last_at = CASE WHEN excluded.last_at > request_error.last_at THEN excluded.last_at ELSE request_error.last_at END`,
		Columns: 11,
	}
)

// AddRequests implements analytics.LogStore. Several processes call it at once; all write in one order, so none waits in a
// circle.
func (s *Requests) AddRequests(ctx context.Context, b analytics.Batch) error {
	errors := mergedErrors(slices.Clone(b.Errors))
	gaps := slices.SortedFunc(slices.Values(b.Gaps), func(a, b analytics.Gap) int {
		return cmp.Or(cmp.Compare(a.WorkspaceID, b.WorkspaceID), a.Minute.Compare(b.Minute))
	})
	return s.db.Run(ctx, func(ctx context.Context) error {
		added, err := addFlush(ctx, s.db, usage.Delta{Recorder: b.Recorder, Number: b.Number, At: b.At})
		if err != nil || !added {
			return err
		}
		_, err = s.db.Insert(ctx, addRequests, len(b.Requests), func(i int, values []any) []any {
			r := &b.Requests[i]
			return append(values, r.WorkspaceID, store.Micros(r.At), r.Number, r.ID, r.KeyID, r.UserID, r.Route, r.Method, r.Status, r.Code,
				r.Took.Microseconds(), r.Version, r.Surface, r.Client)
		})
		if err != nil {
			return fmt.Errorf("add requests: %w", err)
		}
		_, err = s.db.Insert(ctx, addGaps, len(gaps), func(i int, values []any) []any {
			return append(values, gaps[i].WorkspaceID, gaps[i].Minute.Unix()/60)
		})
		if err != nil {
			return fmt.Errorf("add gaps: %w", err)
		}
		return s.addErrors(ctx, errors)
	})
}

func compareErrors(a, b analytics.ErrorCount) int {
	return cmp.Or(cmp.Compare(a.WorkspaceID, b.WorkspaceID), a.Start.Compare(b.Start), cmp.Compare(a.KeyID, b.KeyID), cmp.Compare(a.Route, b.Route),
		cmp.Compare(a.Method, b.Method), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Version, b.Version),
		cmp.Compare(a.Surface, b.Surface))
}

// mergedErrors sorts counts and merges those with the same dimensions. It reuses the memory of list.
func mergedErrors(list []analytics.ErrorCount) []analytics.ErrorCount {
	slices.SortFunc(list, compareErrors)
	merged := list[:0]
	for _, c := range list {
		if n := len(merged); n > 0 && compareErrors(c, merged[n-1]) == 0 {
			last := &merged[n-1]
			last.Count += c.Count
			if c.LastAt.After(last.LastAt) {
				last.LastAt = c.LastAt
			}
			continue
		}
		merged = append(merged, c)
	}
	return merged
}

// addErrors adds merged counts.
func (s *Requests) addErrors(ctx context.Context, merged []analytics.ErrorCount) error {
	_, err := s.db.Insert(ctx, addErrors, len(merged), func(i int, values []any) []any {
		c := &merged[i]
		return append(values, c.WorkspaceID, c.Start.Unix()/60, c.KeyID, c.Route, c.Method, c.Status, c.Code, c.Version, c.Surface, c.Count, store.Micros(c.LastAt))
	})
	if err != nil {
		return fmt.Errorf("add counts of errors: %w", err)
	}
	return nil
}

const requestColumns = `workspace_id, at, number, request_id, key_id, user_id, route, method, status, code, took, version, surface, client`

// Requests implements analytics.LogStore.
func (s *Requests) Requests(ctx context.Context, q analytics.RequestQuery) ([]analytics.Request, error) {
	var c store.Conditions
	if q.WorkspaceID != "" {
		c.Where("workspace_id = ?", q.WorkspaceID)
	}
	c.Where("at >= ?", store.Micros(q.From))
	if b := q.Before; b != nil {
		c.Where("(at, number) < (?, ?)", store.Micros(b.At), b.Number)
	} else {
		c.Where("at < ?", store.Micros(q.To))
	}
	if q.ID != "" {
		c.Where("request_id = ?", q.ID)
	}
	var list []analytics.Request
	err := s.db.EachRow(ctx, `SELECT `+requestColumns+` FROM request_log WHERE `+c.String()+` ORDER BY at DESC, number DESC LIMIT `+c.Arg(int64(q.Limit)),
		c.Args, func(row store.Row) error {
			var r analytics.Request
			var at, took int64
			err := row.Scan(&r.WorkspaceID, &at, &r.Number, &r.ID, &r.KeyID, &r.UserID, &r.Route, &r.Method, &r.Status, &r.Code, &took, &r.Version,
				&r.Surface, &r.Client)
			r.At, r.Took = store.TimeOf(at), time.Duration(took)*time.Microsecond
			list = append(list, r)
			return err
		})
	if err != nil {
		return nil, fmt.Errorf("list requests: %w", err)
	}
	return list, nil
}

// HasGap implements analytics.LogStore.
func (s *Requests) HasGap(ctx context.Context, workspaceID string, from, to time.Time) (found bool, err error) {
	var c store.Conditions
	if workspaceID != "" {
		c.Where("workspace_id = ?", workspaceID)
	}
	c.Where("minute >= ?", from.Unix()/60)
	c.Where("minute < ?", ceilDiv(to.Unix(), 60))
	err = s.db.EachRow(ctx, `SELECT 1 FROM request_gap WHERE `+c.String()+` LIMIT 1`, c.Args, func(store.Row) error {
		found = true
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("read gaps: %w", err)
	}
	return found, nil
}

const errorColumns = `workspace_id, minute, key_id, route, method, status, code, version, surface, errors, last_at`

func scanError(row store.Row) (c analytics.ErrorCount, err error) {
	var minute, last int64
	err = row.Scan(&c.WorkspaceID, &minute, &c.KeyID, &c.Route, &c.Method, &c.Status, &c.Code, &c.Version, &c.Surface, &c.Count, &last)
	c.Start, c.LastAt = time.Unix(minute*60, 0).UTC(), store.TimeOf(last)
	return c, err
}

// EachError implements analytics.LogStore.
func (s *Requests) EachError(ctx context.Context, q analytics.ErrorQuery, fn func(c *analytics.ErrorCount)) error {
	var c store.Conditions
	if q.WorkspaceID != "" {
		c.Where("workspace_id = ?", q.WorkspaceID)
	}
	c.Where("minute >= ?", ceilDiv(q.From.Unix(), 60))
	c.Where("minute < ?", ceilDiv(q.To.Unix(), 60))
	err := s.db.EachRow(ctx, `SELECT `+errorColumns+` FROM request_error WHERE `+c.String(), c.Args, func(row store.Row) error {
		found, err := scanError(row)
		if err == nil {
			fn(&found)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read counts of errors: %w", err)
	}
	return nil
}

// tidiedRows is about how many rows one transaction of a clean-up deletes, so that a flush waits only some milliseconds for it.
const tidiedRows = 200

// holdTidying makes other processes wait that roll up usage or tidy the log of requests, but not those that flush. Two that delete
// the same rows in different orders could wait for each other.
func holdTidying(ctx context.Context, db *store.DB) error {
	_, err := db.In(ctx).Exec(ctx, `INSERT INTO usage_flush (recorder, number, flushed_at) VALUES ('', 0, 0) ON CONFLICT DO NOTHING`)
	if err == nil {
		err = db.Hold(ctx, `SELECT number FROM usage_flush WHERE recorder = ''`)
	}
	if err != nil {
		return fmt.Errorf("wait for other processes that tidy usage: %w", err)
	}
	return nil
}

// RollUpErrors implements analytics.LogStore. A minute that is added late is a row of its own until the next roll-up.
func (s *Requests) RollUpErrors(ctx context.Context, before time.Time) error {
	for more := true; more; {
		err := s.db.Run(ctx, func(ctx context.Context) error {
			if err := holdTidying(ctx, s.db); err != nil {
				return err
			}
			var old []analytics.ErrorCount
			err := s.db.EachRow(ctx, `DELETE FROM request_error WHERE (workspace_id, minute, key_id, route, method, status, code, version, surface) IN (
				SELECT workspace_id, minute, key_id, route, method, status, code, version, surface FROM request_error
				WHERE minute < $1 AND minute % 60 <> 0 ORDER BY minute LIMIT $2) RETURNING `+errorColumns,
				[]any{before.Unix() / 3600 * 60, int64(tidiedRows)}, func(row store.Row) error {
					c, err := scanError(row)
					c.Start = c.Start.Truncate(time.Hour)
					old = append(old, c)
					return err
				})
			if err != nil {
				return fmt.Errorf("take old counts of errors: %w", err)
			}
			more = len(old) > 0
			return s.addErrors(ctx, mergedErrors(old))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// PruneRequests implements analytics.LogStore.
func (s *Requests) PruneRequests(ctx context.Context, before time.Time) error {
	err := s.pruneSlices(ctx, `DELETE FROM request_log WHERE (workspace_id, at, number) IN (
		SELECT workspace_id, at, number FROM request_log WHERE at < $1 ORDER BY at, number LIMIT $2)`, store.Micros(before))
	if err == nil {
		err = s.pruneSlices(ctx, `DELETE FROM request_gap WHERE (workspace_id, minute) IN (
			SELECT workspace_id, minute FROM request_gap WHERE minute < $1 LIMIT $2)`, before.Unix()/60)
	}
	if err != nil {
		return fmt.Errorf("delete old requests: %w", err)
	}
	return nil
}

// PruneErrors implements analytics.LogStore.
func (s *Requests) PruneErrors(ctx context.Context, before time.Time) error {
	err := s.pruneSlices(ctx, `DELETE FROM request_error WHERE (workspace_id, minute, key_id, route, method, status, code, version, surface) IN (
		SELECT workspace_id, minute, key_id, route, method, status, code, version, surface FROM request_error
		WHERE minute < $1 ORDER BY minute LIMIT $2)`, before.Unix()/60)
	if err != nil {
		return fmt.Errorf("delete old counts of errors: %w", err)
	}
	return nil
}

// pruneSlices repeats a statement that deletes up to $2 rows before $1, each time in a transaction of its own, until none is
// left.
func (s *Requests) pruneSlices(ctx context.Context, query string, before int64) error {
	for deleted := int64(tidiedRows); deleted == tidiedRows; {
		err := s.db.Run(ctx, func(ctx context.Context) (err error) {
			if err = holdTidying(ctx, s.db); err == nil {
				deleted, err = s.db.In(ctx).Exec(ctx, query, before, int64(tidiedRows))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
