package faulttest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(readsEnv); path != "" {
		readOn(path)
	}
	programtest.Main(m)
}

// patience only ends what hangs; it is not a bound on anything.
const patience = 2 * time.Minute

// server is the program as a process.
type server struct {
	*programtest.Process
	t testing.TB
}

// launch starts the program on a folder and does not wait for it to be ready.
func launch(t testing.TB, dir string, options ...programtest.Option) *server {
	t.Helper()
	if apptest.OnPostgres(t) {
		testtier.Long(t, "the quick tier starts the program on the embedded engine")
	}
	return &server{Process: programtest.Launch(t, dir, options...), t: t}
}

// start starts the program and waits until it is ready. On a new folder key is empty.
func start(t testing.TB, dir, key string, options ...programtest.Option) *server {
	t.Helper()
	s := launch(t, dir, append(options, programtest.Key(key))...)
	s.AwaitReady()
	return s
}

// copyDir copies a data folder whose server has ended, without its socket.
func copyDir(t testing.TB, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "data")
	apptest.Share(from, to)
	err := filepath.Walk(from, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		switch {
		case info.IsDir():
			return os.MkdirAll(target, 0o700)
		case !info.Mode().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, info.Mode().Perm())
	})
	if err != nil {
		t.Fatalf("copy %s: %v", from, err)
	}
	return to
}
