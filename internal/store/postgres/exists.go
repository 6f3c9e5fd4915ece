package postgres

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Exists reports whether a database contains an instance. It changes nothing.
func Exists(ctx context.Context, opt Options) (bool, error) {
	e, err := unopened(opt)
	if err != nil {
		return false, err
	}
	return e.exists(ctx)
}

// OpenView opens a View without opening the database for anything else. It changes nothing and does not migrate the
// schema. Its error is fs.ErrNotExist if the database contains no instance.
func OpenView(ctx context.Context, opt Options) (*View, error) {
	e, err := unopened(opt)
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

// unopened returns an Engine without connections.
func unopened(opt Options) (e *Engine, err error) {
	opt.complete()
	e = &Engine{opt: opt}
	if e.where, err = parse(opt.URL); err != nil {
		return nil, err
	}
	e.vault = e.where
	if opt.KeysURL != "" {
		e.vault, err = parse(opt.KeysURL)
	}
	return e, err
}

func (e *Engine) exists(ctx context.Context) (bool, error) {
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
