package backup_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/backup"
)

func kindOf(err error) problem.Kind {
	p, _ := problem.As(err)
	if p == nil {
		return problem.Internal
	}
	return p.Kind
}

// copying is a Snapshots whose copies take a minute and a half.
func copying(t *testing.T, result error) *backup.Snapshots {
	t.Helper()
	return backup.NewSnapshots(backup.Options{
		Dir: t.TempDir(), Instance: "I", Size: func() int64 { return 10 }, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Take: func(ctx context.Context, dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "main.db"), []byte("12345"), 0o600); err != nil {
				return err
			}
			select {
			case <-time.After(90 * time.Second):
				return result
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Made: func(context.Context, string, string) error { return nil },
	})
}

func TestASnapshotIsKeptWhileSomebodyAsksForIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := copying(t, nil)
		made, err := s.Start("local")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Start("local"); kindOf(err) != problem.Conflict {
			t.Errorf("a second one beside it: %v", err)
		}
		for range 4 {
			time.Sleep(50 * time.Second)
			if made, err = s.Snapshot(made.ID); err != nil {
				t.Fatal(err)
			}
		}
		if made.State != backup.Ready || made.Bytes != 5 || made.Total != 10 {
			t.Errorf("after all that time it is %+v", made)
		}
		time.Sleep(61 * time.Second) // and no call in between
		if _, err := s.Snapshot(made.ID); kindOf(err) != problem.NotFound {
			t.Errorf("it is still kept: %v", err)
		}
		if _, err := os.Stat(made.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("its files are still there: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestASnapshotThatIsDiscardedStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := copying(t, nil)
		made, err := s.Start("local")
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := s.Discard(made.ID); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("it went on for %s", took)
		}
		if err := s.Discard(made.ID); kindOf(err) != problem.NotFound {
			t.Errorf("discarding it again: %v", err)
		}
		if made, err = s.Start("local"); err != nil {
			t.Fatalf("the next one: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(made.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the files of the one that a stop ended are still there: %v", err)
		}
		if _, err := s.Start("local"); kindOf(err) != problem.Unavailable {
			t.Errorf("one more after the stop: %v", err)
		}
	})
}

func TestASnapshotThatFailsSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := copying(t, errors.New("the disk is full"))
		made, err := s.Start("local")
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(40 * time.Second)
			if made, err = s.Snapshot(made.ID); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(made.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("its files are still there: %v", err)
		}
		if made.State != backup.Failed || made.Problem != "the disk is full" {
			t.Errorf("it is %+v", made)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestASnapshotThatWouldFillTheDiskIsRefused(t *testing.T) {
	t.Parallel()
	s := copying(t, nil)
	s.Free = func() int64 { return 64<<20 + 9 } // it has 10 bytes
	if _, err := s.Start("local"); kindOf(err) != problem.Conflict {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(s.Dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestLeftoverSnapshotsAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "snapshot-X", "main.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	backup.NewSnapshots(backup.Options{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
