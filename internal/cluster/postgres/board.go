package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/cluster"
)

// Board reads the news. It implements cluster.Source.
type Board struct{ link link }

var _ cluster.Source = (*Board)(nil)

// NewBoard makes a Board. It connects when it is first asked.
func NewBoard(connect Connect) *Board { return &Board{link: link{connect: connect}} }

// Close closes the connection.
func (b *Board) Close() { b.link.close() }

// From implements cluster.Source. One statement sees one moment, so whatever the head counts that is not too old is there.
func (b *Board) From(ctx context.Context, number int64, limit int) (page *cluster.Page, err error) {
	err = b.link.do(ctx, func(conn *pgx.Conn) error {
		page = &cluster.Page{}
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
			if err := rows.Scan(&page.Head, &n, &kind, &subject, &at); err != nil {
				return err
			}
			if n != nil {
				page.News = append(page.News, cluster.News{
					Number: *n, Kind: cluster.Kind(*kind), Subject: *subject, At: time.UnixMicro(*at).UTC(),
				})
			}
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

// Prune implements cluster.Source.
func (b *Board) Prune(ctx context.Context, keep time.Duration) error {
	return b.link.do(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `
			DELETE FROM news WHERE number <= (
				SELECT max(number) FROM news WHERE at < (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT - $1)`,
			keep.Microseconds())
		if err != nil {
			return fmt.Errorf("delete old news: %w", err)
		}
		return nil
	})
}
