// Package instance opens, creates, restores and moves an instance: one data folder with its databases and secrets.
package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/base/folder"
	"keepsake/internal/govern/backup"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/move"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/schema"
	"keepsake/internal/store/sqlite"
)

// Errors that commands distinguish. Whenever one is returned, nothing was changed.
var (
	ErrInUse          = folder.ErrInUse
	ErrInitialised    = errors.New("is already initialised")
	ErrNotInitialised = errors.New("holds no Keepsake data; choose its folder with --data, or create one with `keepsake serve`")
	ErrServed         = errors.New("is being served")
	ErrUnreleased     = schema.ErrUnreleased
)

// because is err and also kind, whose text it leaves out.
type because struct{ err, kind error }

func (b because) Error() string   { return b.err.Error() }
func (b because) Unwrap() []error { return []error{b.err, b.kind} }

// Mode says whether Open and Start create an instance.
type Mode int

const (
	OpenOrCreate Mode = iota
	OpenExisting      // ErrNotInitialised if there is no instance
	CreateNew         // ErrInitialised if there is one
)

// Options is what the package needs in addition to the settings.
type Options struct {
	Mode Mode
	Now  func() time.Time // time.Now if nil
	Log  *slog.Logger     // nothing is logged if nil
	// Memory is the number of bytes that the process may use; 0 means no limit.
	Memory int64
	// Statement is called with every SQL statement before it runs. Tests count statements with it.
	Statement func(ctx context.Context, text string)
	// Observer sees what the store does; nil for none.
	Observer *store.Observer
	// MinTimeout is the shortest timeout of database calls. Tests set it because a busy machine can be slow.
	MinTimeout time.Duration
}

func (o *Options) complete() {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
}

// postgres returns the options for databases on a server.
func (o *Options) postgres(url, keysURL string) postgres.Options {
	p := postgres.Options{URL: url, KeysURL: keysURL, Log: o.Log}
	if timeout := o.MinTimeout; timeout > 0 {
		p.Connect, p.Acquire, p.Statement, p.Lock = timeout, timeout, timeout, timeout
		p.Unit, p.Answer, p.Commit, p.Migrate = timeout, timeout, timeout, timeout
	}
	return p
}

// Engine is an open engine.
type Engine interface {
	store.Engine
	Close() error
}

// Instance is an open instance.
type Instance struct {
	Engine Engine
	Store  *Store
	ID     string // of the instance
	Member string // the name of a folder next to a shared database, else empty
	Chain  string // the chain of the audit log that this process writes

	// Start sets Initialised: whether a first start was completed before.
	Initialised bool

	// Unseal sets these.
	Secrets *seal.Secrets
	Binding *seal.DataKey // encrypts responses about bound keys
	Rekeyed bool          // Unseal completed an interrupted change of the master key

	// JournalLost reports that the journal lacked lines when Unseal read it.
	JournalLost bool

	stopJournal func() // nil before Unseal

	cfg  *config.Config
	opt  Options
	lock *folder.Lock // of a folder next to a shared database; SQLite has its own
}

// Open opens the data folder and the databases, and locks the folder. Call Start next.
func Open(ctx context.Context, cfg *config.Config, opt Options) (i *Instance, err error) {
	opt.complete()
	i = &Instance{cfg: cfg, opt: opt}
	if cfg.DatabaseURL == "" {
		err = i.openEmbedded(ctx)
	} else {
		err = i.openShared(ctx)
	}
	if errors.Is(err, ErrInUse) && opt.Mode == CreateNew {
		err = fmt.Errorf("%s %w: another keepsake process is using it", cfg.Data, ErrInitialised)
	}
	if errors.Is(err, ErrUnreleased) && opt.Mode == CreateNew {
		err = because{err, ErrInitialised}
	}
	if err == nil {
		i.Store, err = i.openStore(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

// Examine checks the folder without opening its databases: ErrUnreleased if an unreleased build created them, and, without a
// shared database, ErrNotInitialised if there are none. It changes nothing.
func Examine(ctx context.Context, cfg *config.Config) error {
	if cfg.DatabaseURL == "" {
		if err := notOfADatabase(cfg.Data); err != nil {
			return err
		}
		if !exists(filepath.Join(cfg.Data, "main.db")) {
			return notInitialised(cfg)
		}
	}
	return sqlite.Examine(ctx, cfg.Data)
}

// notOfADatabase refuses the folder of a process that serves a shared database.
func notOfADatabase(dir string) error {
	if isMember(dir) && !exists(filepath.Join(dir, "main.db")) {
		return &config.Error{Setting: "data", Reason: dir + " belongs to a shared database: set databaseUrl to it, or use another folder"}
	}
	return nil
}

// openEmbedded opens the databases in the folder.
func (i *Instance) openEmbedded(ctx context.Context) error {
	dir := i.cfg.Data
	found := exists(filepath.Join(dir, "main.db"))
	if err := notOfADatabase(dir); err != nil {
		return err
	}
	if i.opt.Mode == OpenExisting && !found {
		return notInitialised(i.cfg) // opening would create it
	}
	if err := partlyRestored(dir); err != nil {
		return err
	}
	engine, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Log: i.opt.Log, Memory: i.opt.Memory})
	if err != nil {
		return err
	}
	i.Engine, i.Chain = engine, embeddedChain
	return nil
}

// openShared opens the databases of a server and the folder next to them.
func (i *Instance) openShared(ctx context.Context) (err error) {
	cfg := i.cfg
	if exists(filepath.Join(cfg.Data, "main.db")) {
		return &config.Error{Setting: "data", Reason: cfg.Data + " contains an instance of its own: use another folder with databaseUrl"}
	}
	opt := i.opt.postgres(cfg.DatabaseURL, cfg.KeysURL)
	found, err := postgres.Exists(ctx, opt) // before a useless folder is created
	switch {
	case err != nil:
		return err
	case i.opt.Mode == OpenExisting && !found:
		return notInitialised(cfg) // opening would create it
	case i.opt.Mode == OpenExisting && cfg.MasterKey == "" && !exists(MasterKeyPath(cfg.Data)):
		return missingMasterKey(cfg)
	}
	if i.lock, err = folder.Take(cfg.Data); err != nil {
		return err
	}
	engine, err := postgres.Open(ctx, opt)
	if err != nil {
		return err
	}
	i.Engine = engine
	return nil
}

// observed is the engine with the observers of the options.
func (i *Instance) observed() store.Engine {
	var e store.Engine = i.Engine
	if i.opt.Observer != nil {
		e = store.Observe(e, *i.opt.Observer)
	}
	if i.opt.Statement != nil {
		e = store.Watch(e, i.opt.Statement)
	}
	return e
}

// openStore opens the store and the journal, and reads or creates the member file.
func (i *Instance) openStore(ctx context.Context) (*Store, error) {
	engine := i.observed()
	id, err := store.New(engine).Secrets.InstanceID(ctx)
	if err != nil {
		return nil, err
	}
	i.ID = id
	if i.Engine.Shared() {
		m, err := loadMember(i.cfg.Data, id)
		if err != nil {
			return nil, err
		}
		i.Member, i.Chain = m.Name, m.Name
	}
	journal, err := backup.OpenJournal(JournalPath(i.cfg.Data), id, i.opt.Now)
	if err != nil {
		return nil, err
	}
	return newStore(engine, journal), nil
}

// startLock is held by the process that starts, so that only one of them creates the instance.
const startLock = "start"

// Start runs fn while no other process starts on the same databases. It refuses an instance that the mode excludes, and
// one that is only partly restored or moved.
func (i *Instance) Start(ctx context.Context, fn func(ctx context.Context) error) error {
	return i.Engine.Alone(ctx, startLock, func(ctx context.Context) error {
		if err := i.check(ctx); err != nil {
			return err
		}
		return fn(ctx)
	})
}

func (i *Instance) check(ctx context.Context) (err error) {
	if err := checkComplete(ctx, i.Engine, location(i.cfg)); err != nil {
		return err
	}
	if i.Initialised, err = i.Store.Accounts.Initialised(ctx); err != nil {
		return err
	}
	switch {
	case i.opt.Mode == OpenExisting && !i.Initialised:
		return notInitialised(i.cfg)
	case i.opt.Mode == CreateNew && i.Initialised:
		return fmt.Errorf("%s %w", location(i.cfg), ErrInitialised)
	default:
		return nil
	}
}

// checkComplete refuses databases that a move or a restore has not finished.
func checkComplete(ctx context.Context, e store.Engine, location string) error {
	_, unfinished, err := move.Unfinished(ctx, e.Main())
	if err != nil {
		return err
	}
	if unfinished {
		return fmt.Errorf("%s is incomplete: a move or restore into it is running or was interrupted; wait for it, or run the same `keepsake migrate` again", location)
	}
	return nil
}

// Close closes the databases and releases the folder.
func (i *Instance) Close() error {
	var errs []error
	if i.stopJournal != nil {
		i.stopJournal()
		i.stopJournal = nil
	}
	if i.Engine != nil {
		if err := i.Engine.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the databases: %w", err))
		}
	}
	if i.lock != nil {
		errs = append(errs, i.lock.Release(true))
	}
	return errors.Join(errs...)
}

func notInitialised(cfg *config.Config) error {
	return fmt.Errorf("%s %w", location(cfg), ErrNotInitialised)
}

// location names an instance in messages.
func location(cfg *config.Config) string {
	if cfg.DatabaseURL != "" {
		return "the database of databaseUrl" // the address can contain a password
	}
	return cfg.Data
}
