package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/store/cluster"
)

// Table is the table of members. It implements cluster.Table.
type Table struct{ link link }

var _ cluster.Table = (*Table)(nil)

// NewTable returns a Table. It connects on first use.
func NewTable(connect Connect) *Table {
	// If a crash of the server loses a heartbeat, the next one replaces it.
	return &Table{link: link{connect: connect, setup: "SET synchronous_commit = off"}}
}

// Close closes the connection.
func (t *Table) Close() { t.link.close() }

// clock is the database's time in microseconds. Unlike now(), it advances within a transaction.
const clock = `(extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT`

// Join implements cluster.Table. The head stays locked until the commit, so a reader of an epoch sees all joins up to it. A
// new member holds nothing in memory yet, so it counts as having applied all events.
func (t *Table) Join(ctx context.Context, m *cluster.Member, replace bool) (epoch int64, err error) {
	err = t.link.do(ctx, func(conn *pgx.Conn) error {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, `
				INSERT INTO cluster_head (name, number) VALUES ('member', 1)
				ON CONFLICT (name) DO UPDATE SET number = cluster_head.number + 1 RETURNING number`).Scan(&epoch)
			if err != nil {
				return err
			}
			if replace {
				_, err := tx.Exec(ctx, `
					UPDATE member SET left_at = `+clock+` WHERE name = $1 AND id <> $2 AND left_at IS NULL`, m.Name, m.ID)
				if err != nil {
					return err
				}
			}
			_, err = tx.Exec(ctx, `
				INSERT INTO member (id, name, host, release, split, started_at, seen_at, joined_epoch, seen_epoch, heard)
				VALUES ($1, $2, $3, $4, $5, `+clock+`, `+clock+`, $6, $6, coalesce((SELECT number FROM cluster_head WHERE name = 'news'), 0))
				ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, left_at = NULL,
					joined_epoch = excluded.joined_epoch, seen_epoch = excluded.seen_epoch, heard = excluded.heard`,
				m.ID, m.Name, m.Host, m.Release, m.WithoutRedis, epoch)
			return err
		})
	})
	return epoch, err
}

// Heartbeat implements cluster.Table in one statement, so the epoch and the members are as of one moment.
func (t *Table) Heartbeat(ctx context.Context, id string, seen int64, withoutRedis bool) (m *cluster.Membership, err error) {
	err = t.link.do(ctx, func(conn *pgx.Conn) error {
		m, err = readMembership(ctx, conn, `
			WITH moment AS MATERIALIZED (SELECT `+clock+` AS now),
			beat AS (UPDATE member SET seen_at = moment.now, seen_epoch = $2, split = $3 FROM moment
				WHERE id = $1 AND left_at IS NULL RETURNING 1)
			SELECT moment.now, EXISTS (SELECT 1 FROM beat),`+membershipColumns, id, seen, withoutRedis)
		return err
	})
	return m, err
}

// ReadMembership reads the table once, for a process that is not a member.
func ReadMembership(ctx context.Context, connect Connect) (*cluster.Membership, error) {
	conn, err := connect(ctx)
	if err != nil {
		return nil, readable(err)
	}
	defer closeQuickly(conn)
	m, err := readMembership(ctx, conn, `
		WITH moment AS MATERIALIZED (SELECT `+clock+` AS now) SELECT moment.now, FALSE,`+membershipColumns)
	if err != nil {
		return nil, readable(err)
	}
	return m, nil
}

const membershipColumns = ` coalesce((SELECT number FROM cluster_head WHERE name = 'member'), 0),
	m.id, m.name, m.host, m.release, m.split, m.started_at, m.seen_at, m.left_at, m.joined_epoch, m.seen_epoch
	FROM moment LEFT JOIN member m ON TRUE ORDER BY m.name, m.id`

func readMembership(ctx context.Context, conn *pgx.Conn, query string, args ...any) (*cluster.Membership, error) {
	rows, err := conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	membership := &cluster.Membership{}
	for rows.Next() {
		var now int64
		var id, name, host, release *string
		var withoutRedis *bool
		var started, seen, left, joined, seenEpoch *int64
		err := rows.Scan(&now, &membership.Listed, &membership.Epoch, &id, &name, &host, &release, &withoutRedis, &started, &seen, &left, &joined, &seenEpoch)
		if err != nil {
			return nil, err
		}
		membership.At = moment(now)
		if id == nil {
			continue // the table is empty
		}
		m := cluster.Member{
			ID: *id, Name: *name, Host: *host, Release: *release, WithoutRedis: *withoutRedis,
			StartedAt: moment(*started), SeenAt: moment(*seen), JoinedEpoch: *joined, SeenEpoch: *seenEpoch,
		}
		if left != nil {
			at := moment(*left)
			m.LeftAt = &at
		}
		membership.Members = append(membership.Members, m)
	}
	return membership, rows.Err()
}

func moment(us int64) time.Time { return time.UnixMicro(us).UTC() }

// Confirm implements cluster.Table.
func (t *Table) Confirm(ctx context.Context, id string, number int64) error {
	return t.link.do(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `UPDATE member SET heard = $2 WHERE id = $1 AND heard < $2`, id, number)
		return err
	})
}

// Unconfirmed implements cluster.Table.
func (t *Table) Unconfirmed(ctx context.Context, number int64, except string) (list []cluster.Straggler, err error) {
	err = t.link.do(ctx, func(conn *pgx.Conn) error {
		rows, err := conn.Query(ctx, `
			SELECT id, `+clock+` - seen_at >= $3 FROM member WHERE heard < $1 AND id <> $2 AND left_at IS NULL`,
			number, except, cluster.AnswerWithin.Microseconds())
		if err != nil {
			return err
		}
		list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (s cluster.Straggler, err error) {
			return s, row.Scan(&s.ID, &s.Silent)
		})
		return err
	})
	return list, err
}

// Expel implements cluster.Table.
func (t *Table) Expel(ctx context.Context, ids []string) error {
	return t.link.do(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `UPDATE member SET left_at = `+clock+` WHERE id = ANY($1) AND left_at IS NULL`, ids)
		return err
	})
}

// Leave implements cluster.Table.
func (t *Table) Leave(ctx context.Context, id string) error {
	return t.link.do(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `UPDATE member SET left_at = `+clock+` WHERE id = $1 AND left_at IS NULL`, id)
		return err
	})
}

// Forget implements cluster.Table.
func (t *Table) Forget(ctx context.Context, gone []cluster.Member) error {
	return t.link.do(ctx, func(conn *pgx.Conn) error {
		for _, m := range gone {
			if _, err := conn.Exec(ctx, `DELETE FROM member WHERE id = $1 AND seen_at = $2`, m.ID, m.SeenAt.UnixMicro()); err != nil {
				return err
			}
		}
		return nil
	})
}
