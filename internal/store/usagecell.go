package store

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/usage"
)

// EachCell implements usage.Store.
func (s *Store) EachCell(ctx context.Context, q usage.CellQuery, fn func(c *usage.Cell) error) error {
	if q.Step <= 0 {
		return fmt.Errorf("read usage: a step of %v is too short", q.Step)
	}
	for _, t := range []struct {
		table, column string
		size          time.Duration
	}{{"usage_minute", "minute", time.Minute}, {"usage_hour", "hour", time.Hour}} {
		seconds := int64(t.size / time.Second)
		w := &conditions{}
		if q.WorkspaceID != "" {
			w.where("workspace_id = ?", q.WorkspaceID)
		}
		w.where(t.column+" >= ? AND "+t.column+" < ?", ceilDiv(q.From.Unix(), seconds), ceilDiv(q.To.Unix(), seconds))
		where := w.String()
		if len(q.KeyIDs) > 0 {
			where += " AND key_id IN (" + w.list(q.KeyIDs) + ")"
		}
		var c usage.Cell
		err := s.eachUsageRow(ctx, `SELECT workspace_id, key_id, `+t.column+`, route, method, status, version, surface,
			requests, charged, bytes_in, bytes_out FROM `+t.table+` WHERE `+where, w.args, func(row Row) error {
			if err := scanCell(row, t.size, &c); err != nil {
				return err
			}
			c.Start = c.Start.Truncate(q.Step)
			return fn(&c)
		})
		if err != nil {
			return fmt.Errorf("read usage: %w", err)
		}
	}
	return nil
}

// scanCell reads a row of a table whose cells have a size.
func scanCell(row Row, size time.Duration, c *usage.Cell) error {
	var at int64
	err := row.Scan(&c.WorkspaceID, &c.KeyID, &at, &c.Route, &c.Method, &c.Status, &c.Version, &c.Surface,
		&c.Requests, &c.Charged, &c.BytesIn, &c.BytesOut)
	c.Start = time.Unix(at*int64(size/time.Second), 0).UTC()
	return err
}
