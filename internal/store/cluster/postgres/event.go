package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/store/cluster"
)

// EventReader reads events. It implements cluster.Source.
type EventReader struct{ link link }

var _ cluster.Source = (*EventReader)(nil)

// NewEventReader returns an EventReader. It connects on first use.
func NewEventReader(connect Connect) *EventReader { return &EventReader{link: link{connect: connect}} }

// Close closes the connection.
func (r *EventReader) Close() { r.link.close() }

// From implements cluster.Source. One statement reads the head and the events, so both are as of one moment.
func (r *EventReader) From(ctx context.Context, number int64, limit int) (batch *cluster.Batch, err error) {
	err = r.link.do(ctx, func(conn *pgx.Conn) error {
		batch = &cluster.Batch{}
		rows, err := conn.Query(ctx, `
			SELECT coalesce((SELECT number FROM cluster_head WHERE name = 'news'), 0), n.number, n.kind, n.subject, n.at
			FROM (SELECT 1) AS one
			LEFT JOIN (SELECT * FROM news WHERE number >= $1 ORDER BY number LIMIT $2) AS n ON TRUE
			ORDER BY n.number`, number, limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var at, n *int64
			var kind, subject *string
			if err := rows.Scan(&batch.Head, &n, &kind, &subject, &at); err != nil {
				return err
			}
			if n != nil {
				batch.Events = append(batch.Events, cluster.Event{
					Number: *n, Kind: cluster.Kind(*kind), Subject: *subject, At: time.UnixMicro(*at).UTC(),
				})
			}
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return batch, nil
}

// Prune implements cluster.Source.
func (r *EventReader) Prune(ctx context.Context, keep time.Duration) error {
	return r.link.do(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `
			DELETE FROM news WHERE number <= (
				SELECT max(number) FROM news WHERE at < (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT - $1)`,
			keep.Microseconds())
		if err != nil {
			return fmt.Errorf("delete old events: %w", err)
		}
		return nil
	})
}
