package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Snapshot copies the databases, while they are in use, into files of the same names in dir, which must not exist. Each copy
// shows one moment, and no one waits for it. The secrets are copied last, so that none is missing that the data was written
// with. When Snapshot returns, the copies are on stable storage. They contain nothing that was deleted.
func (e *Engine) Snapshot(ctx context.Context, dir string) error {
	for _, d := range []*database{e.main, e.usage, e.keys} {
		if err := d.copyTo(ctx, filepath.Join(e.dir, d.file), filepath.Join(dir, d.file)); err != nil {
			return fmt.Errorf("copy %s: %w", d.file, err)
		}
	}
	return nil
}

// copyTo uses a connection of its own. Those of the pool are for short statements and cannot write.
func (d *database) copyTo(ctx context.Context, from, to string) (err error) {
	if err := makePrivate(to); err != nil { // SQLite writes into an empty file
		return err
	}
	db, err := sql.Open("sqlite", dsn(from, false))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "VACUUM INTO $1", to); err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Size is the size of the databases in bytes, without their logs.
func (e *Engine) Size() (bytes int64) {
	for _, d := range e.files() {
		if info, err := os.Stat(filepath.Join(e.dir, d.file)); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// Check reads the databases completely and returns an error that names damage.
func (e *Engine) Check(ctx context.Context) error {
	for _, d := range e.files() {
		if err := d.quickCheck(ctx); err != nil {
			return err
		}
	}
	return nil
}
