package instance

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"keepsake/internal/config"
)

// minBackendSecret is the shortest secret that is read from the folder, as for the setting.
const minBackendSecret = 16

// BackendSecret returns the secret of the setting, else the one in the data folder. It creates the latter if there is none. If
// that fails, it returns an error with a secret that is in no file. Call it while the folder is locked.
func BackendSecret(cfg *config.Config) (string, error) {
	if cfg.Backend.Secret != "" {
		return cfg.Backend.Secret, nil
	}
	path := BackendSecretPath(cfg.Data)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		secret := rand.Text() + rand.Text()
		if err := writeFile(path, []byte(secret+"\n")); err != nil {
			return secret, fmt.Errorf("create the backend secret: %w", err)
		}
		return secret, nil
	}
	if err != nil {
		return "", fmt.Errorf("read the backend secret: %w", err)
	}
	secret := strings.TrimSpace(string(text))
	if len(secret) < minBackendSecret {
		return "", &config.Error{
			Setting: "backend.secret",
			Reason:  fmt.Sprintf("%s has less than %d characters; remove it, and the next start creates another", path, minBackendSecret),
		}
	}
	return secret, nil
}
