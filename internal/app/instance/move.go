package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"keepsake/internal/store"
	"keepsake/internal/store/move"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
)

// ErrOccupied is the error of Move if the target is not empty. Nothing was changed.
var ErrOccupied = errors.New("is not empty: an instance can only be moved into an empty folder or database")

// Place says where the databases of an instance are: in a folder or on a server.
type Place struct {
	Folder               string
	DatabaseURL, KeysURL string // KeysURL is empty if the secrets have no database of their own
}

// String names p in messages. An address is left out, because it can contain a password.
func (p Place) String() string {
	if p.DatabaseURL != "" {
		return "the database"
	}
	return p.Folder
}

// MoveRequest says what Move moves.
type MoveRequest struct {
	From, To Place
	Progress func(move.Step) // can be nil
}

// MoveResult is what Move did.
type MoveResult struct {
	Instance string       `json:"instance"`
	Resumed  bool         `json:"resumed"` // an interrupted move was continued
	Rows     int64        `json:"rows"`
	Tables   []move.Count `json:"tables"`
}

// Move copies an instance that is not being served into an empty place, and compares both. An interrupted Move is continued
// by the same call. The target cannot be served until Move has finished. The source is not changed.
func Move(ctx context.Context, opt Options, m MoveRequest) (*MoveResult, error) {
	opt.complete()
	source, err := m.From.openSource(ctx, &opt)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	st := store.New(source)
	if initialised, err := st.Accounts.Initialised(ctx); err != nil {
		return nil, err
	} else if !initialised {
		return nil, fmt.Errorf("%s %w", m.From, ErrNotInitialised)
	}
	if err := checkComplete(ctx, source, m.From.String()); err != nil {
		return nil, err
	}
	result := &MoveResult{}
	if result.Instance, err = st.Secrets.InstanceID(ctx); err != nil {
		return nil, err
	}
	target, err := m.To.openTarget(ctx, result.Instance, &opt)
	if err != nil {
		return nil, err
	}
	err = transfer(ctx, move.Options{From: source, To: target, Source: "instance " + result.Instance, Progress: m.Progress}, result, nil)
	switch {
	case errors.Is(err, move.ErrNotEmpty), errors.Is(err, move.ErrOther):
		err = fmt.Errorf("%s %w (%w)", m.To, ErrOccupied, err)
	case errors.Is(err, move.ErrDiffers):
		err = fmt.Errorf("%w: one of them was written to since the move began; empty %s and move again", err, m.To)
	case err != nil:
		err = fmt.Errorf("%w; run the same command again to continue", err)
	}
	if err := errors.Join(err, target.Close()); err != nil {
		return nil, err
	}
	return result, nil
}

// transfer copies all rows and verifies them. It calls finish, if not nil, before the target can be served.
func transfer(ctx context.Context, o move.Options, result *MoveResult, finish func() error) error {
	return o.To.Alone(ctx, "move", func(ctx context.Context) error {
		var m *move.Move
		// A process that starts on the target must see either nothing or a move that has begun.
		err := o.To.Alone(ctx, startLock, func(ctx context.Context) (err error) {
			m, err = move.Begin(ctx, o)
			return err
		})
		if err != nil {
			return err
		}
		result.Resumed = m.Resumed()
		if err := m.Copy(ctx); err != nil {
			return err
		}
		if result.Tables, err = m.Verify(ctx); err != nil {
			return err
		}
		for _, t := range result.Tables {
			result.Rows += t.Rows
		}
		if err := settle(ctx, o.To); err != nil {
			return err
		}
		if finish != nil {
			if err := finish(); err != nil {
				return err
			}
		}
		return m.Finish(ctx)
	})
}

// sourceView is a frozen view of a database, with the engine that it must close.
type sourceView struct {
	*postgres.View
	engine *postgres.Engine
}

func (v sourceView) Close() error { return errors.Join(v.View.Close(), v.engine.Close()) }

// openSource opens a place for reading, and refuses one that is being served.
func (p Place) openSource(ctx context.Context, opt *Options) (Engine, error) {
	if p.DatabaseURL == "" {
		source, err := sqlite.OpenSource(ctx, p.Folder)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s %w", p, ErrNotInitialised)
		}
		return source, err
	}
	o := opt.postgres(p.DatabaseURL, p.KeysURL)
	holder, err := postgres.Holder(ctx, o)
	if err != nil {
		return nil, err
	}
	if holder == "" {
		return nil, fmt.Errorf("%s %w", p, ErrNotInitialised)
	}
	e, err := postgres.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	err = checkNotServed(ctx, e, p.String())
	var view *postgres.View
	if err == nil {
		view, err = e.Snapshot(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return sourceView{view, e}, nil
}

// openTarget opens a place that is empty or contains an interrupted move of the instance. It refuses another place before
// opening it, because opening can upgrade the schema.
func (p Place) openTarget(ctx context.Context, instance string, opt *Options) (Engine, error) {
	if p.DatabaseURL == "" {
		if err := p.checkFolder(ctx, instance); err != nil {
			return nil, err
		}
		e, err := sqlite.Open(ctx, sqlite.Options{Dir: p.Folder, Log: opt.Log, Instance: instance})
		if errors.Is(err, ErrInUse) {
			err = fmt.Errorf("%s %w (%w)", p, ErrOccupied, err)
		}
		return e, err
	}
	o := opt.postgres(p.DatabaseURL, p.KeysURL)
	holder, err := postgres.Holder(ctx, o)
	if errors.Is(err, ErrUnreleased) {
		return nil, because{err, ErrOccupied}
	}
	if err != nil {
		return nil, err
	}
	if holder != "" && holder != instance {
		return nil, fmt.Errorf("%s %w", p, ErrOccupied)
	}
	return postgres.Open(ctx, withInstance(o, instance))
}

// besideDatabases are files that an operator can copy into the target folder before the move.
var besideDatabases = []string{"master.key", "audit.checkpoints", "journal.ndjson", "backend-secret", "keepsake.lock"}

// checkFolder refuses a folder with other content than an interrupted move of the instance.
func (p Place) checkFolder(ctx context.Context, instance string) error {
	if err := sqlite.Examine(ctx, p.Folder); err != nil {
		return because{err, ErrOccupied}
	}
	entries, err := os.ReadDir(p.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read data folder: %w", err)
	}
	if exists(filepath.Join(p.Folder, "main.db")) {
		if same, err := contains(ctx, p.Folder, instance); err != nil {
			return fmt.Errorf("%s %w (%w)", p, ErrOccupied, err)
		} else if same {
			return nil // move.Begin refuses it if its move has finished
		}
		return fmt.Errorf("%s %w", p, ErrOccupied)
	}
	for _, e := range entries {
		if !slices.Contains(besideDatabases, e.Name()) {
			return fmt.Errorf("%s %w", p, ErrOccupied)
		}
	}
	return nil
}

// contains reports whether the databases of a folder belong to an instance.
func contains(ctx context.Context, dir, instance string) (is bool, err error) {
	view, err := sqlite.OpenView(ctx, dir)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	id, err := store.New(view).Secrets.InstanceID(ctx)
	return id == instance, err
}
