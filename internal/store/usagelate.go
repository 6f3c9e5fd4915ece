package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"keepsake/internal/usage"
)

// lateRow is the key of a row of usage_packed_late.
type lateRow struct {
	workspaceID, keyID string
	minute, part       int64
}

// lateRows returns the first rows of late cells whose hour is packed.
func (s *Store) lateRows(ctx context.Context, m usageMarks, limit int) (list []lateRow, err error) {
	err = s.eachUsageRow(ctx, `
		SELECT workspace_id, key_id, minute, part FROM usage_packed_late WHERE minute < $1
		ORDER BY minute, workspace_id, key_id, part LIMIT $2`, []any{m.packedHours * 60, limit}, func(row Row) error {
		var r lateRow
		err := row.Scan(&r.workspaceID, &r.keyID, &r.minute, &r.part)
		list = append(list, r)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("find late usage: %w", err)
	}
	slices.SortFunc(list, func(a, b lateRow) int { // in the order of flushes, which lock the same rows
		return cmp.Or(cmp.Compare(a.workspaceID, b.workspaceID), cmp.Compare(a.keyID, b.keyID), cmp.Compare(a.minute, b.minute), cmp.Compare(a.part, b.part))
	})
	return list, nil
}

// mergeLate moves late cells to the rows of their minute, hour and day.
func (s *Store) mergeLate(ctx context.Context) error {
	for {
		m, err := s.usageMarks(ctx)
		if err != nil {
			return err
		}
		list, err := s.lateRows(ctx, m, mergedRows)
		if err != nil || len(list) == 0 {
			return err
		}
		if err := s.usage.Run(ctx, func(ctx context.Context) error { return s.mergeRows(ctx, list) }); err != nil {
			return fmt.Errorf("merge late usage: %w", err)
		}
	}
}

func (s *Store) mergeRows(ctx context.Context, list []lateRow) error {
	m, err := s.holdMarks(ctx)
	if err != nil {
		return err
	}
	minutes := newLateCells(s, "usage_packed_minute", "part = 0 AND minute")
	hours, days := newLateCells(s, "usage_packed_hour", "hour"), newLateCells(s, "usage_packed_day", "hour")
	for _, r := range list {
		var cells []byte
		err := s.usage.In(ctx).QueryRow(ctx, `
			DELETE FROM usage_packed_late WHERE workspace_id = $1 AND key_id = $2 AND minute = $3 AND part = $4 RETURNING cells`,
			r.workspaceID, r.keyID, r.minute, r.part).Scan(&cells)
		if errors.Is(err, sql.ErrNoRows) {
			continue // by another process
		}
		if err != nil {
			return err
		}
		hour := r.minute / 60
		for _, to := range []struct {
			*lateCells
			at      int64
			applies bool
		}{
			{minutes, r.minute, hour >= m.minutesFrom},
			{hours, hour, hour >= m.hoursFrom},
			{days, floorTo(hour, dayHours), hour < m.packedDays},
		} {
			if !to.applies {
				continue
			}
			if err := to.add(ctx, packedCells{r.workspaceID, r.keyID, to.at, cells}); err != nil {
				return err
			}
		}
	}
	if err := s.insertCells(ctx, replaceMinutes, minutes.rows(), 0); err != nil {
		return err
	}
	if err := s.insertPacked(ctx, replaceHours, hours.rows()); err != nil {
		return err
	}
	return s.insertPacked(ctx, replaceDays, days.rows())
}

// lateCells merges late cells with the rows of a table.
type lateCells struct {
	s        *Store
	query    string
	order    []packedCells // without cells
	groups   map[lateRow]*cellGroup
	unpacker cellUnpacker
	cell     usage.Cell
}

func newLateCells(s *Store, table, column string) *lateCells {
	return &lateCells{
		s: s, query: `SELECT cells FROM ` + table + ` WHERE workspace_id = $1 AND key_id = $2 AND ` + column + ` = $3`,
		groups: map[lateRow]*cellGroup{},
	}
}

// add adds the cells of r to its row.
func (l *lateCells) add(ctx context.Context, r packedCells) error {
	key := lateRow{workspaceID: r.workspaceID, keyID: r.keyID, minute: r.at}
	g := l.groups[key]
	if g == nil {
		g = newCellGroup()
		l.groups[key] = g
		l.order = append(l.order, packedCells{workspaceID: r.workspaceID, keyID: r.keyID, at: r.at})
		var cells []byte
		err := l.s.usage.In(ctx).QueryRow(ctx, l.query, r.workspaceID, r.keyID, r.at).Scan(&cells)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if len(cells) > 0 {
			if err := l.unpacker.each(cells, &l.cell, g.add); err != nil {
				return err
			}
		}
	}
	return l.unpacker.each(r.cells, &l.cell, g.add)
}

// rows returns the merged rows.
func (l *lateCells) rows() []packedCells {
	for i, r := range l.order {
		l.order[i].cells = l.groups[lateRow{workspaceID: r.workspaceID, keyID: r.keyID, minute: r.at}].pack()
	}
	return l.order
}
