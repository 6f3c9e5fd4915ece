package instance_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
)

// backendSecret returns the secret for a data folder, and checks that the folder has it.
func backendSecret(t *testing.T, cfg *config.Config, shared *seal.Secrets) string {
	t.Helper()
	secret, err := instance.BackendSecret(t.Context(), cfg, shared)
	if err != nil || len(secret) < 32 || strings.TrimSpace(secret) != secret {
		t.Fatalf("got %q, %v", secret, err)
	}
	path := instance.BackendSecretPath(cfg.Data)
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != secret+"\n" {
		t.Errorf("the file has %q, %v; want %q", text, err, secret)
	}
	return secret
}

func TestBackendSecretIsCreatedOnce(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Data: t.TempDir()}
	first := backendSecret(t, &cfg, nil)
	if again := backendSecret(t, &cfg, nil); again != first {
		t.Errorf("the second time: %q, want %q", again, first)
	}
	if other := backendSecret(t, &config.Config{Data: t.TempDir()}, nil); other == first {
		t.Error("another instance has the same secret")
	}
	cfg.Backend.Secret = "of the setting, long"
	if got, err := instance.BackendSecret(t.Context(), &cfg, nil); err != nil || got != cfg.Backend.Secret {
		t.Errorf("with the setting: %q, %v", got, err)
	}
}

func TestProcessesOfADatabaseShareTheBackendSecret(t *testing.T) {
	t.Parallel()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	st := store.New(engine)
	secrets, err := seal.Open(t.Context(), st.Secrets, seal.MasterKey{1}, true)
	if err != nil {
		t.Fatal(err)
	}
	moved := config.Config{Data: t.TempDir()} // a folder of one process, which then serves a database
	own := backendSecret(t, &moved, nil)
	if shared := backendSecret(t, &moved, secrets); shared != own {
		t.Errorf("the first process has %q, want the secret of its folder %q", shared, own)
	}
	second, third := config.Config{Data: t.TempDir()}, config.Config{Data: t.TempDir()}
	backendSecret(t, &third, nil)
	for _, cfg := range []*config.Config{&second, &third, &moved} {
		if shared := backendSecret(t, cfg, secrets); shared != own {
			t.Errorf("another process has %q, want %q", shared, own)
		}
	}
	stored, err := st.Secrets.Secrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, w := range stored {
		found = found || w.Name == seal.Backend
		if strings.Contains(string(w.Sealed), own) {
			t.Errorf("%s is stored in the clear", w.Name)
		}
	}
	if !found {
		t.Error("the secret is not stored")
	}
}

func TestBackendSecretThatCannotBeWrittenIsUsed(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Data: filepath.Join(t.TempDir(), "missing")}
	if secret, err := instance.BackendSecret(t.Context(), &cfg, nil); err == nil || len(secret) < 32 {
		t.Errorf("got %q, %v; want an error and a secret", secret, err)
	}
}

func TestShortBackendSecretFileIsAMistake(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Data: t.TempDir()}
	if err := os.WriteFile(instance.BackendSecretPath(cfg.Data), []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := instance.BackendSecret(t.Context(), &cfg, nil)
	if wrong, ok := errors.AsType[*config.Error](err); !ok || wrong.Setting != "backend.secret" || strings.Contains(err.Error(), "short\n") {
		t.Errorf("got %v, want a mistake in backend.secret", err)
	}
}
