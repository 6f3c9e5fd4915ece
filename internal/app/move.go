package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"keepsake/internal/store"
	"keepsake/internal/store/move"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
)

// ErrOccupied is the error of Move where there is something already; nothing was changed.
var ErrOccupied = errors.New("is not empty: an instance moves into an empty place only")

// ErrServed is the error of Move where processes serve the instance.
var ErrServed = errors.New("is being served")

// Place is where the databases of an instance lie: in a folder, or on a server, perhaps with the secrets apart.
type Place struct {
	Folder               string
	DatabaseURL, KeysURL string
}

// String names p to people. An address may hold a password.
func (p Place) String() string {
	if p.DatabaseURL != "" {
		return "the database"
	}
	return p.Folder
}

func (p Place) options(deps *Deps) postgres.Options {
	return deps.postgres(p.DatabaseURL, p.KeysURL)
}

// Moving says what Move moves.
type Moving struct {
	From, To Place
	Progress func(move.Step) // may be nil
}

// Moved is what Move did.
type Moved struct {
	Instance string       `json:"instance"`
	Resumed  bool         `json:"resumed"` // it went on with what was cut off
	Rows     int64        `json:"rows"`
	Tables   []move.Count `json:"tables"`
}

// Move copies an instance that nobody serves from one place into an empty other one, and compares the two. Where it is cut
// off, the same Move goes on; until it is done nobody can serve the target. The source stays as it is.
func Move(ctx context.Context, deps Deps, m Moving) (*Moved, error) {
	if deps.Log == nil {
		return nil, errors.New("move: no log")
	}
	source, err := m.From.openSource(ctx, &deps)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	st := store.New(source)
	if is, err := st.Initialised(ctx); err != nil {
		return nil, err
	} else if !is {
		return nil, fmt.Errorf("%s %w", m.From, ErrNotInitialised)
	}
	if err := whole(ctx, source, m.From.String()); err != nil {
		return nil, err
	}
	done := &Moved{}
	if done.Instance, err = st.InstanceID(ctx); err != nil {
		return nil, err
	}
	target, err := m.To.openTarget(ctx, done.Instance, &deps)
	if err != nil {
		return nil, err
	}
	err = transfer(ctx, move.Options{From: source, To: target, Source: "instance " + done.Instance, Progress: m.Progress}, done, nil)
	switch {
	case errors.Is(err, move.ErrNotEmpty), errors.Is(err, move.ErrOther):
		err = fmt.Errorf("%s %w (%w)", m.To, ErrOccupied, err)
	case errors.Is(err, move.ErrDiffers):
		err = fmt.Errorf("%w: one of them was written to since the move began; empty %s and move again", err, m.To)
	case err != nil:
		err = fmt.Errorf("%w; the same command goes on from here", err)
	}
	if err := errors.Join(err, target.Close()); err != nil {
		return nil, err
	}
	return done, nil
}

// transfer goes through with one move. before is called when all is there and nobody can serve it yet; it may be nil.
func transfer(ctx context.Context, o move.Options, done *Moved, before func() error) error {
	return o.To.Alone(ctx, "move", func(ctx context.Context) error {
		var m *move.Move
		// Not while somebody makes a first start there.
		err := o.To.Alone(ctx, startLock, func(ctx context.Context) (err error) {
			m, err = move.Begin(ctx, o)
			return err
		})
		if err != nil {
			return err
		}
		done.Resumed = m.Resumed()
		if err := m.Copy(ctx); err != nil {
			return err
		}
		if done.Tables, err = m.Verify(ctx); err != nil {
			return err
		}
		for _, t := range done.Tables {
			done.Rows += t.Rows
		}
		if s, ok := o.To.(interface {
			Settle(ctx context.Context) error
		}); ok {
			if err := s.Settle(ctx); err != nil {
				return err
			}
		}
		if before != nil {
			if err := before(); err != nil {
				return err
			}
		}
		return m.Finish(ctx)
	})
}

// startLock is what processes that may make a first start take turns by.
const startLock = "start"

// whole refuses a place that something is on its way into.
func whole(ctx context.Context, e store.Engine, place string) error {
	_, unfinished, err := move.Unfinished(ctx, e.Main())
	if err != nil {
		return err
	}
	if unfinished {
		return fmt.Errorf("%s is not whole: a move or a restore into it is under way or was cut off; let it end, or run the same `keepsake migrate` again", place)
	}
	return nil
}

// closing is an engine that is to be closed.
type closing struct {
	store.Engine
	close func() error
}

func (c closing) Close() error { return c.close() }

// openSource opens a place that is only read, and that nobody may serve.
func (p Place) openSource(ctx context.Context, deps *Deps) (engine, error) {
	if p.DatabaseURL == "" {
		source, err := sqlite.OpenSource(ctx, p.Folder)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s %w", p, ErrNotInitialised)
		}
		return source, err
	}
	holder, err := postgres.Holder(ctx, p.options(deps))
	if err != nil {
		return nil, err
	}
	if holder == "" {
		return nil, fmt.Errorf("%s %w", p, ErrNotInitialised)
	}
	e, err := postgres.Open(ctx, p.options(deps))
	if err != nil {
		return nil, err
	}
	members, err := e.Serving(ctx)
	if err == nil && len(members) > 0 {
		err = fmt.Errorf("%s %w by %s: stop it, or wait 10 s if it was killed", p, ErrServed, strings.Join(members, ", "))
	}
	var view *postgres.View
	if err == nil {
		view, err = e.Freeze(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return closing{view, func() error { return errors.Join(view.Close(), e.Close()) }}, nil
}

// openTarget opens a place that is empty, or has a part of the instance from a move that was cut off. What belongs to
// somebody else is refused before it is opened, which could bring its schema up to date.
func (p Place) openTarget(ctx context.Context, instance string, deps *Deps) (engine, error) {
	if p.DatabaseURL == "" {
		if err := p.emptyFor(ctx, instance); err != nil {
			return nil, err
		}
		e, err := sqlite.Open(ctx, sqlite.Options{Dir: p.Folder, Log: deps.Log, Instance: instance})
		if errors.Is(err, ErrInUse) {
			err = fmt.Errorf("%s %w (%w)", p, ErrOccupied, err)
		}
		return e, err
	}
	opt := p.options(deps)
	holder, err := postgres.Holder(ctx, opt)
	if err != nil {
		return nil, err
	}
	if holder != "" && holder != instance {
		return nil, fmt.Errorf("%s %w", p, ErrOccupied)
	}
	opt.Instance = instance
	return postgres.Open(ctx, opt)
}

// mayBeThere are files that somebody may put into a folder before the databases move in.
var mayBeThere = []string{"master.key", "audit.checkpoints", "journal.ndjson", "keepsake.lock"}

// emptyFor refuses a folder that holds something else than a part of an instance that is moving in.
func (p Place) emptyFor(ctx context.Context, instance string) error {
	entries, err := os.ReadDir(p.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read data folder: %w", err)
	}
	if exists(filepath.Join(p.Folder, "main.db")) {
		if is, err := holds(ctx, p.Folder, instance); err != nil {
			return fmt.Errorf("%s %w (%w)", p, ErrOccupied, err)
		} else if is {
			return nil // whether it is a part of it, Begin finds out
		}
		return fmt.Errorf("%s %w", p, ErrOccupied)
	}
	for _, e := range entries {
		if !slices.Contains(mayBeThere, e.Name()) {
			return fmt.Errorf("%s %w", p, ErrOccupied)
		}
	}
	return nil
}

// holds reports whether a folder has databases of an instance.
func holds(ctx context.Context, dir, instance string) (is bool, err error) {
	view, err := sqlite.OpenView(ctx, dir)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	id, err := store.New(view).InstanceID(ctx)
	return id == instance, err
}
