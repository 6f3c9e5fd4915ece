package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"keepsake/internal/backup"
	"keepsake/internal/config"
	"keepsake/internal/folder"
	"keepsake/internal/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
)

// ErrInUse is the error of New and Init when another process holds the data folder.
var ErrInUse = folder.ErrInUse

// data is the open data folder, with the databases in it or beside a shared one.
type data struct {
	engine      engine
	lock        *folder.Lock // of a folder beside a shared database; an embedded engine has it itself
	member      string       // the name of the folder beside a shared database
	chain       string       // of the audit log, which this process writes
	store       *journalled
	secrets     *seal.Secrets
	binding     *seal.DataKey // seals answers about keys that are bound
	rekeyed     bool          // unseal completed a change of the master key that was cut off
	initialised bool          // a first start was completed before this one
	now         func() time.Time
	log         *slog.Logger
}

// engine is an open engine.
type engine interface {
	store.Engine
	Close() error
}

func openData(ctx context.Context, cfg *config.Config, deps *Deps) (d *data, err error) {
	d = &data{now: deps.Now, log: deps.Log}
	if cfg.DatabaseURL == "" {
		err = d.openEmbedded(ctx, cfg, deps)
	} else {
		err = d.openShared(ctx, cfg, deps)
	}
	if err == nil {
		d.store, err = d.openStore(ctx, cfg)
	}
	if err == nil && deps.Statement != nil {
		d.store.Watch(deps.Statement)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// openEmbedded opens the databases in the folder.
func (d *data) openEmbedded(ctx context.Context, cfg *config.Config, deps *Deps) error {
	there := exists(filepath.Join(cfg.Data, "main.db"))
	if !there && isMember(cfg.Data) {
		return &config.Error{Setting: "data", Reason: cfg.Data + " is beside a shared database: name that in databaseUrl, or another folder"}
	}
	if deps.Local && !there {
		return notInitialised(cfg) // opening would make one
	}
	if err := halfRestored(cfg.Data); err != nil {
		return err
	}
	engine, err := sqlite.Open(ctx, sqlite.Options{Dir: cfg.Data, Log: deps.Log, Memory: memoryLimit()})
	if err != nil {
		return err
	}
	d.engine, d.chain = engine, embeddedChain
	return nil
}

// openShared opens the databases of a server and the folder beside them.
func (d *data) openShared(ctx context.Context, cfg *config.Config, deps *Deps) (err error) {
	if exists(filepath.Join(cfg.Data, "main.db")) {
		return &config.Error{Setting: "data", Reason: cfg.Data + " holds an instance of its own: name another folder beside the database"}
	}
	opt := deps.postgres(cfg.DatabaseURL, cfg.KeysURL)
	if deps.Local {
		there, err := postgres.Exists(ctx, opt)
		if err != nil {
			return err
		}
		if !there {
			return notInitialised(cfg) // opening would make one
		}
		if cfg.MasterKey == "" && !exists(MasterKeyPath(cfg.Data)) { // nor is a folder made that could be of no use
			return missingMasterKey(cfg)
		}
	}
	if d.lock, err = folder.Take(cfg.Data); err != nil {
		return err
	}
	engine, err := postgres.Open(ctx, opt)
	if err != nil {
		return err
	}
	d.engine = engine
	return nil
}

// postgres is how databases are opened.
func (d *Deps) postgres(url, keysURL string) postgres.Options {
	o := postgres.Options{URL: url, KeysURL: keysURL, Log: d.Log}
	if least := d.Patience; least > 0 {
		o.Connect, o.Acquire, o.Statement, o.Lock = least, least, least, least
		o.Unit, o.Answer, o.Commit, o.Migrate = least, least, least, least
	}
	return o
}

// openStore makes the store and finds out who this process is.
func (d *data) openStore(ctx context.Context, cfg *config.Config) (*journalled, error) {
	s := store.New(d.engine)
	instance, err := s.InstanceID(ctx)
	if err != nil {
		return nil, err
	}
	if d.engine.Shared() {
		m, err := memberOf(cfg.Data, instance)
		if err != nil {
			return nil, err
		}
		d.member, d.chain = m.Name, m.Name
	}
	journal, err := backup.OpenJournal(JournalPath(cfg.Data), instance, d.now)
	if err != nil {
		return nil, err
	}
	return &journalled{s, journal}, nil
}

// settle makes what a first start wrote as safe as it will be, on an engine where that is not so at once.
func (d *data) settle(ctx context.Context) error {
	if s, ok := d.engine.(interface {
		Settle(ctx context.Context) error
	}); ok {
		return s.Settle(ctx)
	}
	return nil
}

func notInitialised(cfg *config.Config) error {
	return fmt.Errorf("%s %w", place(cfg), ErrNotInitialised)
}

// place is where an instance lies, for people.
func place(cfg *config.Config) string {
	if cfg.DatabaseURL != "" {
		return "the database of databaseUrl" // the address may hold a password
	}
	return cfg.Data
}

// unseal gets at the instance's secrets. A folder that has any never gets a new master key: it would not open them.
func (d *data) unseal(ctx context.Context, cfg *config.Config) error {
	wrapped, err := d.store.Secrets(ctx)
	if err != nil {
		return fmt.Errorf("read secrets: %w", err)
	}
	master, err := d.masterKey(ctx, cfg, !d.initialised && len(wrapped) == 0)
	if err != nil {
		return err
	}
	if d.secrets, err = seal.Open(ctx, d.store, master, !d.initialised); err != nil {
		return err
	}
	if err := d.authenticateJournal(ctx); err != nil {
		return err
	}
	return d.sealBindings(ctx)
}

// sealBindings has the names that API keys are bound to lie sealed, also those that the previous release left in the clear.
func (d *data) sealBindings(ctx context.Context) error {
	secret, err := d.secrets.Ensure(ctx, seal.Bindings)
	if err != nil {
		return err
	}
	if d.binding, err = seal.InstanceKey(secret); err != nil {
		return err
	}
	if err := openBindings(d.store.Store, d.secrets); err != nil {
		return err
	}
	_, err = d.store.SealOldBindings(ctx)
	return err
}

// openBindings lets a store open the names that API keys are bound to, where there is a secret that opens them.
func openBindings(st *store.Store, secrets *seal.Secrets) error {
	secret, ok := secrets.Find(seal.Bindings)
	if !ok {
		return nil
	}
	binding, err := seal.NewBinding(secret)
	if err != nil {
		return err
	}
	st.SealBindings(binding)
	return nil
}

// masterKey is the one of the settings, else the one in the folder, else, on a fresh place, a new one in the folder.
func (d *data) masterKey(ctx context.Context, cfg *config.Config, fresh bool) (key seal.MasterKey, err error) {
	if cfg.MasterKey != "" {
		return parseMasterKey(cfg)
	}
	path := MasterKeyPath(cfg.Data)
	key, d.rekeyed, err = MasterKeyFile(cfg.Data).Recover(ctx, d.store, d.now())
	switch {
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return key, err
	case fresh:
		return seal.CreateMasterKey(path)
	default:
		return key, missingMasterKey(cfg)
	}
}

func missingMasterKey(cfg *config.Config) error {
	reason := "%s is missing; put it back, or name the key in masterKeyFile"
	if cfg.DatabaseURL != "" {
		reason = "%s is missing, and the database's secrets are sealed with one; copy it from the folder that has it, or name the key in masterKeyFile"
	}
	return &config.Error{Setting: "masterKey", Reason: fmt.Sprintf(reason, MasterKeyPath(cfg.Data))}
}

// parseMasterKey reads the key of the settings.
func parseMasterKey(cfg *config.Config) (seal.MasterKey, error) {
	key, err := seal.ParseMasterKey(cfg.MasterKey)
	if err != nil {
		return key, &config.Error{Setting: "masterKey", Reason: "must be 32 bytes in base64"}
	}
	return key, nil
}

// close closes what is open.
func (d *data) close() error {
	var errs []error
	if d.engine != nil {
		if err := d.engine.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close the databases: %w", err))
		}
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Release(true))
	}
	return errors.Join(errs...)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
