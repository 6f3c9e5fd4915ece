package faulttest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// readyWithin is how long a start may take (issue: under 2 s after a crash), patience is when a tester gives up what has no
// bound of its own.
const (
	readyWithin = 2 * time.Second
	patience    = time.Minute
)

// server is the program as a process.
type server struct {
	*programtest.Process
	t       testing.TB
	started time.Time
	took    time.Duration // until it was ready
}

// launch starts the program on a folder and does not wait for it to be ready.
func launch(t testing.TB, dir string, options ...programtest.Option) *server {
	t.Helper()
	started := time.Now()
	return &server{Process: programtest.Launch(t, dir, options...), t: t, started: started}
}

// start starts the program and waits until it is ready. On a new folder key is empty.
func start(t testing.TB, dir, key string, options ...programtest.Option) *server {
	t.Helper()
	s := launch(t, dir, append(options, programtest.Key(key))...)
	s.AwaitReady()
	s.took = time.Since(s.started)
	return s
}

// restart starts a server on the folder of one that was killed, which has to be quick: where the machine is so full that a
// start in order takes longer than half of that, it may take twice as long as such a start did. Besides a start is late by
// chance there; one that waits for something is late each time, also after one more kill.
func restart(t testing.TB, inOrder time.Duration, dir, key string, options ...programtest.Option) *server {
	t.Helper()
	most := max(readyWithin, 2*inOrder)
	var late []time.Duration
	for {
		s := start(t, dir, key, options...)
		if s.took <= most {
			return s
		}
		if late = append(late, s.took); len(late) == 5 {
			t.Errorf("the start after a kill took %v, want under %s once", late, most)
			return s
		}
		s.Kill()
	}
}

// promptly does what may take so long, and once more where it took longer, five times in all: where other programs take the
// machine it is late by chance, where the server waits for something it is late each time.
func promptly(t testing.TB, most time.Duration, what string, do func()) {
	t.Helper()
	var late []time.Duration
	for range 5 {
		began := time.Now()
		do()
		took := time.Since(began)
		if took <= most {
			return
		}
		late = append(late, took)
	}
	t.Errorf("%s took %v, want at most %s once", what, late, most)
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
