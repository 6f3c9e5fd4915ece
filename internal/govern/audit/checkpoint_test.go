package audit_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"keepsake/internal/govern/audit"
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
	if v := b.verify(t); v.Break() != nil || v.Checkpoints != 2 {
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
	if v := b.verify(t); v.Break() != nil || v.Checkpoints != 1001 {
		t.Errorf("%+v, want 1,001 checkpoints", v)
	}
	if left, _ := filepath.Glob(b.Checkpoints + "*"); len(left) != 1 {
		t.Errorf("left in the folder: %v", left)
	}
}

// Processes on one database vouch for each other's chains, each in a file of its own.
func TestEveryChainIsVouchedForByEveryProcess(t *testing.T) {
	t.Parallel()
	a := setup(t)
	b := a.beside(t, "second")
	a.write(t, 1)
	b.write(t, 2)
	a.checkpoint(t)
	b.checkpoint(t)
	b.write(t, 1)
	a.checkpoint(t) // of b's chain alone
	if n, m := lines(t, a.Checkpoints), lines(t, b.Checkpoints); n != 3 || m != 2 {
		t.Errorf("%d and %d checkpoints, want 3 and 2", n, m)
	}
	for _, one := range []*bundle{a, b} {
		if v := one.verify(t); v.Break() != nil || v.Rows != 4 || len(v.Heads) != 2 {
			t.Errorf("%+v", v)
		}
	}
	// b's chain loses its end: a's file tells, and a's next start, too.
	a.tamper(t, "DELETE FROM audit_log WHERE chain = 'second' AND sequence = 3")
	a.tamper(t, "UPDATE audit_chain SET sequence = 2, hash = (SELECT hash FROM audit_log WHERE chain = 'second' AND sequence = 2) WHERE name = 'second'")
	if v := a.verify(t); v.Break() == nil || v.Break().Chain != "second" || v.Break().Reason != audit.RowCutOff {
		t.Errorf("%+v", v)
	}
}

func TestALargeFileKeepsTheLastCheckpointOfEveryChain(t *testing.T) {
	t.Parallel()
	a := setup(t)
	b := a.beside(t, "gone")
	b.write(t, 1)
	a.checkpoint(t)
	a.write(t, 1)
	a.checkpoint(t)
	data, err := os.ReadFile(a.Checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := bytes.Cut(data, []byte("\n"))
	large := append(append(bytes.Clone(first), '\n'), bytes.Repeat(second, 1<<20/len(second)+1)...)
	if err := os.WriteFile(a.Checkpoints, large, 0o600); err != nil {
		t.Fatal(err)
	}
	a.write(t, 1)
	a.checkpoint(t)
	if v := a.verify(t); v.Break() != nil || v.Checkpoints != 1002 {
		t.Errorf("%+v, want 1,002 checkpoints", v)
	}
	a.tamper(t, "DELETE FROM audit_log WHERE chain = 'gone'")
	a.tamper(t, "DELETE FROM audit_chain WHERE name = 'gone'")
	if v := a.verify(t); v.Break() == nil || v.Break().Chain != "gone" {
		t.Errorf("the chain that is gone: %+v", v)
	}
}
