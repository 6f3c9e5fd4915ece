package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"keepsake/internal/base/coalesce"
	"keepsake/internal/store"
)

// database is one open file: its writer and its readers.
type database struct {
	file    string // name in the folder
	path    string
	writers *sql.DB
	readers readers
	session *session
	writer  *writer

	scrubWait time.Duration // the constant, except in tests
	scrubs    *coalesce.Batcher[struct{}]
	scrubbing sync.Mutex      // held while the log is truncated
	open      context.Context // ends when the database is closed
	shut      context.CancelFunc
}

// unitKey is the context key of the transaction of one database.
type unitKey struct{ d *database }

// Run implements unit.Runner.
func (d *database) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	if _, ok := ctx.Value(unitKey{d}).(*transaction); ok {
		return fn(ctx)
	}
	return d.writer.run(ctx, d.begin, fn)
}

func (d *database) begin(ctx context.Context, t *transaction) context.Context {
	return context.WithValue(ctx, unitKey{d}, t)
}

// In implements store.Database.
func (d *database) In(ctx context.Context) store.Querier {
	if t, ok := ctx.Value(unitKey{d}).(*transaction); ok {
		return t
	}
	return &d.readers
}

// Once implements store.Database.
func (d *database) Once(ctx context.Context, query string, args ...any) (n int64, err error) {
	err = d.Run(ctx, func(ctx context.Context) (err error) {
		n, err = d.In(ctx).Exec(ctx, query, args...)
		return err
	})
	return n, err
}

// Hold implements store.Database. It does nothing, because transactions run one after another.
func (d *database) Hold(context.Context, string, ...any) error { return nil }

// HoldRow implements store.Database.
func (d *database) HoldRow(ctx context.Context, query string, args ...any) store.Row {
	return d.In(ctx).QueryRow(ctx, query, args...)
}

// openDatabase opens path, creates it if it is missing, and upgrades its schema. It does not start the writer.
func openDatabase(ctx context.Context, path, file string, secureDelete bool, memory int64) (*database, error) {
	if err := checkHeader(path); err != nil {
		return nil, err
	}
	if err := makePrivate(path); err != nil {
		return nil, err
	}
	d := &database{file: file, path: path, scrubWait: scrubWait}
	d.open, d.shut = context.WithCancel(context.Background())
	d.scrubs = d.newScrubs()
	var err error
	name := dsn(path, secureDelete) + "&_pragma=cache_size(-" + strconv.FormatInt(cacheKiB(memory), 10) + ")"
	if d.writers, err = sql.Open("sqlite", name); err != nil {
		return nil, opening(path, err)
	}
	d.writers.SetMaxOpenConns(1)
	if d.readers.db, err = sql.Open("sqlite", name+"&_pragma=query_only(1)"); err != nil {
		d.writers.Close()
		return nil, opening(path, err)
	}
	// Readers do not wait for each other, so more of them would only wait for a core.
	n := max(4, 2*runtime.GOMAXPROCS(0))
	d.readers.db.SetMaxOpenConns(n)
	d.readers.db.SetMaxIdleConns(n)
	d.emptyLog(ctx)
	if err := migrate(ctx, d.writers, file); err != nil {
		d.close()
		return nil, opening(path, err)
	}
	conn, err := d.writers.Conn(ctx)
	if err != nil {
		d.close()
		return nil, opening(path, err)
	}
	d.session = newSession(conn)
	return d, nil
}

// emptyLog copies the write-ahead log that a killed process left into the file, because it can contain what that process had
// deleted. If it cannot, for example because the disk is full, the log is used as it is, and the writer tries again.
func (d *database) emptyLog(ctx context.Context) {
	if info, err := os.Stat(d.path + "-wal"); err == nil && info.Size() > 0 {
		_, _ = d.writers.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
}

// cacheKiB is the size of the page cache of each of some 15 connections, if the process can use that much memory. Go's collector
// does not count it.
func cacheKiB(memory int64) int64 {
	const largest, smallest = 8_000, 512
	if memory == 0 {
		return largest
	}
	return max(smallest, min(largest, memory/256>>10))
}

// makePrivate creates a missing file with mode 0600, which SQLite also gives to the files next to it.
func makePrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", path, err)
	}
	return f.Close()
}

// close closes the readers first: the last connection copies the write-ahead log into the file and removes it.
func (d *database) close() error {
	d.shut()
	d.scrubbing.Lock() // a truncation whose callers have left ends before its file
	defer d.scrubbing.Unlock()
	if d.writer != nil {
		d.writer.close()
	}
	return errors.Join(d.readers.db.Close(), d.closeSession(), d.writers.Close())
}

func (d *database) closeSession() error {
	if d.session == nil {
		return nil
	}
	return d.session.close()
}

// dsn names path for the driver. FULL makes a commit return only after its fdatasync.
func dsn(path string, secureDelete bool) string {
	q := url.Values{"_txlock": {"immediate"}, "_pragma": {
		"busy_timeout(5000)", "journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "temp_store(MEMORY)",
		fmt.Sprintf("wal_autocheckpoint(%d)", restingLog/pageSize), fmt.Sprintf("journal_size_limit(%d)", restingLog),
		"secure_delete(" + strconv.FormatBool(secureDelete) + ")",
	}}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// restingLog is the size of the write-ahead log of a file while no reader prevents copying it into the file.
const (
	restingLog = 8 << 20
	pageSize   = 4096
)

const header = "SQLite format 3\x00"

// checkHeader returns an error for a file that is not a SQLite database, before SQLite can take it for an empty one. A missing
// or empty file is accepted, because it will be created.
func checkHeader(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	first := make([]byte, len(header))
	switch _, err := io.ReadFull(f, first); {
	case errors.Is(err, io.EOF):
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF), err == nil && string(first) != header:
		return fmt.Errorf("%s is damaged: it is not a SQLite database; restore it from a backup", path)
	case err != nil:
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
