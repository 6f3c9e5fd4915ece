package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Snapshot copies the databases into files of the same names in dir, which must hold none of them, while they are in use.
// Each copy is what had been committed at one moment; nobody waits for it. The secrets are copied last: they can then lack
// none that the data was written with. The copies are on stable storage when Snapshot returns, and hold nothing that was
// deleted.
func (e *Engine) Snapshot(ctx context.Context, dir string) error {
	for _, d := range []*database{e.main, e.usage, e.keys} {
		if err := d.copyTo(ctx, filepath.Join(e.dir, d.file), filepath.Join(dir, d.file)); err != nil {
			return fmt.Errorf("copy %s: %w", d.file, err)
		}
	}
	return nil
}

// copyTo goes through a connection of its own: those of the pool are for statements that end soon, and are told not to
// write anywhere.
func (d *database) copyTo(ctx context.Context, from, to string) (err error) {
	if err := makePrivate(to); err != nil { // SQLite takes an empty file for one it may write
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

// Size is how many bytes the databases have, without their logs.
func (e *Engine) Size() (bytes int64) {
	for _, d := range e.files() {
		if info, err := os.Stat(filepath.Join(e.dir, d.file)); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

// Check reads the databases from end to end and says what is damaged.
func (e *Engine) Check(ctx context.Context) error {
	for _, d := range e.files() {
		if err := d.quickCheck(ctx); err != nil {
			return err
		}
	}
	return nil
}
