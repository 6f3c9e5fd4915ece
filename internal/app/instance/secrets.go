package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"keepsake/internal/app/config"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
)

// Unseal opens the instance's secrets, and creates them and the master key for a new instance. An instance that has
// secrets never gets a new master key, which could not open them. Call Unseal within Start.
func (i *Instance) Unseal(ctx context.Context) error {
	wrapped, err := i.Store.Secrets.Secrets(ctx)
	if err != nil {
		return fmt.Errorf("read secrets: %w", err)
	}
	master, err := i.masterKey(ctx, !i.Initialised && len(wrapped) == 0)
	if err != nil {
		return err
	}
	if i.Secrets, err = seal.Open(ctx, i.Store.Secrets, master, !i.Initialised); err != nil {
		return err
	}
	if err := i.authenticateJournal(); err != nil {
		return err
	}
	if err := i.sealBindings(ctx); err != nil {
		return err
	}
	return i.checkJournal(ctx)
}

// sealBindings lets the store encrypt the subjects that API keys are bound to.
func (i *Instance) sealBindings(ctx context.Context) error {
	secret, err := i.Secrets.Ensure(ctx, seal.Bindings)
	if err != nil {
		return err
	}
	if i.Binding, err = seal.InstanceKey(secret); err != nil {
		return err
	}
	return openBindings(i.Store.rows, i.Secrets)
}

// openBindings lets a store decrypt the subjects that API keys are bound to, if the instance has the secret.
func openBindings(st *store.Store, secrets *seal.Secrets) error {
	secret, ok := secrets.Find(seal.Bindings)
	if !ok {
		return nil
	}
	binding, err := seal.NewBinding(secret)
	if err != nil {
		return err
	}
	st.APIKeys.SealBindings(binding)
	return nil
}

// masterKey returns the key of the settings, else the one in the folder, else, for a new instance, a new one.
func (i *Instance) masterKey(ctx context.Context, create bool) (key seal.MasterKey, err error) {
	if i.cfg.MasterKey != "" {
		return parseMasterKey(i.cfg)
	}
	key, i.Rekeyed, err = MasterKeyFile(i.cfg.Data).Recover(ctx, i.Store.Secrets, i.opt.Now())
	switch {
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return key, err
	case create:
		return seal.CreateMasterKey(MasterKeyPath(i.cfg.Data))
	default:
		return key, missingMasterKey(i.cfg)
	}
}

func missingMasterKey(cfg *config.Config) error {
	reason := "%s is missing; put it back, or name the key in masterKeyFile"
	if cfg.DatabaseURL != "" {
		reason = "%s is missing, and the database's secrets are encrypted with it; copy it from the folder of another process, or name the key in masterKeyFile"
	}
	return &config.Error{Setting: "masterKey", Reason: fmt.Sprintf(reason, MasterKeyPath(cfg.Data))}
}

func parseMasterKey(cfg *config.Config) (seal.MasterKey, error) {
	key, err := seal.ParseMasterKey(cfg.MasterKey)
	if err != nil {
		return key, &config.Error{Setting: "masterKey", Reason: "must be 32 bytes in base64"}
	}
	return key, nil
}
