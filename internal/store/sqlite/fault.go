package sqlite

import (
	"errors"
	"fmt"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"keepsake/internal/base/problem"
)

// fault is a failure of the engine or of what lies below it, not of a statement.
type fault struct {
	cause error
	// final means that the kernel has reported lost pages, which it does only once. A second try would succeed although the data
	// is lost; only a restart reads what is on the disk.
	final bool
}

// faultOf recognizes a fault by SQLite's result code. It returns nil if the statement itself failed.
func faultOf(err error) *fault {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return nil
	}
	switch e.Code() {
	case sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC:
		return &fault{cause: err, final: true}
	}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL:
		return &fault{cause: err}
	}
	return nil
}

// problem is the error for clients. The cause goes to the log.
func (f *fault) problem() *problem.Problem {
	return problem.NotAvailable("The database is not accepting writes. Nothing was saved; try again later.", f.retryAfter()).Because(f.cause)
}

func (f *fault) retryAfter() time.Duration {
	if f.final {
		return time.Minute
	}
	return 2 * time.Second
}

// commitError is a fault of a commit, and not of a statement before it.
type commitError struct{ err error }

func (e *commitError) Error() string { return "commit: " + e.err.Error() }
func (e *commitError) Unwrap() error { return e.err }

// unknownAfter reports whether rows can be stored although err says that they are not. A commit writes its pages to the log
// and then calls fsync: if either fails, a restart can find the whole transaction in the log. If the disk is full or the file is
// locked, SQLite knows that the transaction is incomplete.
func (f *fault) unknownAfter(err error) bool {
	var commit *commitError
	var e *sqlite.Error
	return errors.As(err, &commit) && errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_IOERR && !full(e)
}

// undecided is the error for clients whose commit failed in a way that leaves the outcome unknown.
func (f *fault) undecided() *problem.Problem {
	return problem.NotAvailable("The disk failed during the commit, so the outcome is unknown. Retry with the same Idempotency-Key to find out.",
		f.retryAfter()).Because(f.cause)
}

// String describes the fault to the operator.
func (f *fault) String() string {
	var e *sqlite.Error
	switch {
	case f.final:
		return "fsync failed, so written data can be lost; check the disk, then restart"
	case errors.As(f.cause, &e) && full(e):
		return "the disk is full"
	case errors.As(f.cause, &e) && e.Code()&0xff == sqlite3.SQLITE_BUSY:
		return "another program holds the database's lock"
	default:
		return "the disk cannot be written"
	}
}

// readable turns a fault of a read into a 503, and keeps other errors.
func readable(err error) error {
	if err == nil {
		return nil
	}
	if f := faultOf(err); f != nil {
		return problem.NotAvailable("The database cannot be read right now; try again.", 2*time.Second).Because(err)
	}
	return err
}

// opening describes in one line why a file could not be opened or upgraded.
func opening(path string, err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		if full(e) {
			return fmt.Errorf("%s cannot be written: the disk is full (%w)", path, err)
		}
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return fmt.Errorf("%s is damaged: restore it from a backup (%w)", path, err)
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
			return fmt.Errorf("%s cannot be written: check the folder's permissions (%w)", path, err)
		case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
			return fmt.Errorf("%s is locked by another program (%w)", path, err)
		}
	}
	return fmt.Errorf("open %s: %w", path, err)
}

// full reports whether there is no space for the file, or for the index next to a write-ahead log.
func full(e *sqlite.Error) bool {
	return e.Code()&0xff == sqlite3.SQLITE_FULL || e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE
}
