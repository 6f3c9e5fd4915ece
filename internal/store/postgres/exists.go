package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Exists reports whether a database contains an instance. It changes nothing. Like all functions that open a database, it returns
// schema.ErrUnreleased if a program before the first release created it.
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
	if err := v.keys.Freeze(ctx); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

func (e *Engine) exists(ctx context.Context) (bool, error) {
	found, err := e.found(ctx)
	return found[mainPart].id != "", err
}

// found reads the state of each part of a database that may contain no instance. It changes nothing.
func (e *Engine) found(ctx context.Context) (map[string]partState, error) {
	if err := e.checkSessions(ctx); err != nil {
		return nil, err
	}
	parts, done, err := e.connectParts(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	return e.states(ctx, parts)
}

// Holder returns the ID of the instance that a database contains, or "". Unlike opening, it changes nothing.
func Holder(ctx context.Context, opt Options) (id string, err error) {
	e, err := newEngine(opt)
	if err != nil {
		return "", err
	}
	found, err := e.found(ctx)
	return cmp.Or(found[mainPart].id, found[keysPart].id), err
}
