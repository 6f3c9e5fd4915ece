package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"keepsake/internal/config"
	"keepsake/internal/seal"
	"keepsake/internal/store/sqlite"
)

// ErrInUse is the error of New and Init when another process holds the data folder.
var ErrInUse = sqlite.ErrInUse

// data is the open data folder.
type data struct {
	engine      *sqlite.Engine
	store       *journalled
	secrets     *seal.Secrets
	rekeyed     bool // unseal completed a change of the master key that was cut off
	initialised bool // a first start was completed before this one
	now         func() time.Time
}

func openData(ctx context.Context, cfg *config.Config, deps *Deps) (*data, error) {
	if deps.Local && !exists(filepath.Join(cfg.Data, "main.db")) {
		return nil, notInitialised(cfg.Data) // opening would make one
	}
	if err := halfRestored(cfg.Data); err != nil {
		return nil, err
	}
	engine, err := sqlite.Open(ctx, sqlite.Options{Dir: cfg.Data, Log: deps.Log})
	if err != nil {
		return nil, err
	}
	d := &data{engine: engine, now: deps.Now}
	if d.store, err = openStore(ctx, engine, cfg.Data, deps.Now); err == nil {
		d.initialised, err = d.store.Initialised(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return d, nil
}

func notInitialised(dir string) error { return fmt.Errorf("%s %w", dir, ErrNotInitialised) }

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
	d.secrets, err = seal.Open(ctx, d.store, master, !d.initialised)
	return err
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
		return key, &config.Error{
			Setting: "masterKey", Reason: fmt.Sprintf("%s is missing; put it back, or name the key in masterKeyFile", path),
		}
	}
}

// parseMasterKey reads the key of the settings.
func parseMasterKey(cfg *config.Config) (seal.MasterKey, error) {
	key, err := seal.ParseMasterKey(cfg.MasterKey)
	if err != nil {
		return key, &config.Error{Setting: "masterKey", Reason: "must be 32 bytes in base64"}
	}
	return key, nil
}

func (d *data) close() error {
	if err := d.engine.Close(); err != nil {
		return fmt.Errorf("close the databases: %w", err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
