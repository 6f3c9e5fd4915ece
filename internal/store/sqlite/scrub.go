package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"keepsake/internal/base/coalesce"
	"keepsake/internal/base/problem"
	"keepsake/internal/store"
)

var _ store.Scrubbed = (*database)(nil)

// scrubWait is how long one try to truncate the write-ahead log waits for readers.
const scrubWait = 500 * time.Millisecond

// Scrub implements store.Scrubbed. A file with secure_delete contains nothing that was deleted, but the write-ahead log still
// has the earlier pages. So it is copied into the file and truncated.
//
// Calls share a truncation that began after them: SQLite refuses a second one at the same time without waiting.
func (d *database) Scrub(ctx context.Context) error { return d.scrubs.Do(ctx, d.file, struct{}{}) }

// newScrubs returns the batcher of Scrub.
func (d *database) newScrubs() *coalesce.Batcher[struct{}] {
	return coalesce.New(coalesce.Options[struct{}]{
		Abandon: true, // the truncation goes on, and the request is answered in its time
		Run:     func(context.Context, string, []struct{}) error { return d.scrub() },
	})
}

// scrub truncates the log. That waits for readers and blocks writers meanwhile. Writers wait for 5 s, so all tries together take
// less.
func (d *database) scrub() (err error) {
	d.scrubbing.Lock()
	defer d.scrubbing.Unlock()
	ctx := d.open
	db, err := sql.Open("sqlite", dsn(d.path, true))
	if err != nil {
		return unscrubbed(err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout(%d)", d.scrubWait.Milliseconds())); err != nil {
		return unscrubbed(err)
	}
	const tries = 5
	for try := 1; ; try++ {
		var busy, pages, folded int
		err := db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &folded)
		switch {
		case err == nil && busy == 0:
			return nil
		case err != nil && !isBusy(err), try == tries:
			return unscrubbed(err)
		}
		select { // let waiting writers go first
		case <-time.After(d.scrubWait / 2):
		case <-ctx.Done():
			return errClosed
		}
	}
}

func unscrubbed(err error) error {
	if err == nil {
		err = errors.New("a reader takes too long")
	}
	return problem.NotAvailable("Deleted data cannot be erased from the disk right now. The service tries again.", 2*time.Second).
		Because(fmt.Errorf("truncate the write-ahead log: %w", err))
}

func isBusy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}
