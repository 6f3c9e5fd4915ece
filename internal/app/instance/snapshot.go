package instance

import (
	"context"
	"errors"
	"fmt"

	"keepsake/internal/store"
	"keepsake/internal/store/move"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
)

// Size returns the number of bytes that Snapshot copies.
func (i *Instance) Size() int64 {
	if e, ok := i.Engine.(interface{ Size() int64 }); ok {
		return e.Size()
	}
	return 0
}

// Snapshot copies the databases into SQLite files in a folder while they are in use.
func (i *Instance) Snapshot(ctx context.Context, dir string) error {
	switch e := i.Engine.(type) {
	case *sqlite.Engine:
		return e.Snapshot(ctx, dir)
	case *postgres.Engine:
		return copyDatabase(ctx, e, dir)
	default:
		return fmt.Errorf("no snapshot of %T", e)
	}
}

// copyDatabase copies a database as of one moment into files, row by row, and compares both.
func copyDatabase(ctx context.Context, e *postgres.Engine, dir string) (err error) {
	view, err := e.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	instance, err := store.New(view).Secrets.InstanceID(ctx)
	if err != nil {
		return err
	}
	files, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Instance: instance})
	if err != nil {
		return err
	}
	err = transfer(ctx, move.Options{From: view, To: files, Source: "a backup"}, &MoveResult{}, nil)
	return errors.Join(err, files.Close())
}
