package instance_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"keepsake/internal/config"
	"keepsake/internal/instance"
)

func TestBackendSecretIsCreatedOnce(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Data: t.TempDir()}
	first, err := instance.BackendSecret(&cfg)
	if err != nil || len(first) < 32 || strings.TrimSpace(first) != first {
		t.Fatalf("got %q, %v", first, err)
	}
	info, err := os.Stat(instance.BackendSecretPath(cfg.Data))
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if again, err := instance.BackendSecret(&cfg); err != nil || again != first {
		t.Errorf("the second time: %q, %v; want %q", again, err, first)
	}
	cfg.Backend.Secret = "of the setting, long"
	if got, err := instance.BackendSecret(&cfg); err != nil || got != cfg.Backend.Secret {
		t.Errorf("with the setting: %q, %v", got, err)
	}
}

func TestShortBackendSecretFileIsAMistake(t *testing.T) {
	t.Parallel()
	cfg := config.Config{Data: t.TempDir()}
	if err := os.WriteFile(instance.BackendSecretPath(cfg.Data), []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := instance.BackendSecret(&cfg)
	if wrong, ok := errors.AsType[*config.Error](err); !ok || wrong.Setting != "backend.secret" || strings.Contains(err.Error(), "short\n") {
		t.Errorf("got %v, want a mistake in backend.secret", err)
	}
}
