package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Exists reports whether a database contains an instance. It changes nothing.
func Exists(ctx context.Context, opt Options) (bool, error) {
	e, err := newEngine(opt)
	if err != nil {
		return false, err
	}
	return e.exists(ctx)
}

// OpenView opens a View without opening the database for anything else. It changes nothing and does not migrate the
// schema. Its error is fs.ErrNotExist if the database contains no instance.
func OpenView(ctx context.Context, opt Options) (*View, error) {
	e, err := newEngine(opt)
	if err != nil {
		return nil, err
	}
	there, err := e.exists(ctx)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, fmt.Errorf("PostgreSQL at %s: %w", e.where, fs.ErrNotExist)
	}
	v, err := e.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := e.beginSnapshot(ctx, e.vault, keysPart, "")
	if err != nil {
		return nil, errors.Join(e.vault.openError(err), v.Close())
	}
	v.keys = keys
	return v, nil
}

func (e *Engine) exists(ctx context.Context) (bool, error) {
	if err := e.checkSessions(ctx); err != nil {
		return false, err
	}
	conn, err := e.connect(ctx, e.where, mainPart)
	if err != nil {
		return false, e.where.openError(err)
	}
	defer closeConn(conn)
	found, err := part{mainPart, e.where, conn}.state(ctx)
	if err != nil {
		return false, e.where.openError(err)
	}
	return found.id != "", nil
}
