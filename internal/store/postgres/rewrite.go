package postgres

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"keepsake/internal/base/problem"
	"keepsake/internal/store"
)

var _ store.Rewriter = (*database)(nil)

const (
	// rewriteWait is how long a rewrite waits for a table. Other statements on the table wait behind it.
	rewriteWait = 2 * time.Second

	// A rewrite that had to keep deleted rows is repeated this often. The server assumes that each session that is just
	// starting, in any database, can still read them, and a session takes a few milliseconds to start.
	rewriteTries = 20
	rewritePause = 50 * time.Millisecond
)

// Rewrite implements store.Rewriter. VACUUM alone leaves the bytes of deleted rows in their pages. VACUUM FULL writes
// the table to a new file and removes the old one. It keeps rows that an older transaction, such as a backup, can still
// see. The write-ahead log, standbys, archives and backups are not rewritten.
func (d *database) Rewrite(ctx context.Context, table string) (left int64, err error) {
	config := d.place.connConfig(d.part, d.opt.Connect, map[string]string{
		"lock_timeout": strconv.FormatInt(rewriteWait.Milliseconds(), 10),
	})
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) { left += unremoved(n) }
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return 0, unrewritten(table, err)
	}
	defer closeConn(conn)
	if err := d.admit(ctx, conn); err != nil {
		return 0, unrewritten(table, err)
	}
	for range rewriteTries {
		left = 0
		if _, err := conn.Exec(ctx, "VACUUM (FULL, VERBOSE) "+pgx.Identifier{table}.Sanitize()); err != nil {
			return 0, unrewritten(table, err)
		}
		if left == 0 {
			break
		}
		select {
		case <-time.After(rewritePause):
		case <-ctx.Done():
			return left, unrewritten(table, ctx.Err())
		}
	}
	return left, nil
}

func unrewritten(table string, err error) error {
	return problem.NotAvailable("Deleted data cannot be erased from the database files right now; try again.", 2*time.Second).
		Because(fmt.Errorf("rewrite table %s: %w", table, err))
}

var firstNumber = regexp.MustCompile(`[0-9]+`)

// unremoved is how many deleted rows a table kept. The detail of VERBOSE's message begins with that number, in every
// language of the server: "3 dead row versions cannot be removed yet."
func unremoved(n *pgconn.Notice) int64 {
	if n.SeverityUnlocalized != "INFO" {
		return 0
	}
	rows, _ := strconv.ParseInt(firstNumber.FindString(n.Detail), 10, 64)
	return rows
}
