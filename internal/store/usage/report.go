package usage

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
)

// addReports adds IDs, and returns those that were not known or are older than usage.ReportMemory.
var addReports = &store.Bulk{
	Into:    `usage_report (id, added_at, known_until)`,
	Columns: 3,
	Rest: `ON CONFLICT (id) DO UPDATE SET added_at = excluded.added_at, known_until = excluded.known_until
		WHERE usage_report.known_until <= excluded.added_at RETURNING id`,
}

// AddReports implements usage.ReportStore. IDs are written in one order, so that no transaction waits in a circle.
func (s *Counters) AddReports(ctx context.Context, at time.Time, list []usage.Report, added func(positions []int)) error {
	order := make([]int, len(list))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(list[a].ID[:], list[b].ID[:]) })
	return s.db.Run(ctx, func(ctx context.Context) error {
		positions, err := s.addReportIDs(ctx, at, list, order)
		if err != nil {
			return err
		}
		cells := make([]usage.Cell, 0, 2*len(positions))
		for _, i := range positions {
			c := list[i].Cell
			cells = append(cells, c, usage.Cell{
				Start: list[i].ChargedAt, WorkspaceID: c.WorkspaceID, KeyID: c.KeyID, Surface: usage.Primary.String(), Charged: c.Requests,
			})
		}
		if err := s.addCells(ctx, cells); err != nil {
			return fmt.Errorf("add reported usage: %w", err)
		}
		if _, err := s.addToQuotas(ctx, chargedOf(cells), false); err != nil {
			return err
		}
		added(positions)
		return nil
	})
}

// addReportIDs adds the IDs of list in an order. It returns the positions of those that it added, in ascending order.
func (s *Counters) addReportIDs(ctx context.Context, at time.Time, list []usage.Report, order []int) (positions []int, err error) {
	positionOf := make(map[[16]byte]int, len(list))
	for i := range list {
		positionOf[list[i].ID] = i
	}
	row := func(i int, values []any) []any {
		return append(values, list[order[i]].ID[:], store.Micros(at), store.Micros(at.Add(usage.ReportMemory)))
	}
	err = s.db.EachInsert(addReports, len(list), row, func(text string, values []any) error {
		return s.db.EachRow(ctx, text, values, func(row store.Row) error {
			var id []byte
			if err := row.Scan(&id); err != nil {
				return err
			}
			positions = append(positions, positionOf[[16]byte(id)])
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("add the IDs of reported usage: %w", err)
	}
	slices.Sort(positions)
	return positions, nil
}
