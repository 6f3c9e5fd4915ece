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

// A roll-up shares its writer with the flush. So it reads and encodes outside of transactions, and each of its transactions
// writes little, for some milliseconds.
const (
	sliceRows   = 8        // packed rows in one transaction
	sliceBytes  = 32 << 10 // bytes of packed rows in one transaction
	deletedRows = 250      // rows that one transaction deletes
	sliceParts  = 32       // rows that the packed rows in one transaction replace
	packedKeys  = 50       // keys whose cells are in memory at once
	mergedRows  = 8        // late rows that one transaction merges
)

// rollUpLock is the name of the lock that roll-ups and clean-ups of several processes take.
const rollUpLock = "usage roll-up"

// RollUpUsage implements usage.Store.
func (s *Store) RollUpUsage(ctx context.Context, before time.Time) error {
	end := before.Unix() / hourSeconds
	m, err := s.usageMarks(ctx)
	if err != nil {
		return err
	}
	if m.packedHours >= end && m.packedDays >= floorTo(end, dayHours) {
		if late, err := s.lateRows(ctx, m, 1); err != nil || len(late) == 0 {
			return err
		}
	}
	err = s.engine.Alone(ctx, rollUpLock, func(ctx context.Context) error {
		if err := s.closeHours(ctx, end); err != nil {
			return err
		}
		if err := s.packHours(ctx); err != nil {
			return err
		}
		if err := s.packDays(ctx); err != nil {
			return err
		}
		return s.mergeLate(ctx)
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
		{`SELECT minute FROM usage_packed_minute WHERE minute >= $1 AND minute < $2 ORDER BY minute LIMIT 1`, 60},
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
	for minute := hour * 60; minute < (hour+1)*60; minute++ {
		if err := s.compactMinute(ctx, minute); err != nil {
			return fmt.Errorf("compact a minute: %w", err)
		}
	}
	return s.pack(ctx, packing{
		into: replaceHours, hour: hour,
		done: func(m usageMarks) bool { return m.packedHours > hour },
		keys: `SELECT DISTINCT workspace_id, key_id FROM usage_packed_minute WHERE minute >= $1 AND minute < $2
			UNION SELECT workspace_id, key_id FROM usage_minute WHERE minute >= $1 AND minute < $2
			UNION SELECT workspace_id, key_id FROM usage_hour WHERE hour = $3`,
		keysArgs: []any{hour * 60, (hour + 1) * 60, hour},
		each: func(ctx context.Context, q usage.CellQuery, fn func(c *usage.Cell) error) error {
			r := &cellReader{s: s, q: q, fn: fn}
			in := span{hour * hourSeconds, (hour + 1) * hourSeconds}
			if err := r.oldHours(ctx, in); err != nil {
				return err
			}
			if err := r.oldRows(ctx, "usage_minute", in); err != nil {
				return err
			}
			return r.packed(ctx, minutesIn("usage_packed_minute", in))
		},
	})
}

// parts is the rows of a key in a minute.
type parts struct {
	group *cellGroup
	rows  int
	bytes int
}

// compactMinute merges the parts of a minute of a closed hour: those of each key become one row.
func (s *Store) compactMinute(ctx context.Context, minute int64) error {
	var u cellUnpacker
	var cell usage.Cell
	type owner struct{ workspaceID, keyID string }
	found := map[owner]*parts{}
	err := eachPacked(ctx, s.usage.In(ctx), `SELECT workspace_id, key_id, part, cells FROM usage_packed_minute WHERE minute = $1`, []any{minute},
		func(row *packedCells) error {
			of := owner{row.workspaceID, row.keyID}
			p := found[of]
			if p == nil {
				p = &parts{group: newCellGroup()}
				found[of] = p
			}
			p.rows, p.bytes = p.rows+1, p.bytes+len(row.cells)
			return u.each(row.cells, &cell, p.group.add)
		})
	if err != nil {
		return err
	}
	var list []compacted
	for of, p := range found {
		if cells := p.group.pack(); p.rows > 1 || p.bytes > len(cells) {
			list = append(list, compacted{packedCells{of.workspaceID, of.keyID, minute, cells}, p.rows})
		}
	}
	slices.SortFunc(list, func(a, b compacted) int {
		return cmp.Or(cmp.Compare(a.workspaceID, b.workspaceID), cmp.Compare(a.keyID, b.keyID))
	})
	return s.writeCompacted(ctx, list)
}

// compacted is a row that replaces some rows.
type compacted struct {
	packedCells
	replaces int
}

var removeParts = `DELETE FROM usage_packed_minute WHERE minute = $1 AND part <> 0 AND workspace_id = $2 AND key_id IN (` + Parameters(3, sliceRows) + `)`

// writeCompacted replaces the rows of a minute in slices, each of one workspace.
func (s *Store) writeCompacted(ctx context.Context, list []compacted) error {
	for len(list) > 0 {
		n, bytes, replaced := 0, 0, 0
		var rows []packedCells
		var keys []string
		for n < len(list) && n < sliceRows && list[n].workspaceID == list[0].workspaceID &&
			(n == 0 || bytes+len(list[n].cells) <= sliceBytes && replaced+list[n].replaces <= sliceParts) {
			bytes, replaced = bytes+len(list[n].cells), replaced+list[n].replaces
			rows, keys = append(rows, list[n].packedCells), append(keys, list[n].keyID)
			n++
		}
		list = list[n:]
		err := s.usage.Run(ctx, func(ctx context.Context) error {
			// A process that lost its lock must not replace what another has packed since.
			if m, err := s.holdMarks(ctx); err != nil || m.packedHours > rows[0].at/60 {
				return err
			}
			if _, err := s.usage.In(ctx).Exec(ctx, removeParts, PaddedTo([]any{rows[0].at, rows[0].workspaceID}, keys, sliceRows)...); err != nil {
				return err
			}
			return s.insertCells(ctx, replaceMinutes, rows, 0)
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
		into: replaceDays, hour: day,
		done:     func(m usageMarks) bool { return m.packedDays > day },
		keys:     `SELECT DISTINCT workspace_id, key_id FROM usage_packed_hour WHERE hour >= $1 AND hour < $2`,
		keysArgs: []any{day, day + dayHours},
		each: func(ctx context.Context, q usage.CellQuery, fn func(c *usage.Cell) error) error {
			r := &cellReader{s: s, q: q, fn: fn}
			return r.packed(ctx, hoursIn("usage_packed_hour", span{day * hourSeconds, (day + dayHours) * hourSeconds}))
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

// The statements replace a row that exists.
var (
	replaceMinutes = &bulk{
		into: `usage_packed_minute (workspace_id, key_id, minute, part, cells)`, columns: 5, updates: true,
		rest: `ON CONFLICT (workspace_id, key_id, minute, part) DO UPDATE SET cells = excluded.cells`,
	}
	replaceHours = &bulk{
		into: `usage_packed_hour (workspace_id, key_id, hour, cells)`, columns: 4, updates: true,
		rest: `ON CONFLICT (workspace_id, key_id, hour) DO UPDATE SET cells = excluded.cells`,
	}
	replaceDays = &bulk{
		into: `usage_packed_day (workspace_id, key_id, hour, cells)`, columns: 4, updates: true,
		rest: `ON CONFLICT (workspace_id, key_id, hour) DO UPDATE SET cells = excluded.cells`,
	}
)

func (s *Store) insertPacked(ctx context.Context, to *bulk, rows []packedCells) error {
	_, err := s.insert(ctx, s.usage, to, len(rows), func(i int, values []any) []any {
		return append(values, rows[i].workspaceID, rows[i].keyID, rows[i].at, rows[i].cells)
	})
	return err
}

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
				return g.add(c)
			})
			if err != nil {
				return err
			}
			for _, keyID := range some {
				if g := groups[keyID]; g != nil {
					rows = append(rows, packedCells{workspaceID, keyID, p.hour, g.pack()})
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
			if m, err := s.holdMarks(ctx); err != nil || p.done(m) {
				return err
			}
			return s.insertPacked(ctx, p.into, rows[:n])
		})
		if err != nil {
			return nil, err
		}
		rows = rows[n:]
	}
	return nil, nil
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
			{"usage_packed_minute", minuteKey, "minute", m.minutesFrom * 60},
			{"usage_minute", oldMinuteKey, "minute", m.minutesFrom * 60},
			{"usage_packed_hour", packedKey, "hour", m.hoursFrom},
			{"usage_packed_day", packedKey, "hour", days},
			{"usage_packed_late", minuteKey, "minute", days * 60},
			{"usage_late", oldMinuteKey, "minute", days * 60},
		} {
			if err := s.deleteUsage(ctx, s.dialect.DeleteSome(t.table, t.key, t.column+" < $1", deletedRows), t.end); err != nil {
				return fmt.Errorf("prune %s: %w", t.table, err)
			}
		}
		if err := s.deleteUsage(ctx, s.dialect.DeleteSome("usage_report", "id", "known_until <= $1", deletedRows), micros(r.Now)); err != nil {
			return fmt.Errorf("prune usage_report: %w", err)
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

const (
	packedKey    = `workspace_id, key_id, hour`
	minuteKey    = `workspace_id, key_id, minute, part`
	oldMinuteKey = `workspace_id, key_id, minute, route, method, status, version, surface`
)

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
