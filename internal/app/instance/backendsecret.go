package instance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"

	"keepsake/internal/app/config"
	"keepsake/internal/base/secretfile"
	"keepsake/internal/memory/seal"
)

// minBackendSecret is the shortest secret that is read from the folder, as for the setting.
const minBackendSecret = 16

// BackendSecret returns the secret of the setting, else the one of the instance. It creates the latter if there is none, and keeps
// it in the data folder, where the operator can read it. If that fails, it returns an error with a secret that can be used.
//
// Processes that share a database also store the secret there, sealed under the master key, so that all of them have the same one:
// that of the process that starts first. shared are their secrets; nil for an instance in its folder. Call it within Start.
func BackendSecret(ctx context.Context, cfg *config.Config, shared *seal.Secrets) (string, error) {
	if cfg.Backend.Secret != "" {
		return cfg.Backend.Secret, nil
	}
	path := BackendSecretPath(cfg.Data)
	found, err := readBackendSecret(path)
	if err != nil {
		return "", err
	}
	secret := found
	if secret == "" {
		secret = rand.Text() + rand.Text()
	}
	if shared != nil {
		if stored, ok := shared.Find(seal.Backend); ok {
			secret = string(stored)
		} else if err := shared.Add(ctx, seal.Backend, []byte(secret)); err != nil {
			return secret, fmt.Errorf("store the backend secret: %w", err)
		}
	}
	if secret == found {
		return secret, nil
	}
	if err := writeFile(path, []byte(secret+"\n")); err != nil {
		return secret, fmt.Errorf("write the backend secret: %w", err)
	}
	return secret, nil
}

// readBackendSecret returns the secret in a file; empty if there is no file.
func readBackendSecret(path string) (string, error) {
	secret, err := secretfile.ReadToken(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the backend secret: %w", err)
	}
	if len(secret) < minBackendSecret {
		return "", &config.Error{
			Setting: "backend.secret",
			Reason:  fmt.Sprintf("%s has less than %d characters; remove it, and the next start creates it again", path, minBackendSecret),
		}
	}
	return secret, nil
}
