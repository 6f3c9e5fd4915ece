package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/usage"
)

// A roll-up shares its writer with the flush. So it reads and encodes outside of transactions, and each of its transactions
// writes little, for some milliseconds.
const (
	sliceRows   = 16       // packed rows in one transaction
	sliceBytes  = 64 << 10 // bytes of packed rows in one transaction
	deletedRows = 250      // rows that one transaction deletes
	packedKeys  = 50       // keys whose cells are in memory at once

	shortenedRows = 20 // rows of which one transaction shortens the durations
)

// rollUpLock is the name of the lock that roll-ups and clean-ups of several processes take.
const rollUpLock = "usage roll-up"

// RollUpUsage implements usage.Store.
func (s *Store) RollUpUsage(ctx context.Context, before time.Time) error {
	end := before.Unix() / hourSeconds
	m, err := s.usageMarks(ctx)
	if err != nil || m.packedHours >= end && m.packedDays >= floorTo(end, dayHours) {
		return err
	}
	err = s.engine.Alone(ctx, rollUpLock, func(ctx context.Context) error {
		if err := s.closeHours(ctx, end); err != nil {
			return err
		}
		if err := s.packHours(ctx); err != nil {
			return err
		}
		return s.packDays(ctx)
	})
	if err != nil {
		return fmt.Errorf("roll up usage: %w", err)
	}
	return nil
}

// closeHours closes the hours before end. A flush that runs is over then, and later ones see the mark.
func (s *Store) closeHours(ctx context.Context, end int64) error {
	return s.usage.Run(ctx, func(ctx context.Context) error {
		if err := s.dialect.HoldUsage(ctx, s.usage.In(ctx), true); err != nil {
			return err
		}
		return s.raiseMarks(ctx, usageMarks{closed: end})
	})
}

// raiseMarks raises the marks that are lower than those of m.
func (s *Store) raiseMarks(ctx context.Context, m usageMarks) error {
	const higher = ` = CASE WHEN excluded.%[1]s > usage_mark.%[1]s THEN excluded.%[1]s ELSE usage_mark.%[1]s END`
	text := `INSERT INTO usage_mark (id, closed, packed_hours, packed_days, minutes_from, hours_from) VALUES (1, $1, $2, $3, $4, $5)
		ON CONFLICT (id) DO UPDATE SET `
	for i, name := range [...]string{"closed", "packed_hours", "packed_days", "minutes_from", "hours_from"} {
		if i > 0 {
			text += ", "
		}
		text += name + fmt.Sprintf(higher, name)
	}
	err := s.usage.Run(ctx, func(ctx context.Context) error {
		_, err := s.usage.In(ctx).Exec(ctx, text, m.closed, m.packedHours, m.packedDays, m.minutesFrom, m.hoursFrom)
		return err
	})
	if err != nil {
		return fmt.Errorf("store how far usage is packed: %w", err)
	}
	return nil
}

// packHours packs the hours that are closed.
func (s *Store) packHours(ctx context.Context) error {
	for {
		m, err := s.usageMarks(ctx)
		if err != nil || m.packedHours >= m.closed {
			return err
		}
		hour, err := s.firstHour(ctx, m.packedHours, m.closed)
		if err != nil {
			return err
		}
		if hour < m.closed {
			if err := s.packHour(ctx, hour); err != nil {
				return fmt.Errorf("pack an hour: %w", err)
			}
			hour++
		}
		if err := s.raiseMarks(ctx, usageMarks{packedHours: hour}); err != nil {
			return err
		}
	}
}

// firstHour returns the first hour from one on that has cells, or end.
func (s *Store) firstHour(ctx context.Context, from, end int64) (hour int64, err error) {
	hour = end
	for _, first := range []struct {
		query string
		size  int64
	}{
		{`SELECT minute FROM usage_minute WHERE minute >= $1 AND minute < $2 ORDER BY minute LIMIT 1`, 60},
		{`SELECT hour FROM usage_hour WHERE hour >= $1 AND hour < $2 ORDER BY hour LIMIT 1`, 1},
	} {
		var at int64
		err := s.usage.In(ctx).QueryRow(ctx, first.query, from*first.size, end*first.size).Scan(&at)
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return 0, fmt.Errorf("find usage to pack: %w", err)
		}
		hour = min(hour, at/first.size)
	}
	return hour, nil
}

// packHour packs the cells of a closed hour.
func (s *Store) packHour(ctx context.Context, hour int64) error {
	return s.pack(ctx, packing{
		into: addPackedHours, hour: hour,
		done: func(m usageMarks) bool { return m.packedHours > hour },
		keys: `SELECT DISTINCT workspace_id, key_id FROM usage_minute WHERE minute >= $1 AND minute < $2
			UNION SELECT workspace_id, key_id FROM usage_hour WHERE hour = $3`,
		keysArgs: []any{hour * 60, (hour + 1) * 60, hour},
		each: func(ctx context.Context, q usage.CellQuery, fn func(c *usage.Cell) error) error {
			r := &cellReader{s: s, q: q, fn: fn}
			in := span{hour * hourSeconds, (hour + 1) * hourSeconds}
			if err := r.oldHours(ctx, in); err != nil {
				return err
			}
			var long []longLatency
			r.fn = func(c *usage.Cell) error {
				if short, is := shortened(c, len(r.latency)); is {
					long = append(long, short)
				}
				return fn(c)
			}
			if err := r.rows(ctx, "usage_minute", in); err != nil {
				return err
			}
			return s.shortenLatencies(ctx, long)
		},
	})
}

// longLatency is the durations of a minute that many flushes appended to, as one histogram.
type longLatency struct {
	cell   usage.Cell // without counts
	before int        // bytes that are stored
	after  []byte
}

// shortened returns the durations of a cell as one histogram, if that saves much of the stored size.
func shortened(c *usage.Cell, size int) (l longLatency, saves bool) {
	const small = 512
	if size < small {
		return l, false
	}
	l = longLatency{cell: *c, before: size}
	l.cell.Latency = usage.Histogram{}
	l.after, _ = c.Latency.AppendBinary(nil) // never fails
	return l, 2*len(l.after) <= size
}

// shortenLatencies stores the durations of closed minutes as one histogram each.
func (s *Store) shortenLatencies(ctx context.Context, list []longLatency) error {
	for some := range slices.Chunk(list, shortenedRows) {
		err := s.usage.Run(ctx, func(ctx context.Context) error {
			for _, l := range some {
				c := &l.cell
				// An older release, which closes no hours, can have changed them meanwhile.
				_, err := s.usage.In(ctx).Exec(ctx, `
					UPDATE usage_minute SET latency = $1 WHERE workspace_id = $2 AND key_id = $3 AND minute = $4 AND route = $5
						AND method = $6 AND status = $7 AND version = $8 AND surface = $9 AND length(latency) = $10`,
					l.after, c.WorkspaceID, c.KeyID, c.Start.Unix()/60, c.Route, c.Method, c.Status, c.Version, c.Surface, l.before)
				if err != nil {
					return fmt.Errorf("shorten durations: %w", err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// packDays packs the days whose hours are packed.
func (s *Store) packDays(ctx context.Context) error {
	for {
		m, err := s.usageMarks(ctx)
		end := floorTo(m.packedHours, dayHours)
		if err != nil || m.packedDays >= end {
			return err
		}
		day := end
		err = s.usage.In(ctx).QueryRow(ctx, `SELECT hour FROM usage_packed_hour WHERE hour >= $1 AND hour < $2 ORDER BY hour LIMIT 1`, m.packedDays, end).
			Scan(&day)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("find usage to pack: %w", err)
		}
		if day = floorTo(day, dayHours); day < end {
			if err := s.packDay(ctx, day); err != nil {
				return fmt.Errorf("pack a day: %w", err)
			}
			day += dayHours
		}
		if err := s.raiseMarks(ctx, usageMarks{packedDays: day}); err != nil {
			return err
		}
	}
}

// packDay packs the packed hours of a day, which begins with a Unix hour.
func (s *Store) packDay(ctx context.Context, day int64) error {
	return s.pack(ctx, packing{
		into: addPackedDays, hour: day,
		done:     func(m usageMarks) bool { return m.packedDays > day },
		keys:     `SELECT DISTINCT workspace_id, key_id FROM usage_packed_hour WHERE hour >= $1 AND hour < $2`,
		keysArgs: []any{day, day + dayHours},
		each: func(ctx context.Context, q usage.CellQuery, fn func(c *usage.Cell) error) error {
			r := &cellReader{s: s, q: q, fn: fn}
			return r.packed(ctx, "usage_packed_hour", span{day * hourSeconds, (day + dayHours) * hourSeconds})
		},
	})
}

// packing is how the cells of an hour or a day are packed.
type packing struct {
	into     *bulk
	hour     int64                   // of the packed rows
	done     func(m usageMarks) bool // another process has completed the same
	keys     string                  // selects the workspaces and keys that have cells
	keysArgs []any
	each     func(ctx context.Context, q usage.CellQuery, fn func(c *usage.Cell) error) error
}

var (
	addPackedHours = &bulk{
		into: `usage_packed_hour (workspace_id, key_id, hour, cells)`, columns: 4,
		rest: `ON CONFLICT (workspace_id, key_id, hour) DO UPDATE SET cells = excluded.cells`,
	}
	addPackedDays = &bulk{
		into: `usage_packed_day (workspace_id, key_id, hour, cells)`, columns: 4,
		rest: `ON CONFLICT (workspace_id, key_id, hour) DO UPDATE SET cells = excluded.cells`,
	}
)

func (s *Store) pack(ctx context.Context, p packing) error {
	keys := map[string][]string{} // by workspace
	err := s.eachUsageRow(ctx, p.keys, p.keysArgs, func(row Row) error {
		var workspaceID, keyID string
		err := row.Scan(&workspaceID, &keyID)
		keys[workspaceID] = append(keys[workspaceID], keyID)
		return err
	})
	if err != nil {
		return err
	}
	var rows []packedCells
	for workspaceID, ids := range keys {
		slices.Sort(ids)
		for some := range slices.Chunk(ids, packedKeys) {
			groups := map[string]*cellGroup{}
			err := p.each(ctx, usage.CellQuery{WorkspaceID: workspaceID, KeyIDs: some, Step: time.Minute}, func(c *usage.Cell) error {
				if c.WorkspaceID != workspaceID { // the empty ID selects all workspaces
					return nil
				}
				g := groups[c.KeyID]
				if g == nil {
					g = newCellGroup()
					groups[c.KeyID] = g
				}
				g.add(c)
				return nil
			})
			if err != nil {
				return err
			}
			for _, keyID := range some {
				if g := groups[keyID]; g != nil {
					rows = append(rows, packedCells{workspaceID, keyID, packCells(g.cells)})
				}
			}
			if rows, err = s.writePacked(ctx, p, rows, false); err != nil {
				return err
			}
		}
	}
	_, err = s.writePacked(ctx, p, rows, true)
	return err
}

// packedCells is a row of packed cells.
type packedCells struct {
	workspaceID, keyID string
	cells              []byte
}

// writePacked writes rows in slices and returns those that do not fill one, unless all is set.
func (s *Store) writePacked(ctx context.Context, p packing, rows []packedCells, all bool) ([]packedCells, error) {
	for len(rows) > 0 {
		n, bytes := 0, 0
		for n < len(rows) && n < sliceRows && (n == 0 || bytes+len(rows[n].cells) <= sliceBytes) {
			bytes += len(rows[n].cells)
			n++
		}
		if n == len(rows) && n < sliceRows && !all {
			return rows, nil
		}
		err := s.usage.Run(ctx, func(ctx context.Context) error {
			// A process that lost its lock must not replace what another has completed.
			if m, err := s.usageMarks(ctx); err != nil || p.done(m) {
				return err
			}
			_, err := s.insert(ctx, s.usage, p.into, n, func(i int, values []any) []any {
				return append(values, rows[i].workspaceID, rows[i].keyID, p.hour, rows[i].cells)
			})
			return err
		})
		if err != nil {
			return nil, err
		}
		rows = rows[n:]
	}
	return nil, nil
}

// cellGroup merges the cells of one key and time.
type cellGroup struct {
	cells  []usage.Cell
	places map[cellDimensions]int
}

type cellDimensions struct {
	route, method, surface string
	status, version        int
}

func newCellGroup() *cellGroup { return &cellGroup{places: map[cellDimensions]int{}} }

func (g *cellGroup) add(c *usage.Cell) {
	d := cellDimensions{c.Route, c.Method, c.Surface, c.Status, c.Version}
	at, known := g.places[d]
	if !known {
		at = len(g.cells)
		g.places[d] = at
		g.cells = append(g.cells, usage.Cell{Route: c.Route, Method: c.Method, Surface: c.Surface, Status: c.Status, Version: c.Version})
	}
	g.cells[at].Add(c)
}

// PruneUsage implements usage.Store. It deletes what an earlier call has marked as no longer kept, so that no call of EachCell
// that has read the marks before still needs it.
func (s *Store) PruneUsage(ctx context.Context, r usage.Retention) error {
	err := s.engine.Alone(ctx, rollUpLock, func(ctx context.Context) error {
		m, err := s.usageMarks(ctx)
		if err != nil {
			return err
		}
		if err := s.dialect.PartitionUsage(ctx, s.usage, r.Now, time.Unix(m.minutesFrom*hourSeconds, 0)); err != nil {
			return err
		}
		days := r.Days.Unix() / hourSeconds
		for _, t := range []struct {
			table, key, column string
			end                int64
		}{
			{"usage_hour", `workspace_id, key_id, hour, route, method, status, version, surface`, "hour", m.packedHours},
			{"usage_minute", cellKey, "minute", m.minutesFrom * 60},
			{"usage_packed_hour", packedKey, "hour", m.hoursFrom},
			{"usage_packed_day", packedKey, "hour", days},
			{"usage_late", cellKey, "minute", days * 60},
		} {
			if err := s.deleteUsage(ctx, s.dialect.DeleteSome(t.table, t.key, t.column+" < $1", deletedRows), t.end); err != nil {
				return fmt.Errorf("prune %s: %w", t.table, err)
			}
		}
		if err := s.pruneQuotas(ctx, r.Hours); err != nil {
			return err
		}
		return s.raiseMarks(ctx, usageMarks{
			minutesFrom: min(r.Minutes.Unix()/hourSeconds, m.packedHours),
			hoursFrom:   min(floorTo(r.Hours.Unix()/hourSeconds, dayHours), m.packedDays),
		})
	})
	if err != nil {
		return fmt.Errorf("prune usage: %w", err)
	}
	return nil
}

const packedKey = `workspace_id, key_id, hour`

// deleteUsage runs a statement that deletes some rows until there are none.
func (s *Store) deleteUsage(ctx context.Context, statement string, end int64) error {
	for {
		var n int64
		err := s.usage.Run(ctx, func(ctx context.Context) (err error) {
			n, err = s.usage.In(ctx).Exec(ctx, statement, end)
			return err
		})
		if err != nil || n == 0 {
			return err
		}
	}
}

// pruneQuotas deletes the quotas of days and months before the month of a time, and the numbers of flushes before the time.
func (s *Store) pruneQuotas(ctx context.Context, before time.Time) error {
	return s.usage.Run(ctx, func(ctx context.Context) error {
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
