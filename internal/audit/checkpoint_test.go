package audit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func lines(t *testing.T, path string) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(data, []byte("\n"))
}

func TestACheckpointIsWrittenWhenThereIsSomethingNew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := setupIn(t, dir)
	b.checkpoint(t)
	if _, err := os.Stat(b.Checkpoints); !os.IsNotExist(err) {
		t.Errorf("an empty log has checkpoints: %v", err)
	}
	b.write(t, 1)
	b.checkpoint(t)
	b.checkpoint(t)
	if n := lines(t, b.Checkpoints); n != 1 {
		t.Errorf("%d checkpoints of one row", n)
	}
	info, err := os.Stat(b.Checkpoints)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestALineThatWasNeverWholeMakesRoom(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(t, 1)
	b.checkpoint(t)
	good, err := os.ReadFile(b.Checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	torn := append(bytes.Clone(good), bytes.Repeat([]byte("x"), 1000)...)
	if err := os.WriteFile(b.Checkpoints, torn, 0o600); err != nil {
		t.Fatal(err)
	}
	b.write(t, 1)
	b.checkpoint(t)
	if v := b.verify(t); v.Break != nil || v.Checkpoints != 2 {
		t.Errorf("%+v, want two checkpoints", v)
	}
}

func TestALargeFileKeepsItsNewestCheckpoints(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.write(t, 1)
	b.checkpoint(t)
	one, err := os.ReadFile(b.Checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.Checkpoints, bytes.Repeat(one, 1<<20/len(one)+1), 0o600); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Minute)
	b.write(t, 1)
	b.checkpoint(t)
	if v := b.verify(t); v.Break != nil || v.Checkpoints != 1001 {
		t.Errorf("%+v, want 1,001 checkpoints", v)
	}
	if left, _ := filepath.Glob(b.Checkpoints + "*"); len(left) != 1 {
		t.Errorf("left in the folder: %v", left)
	}
}
