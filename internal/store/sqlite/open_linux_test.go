package sqlite

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"keepsake/internal/testing/testtier"
)

func TestReadOnlyFileSystemIsRefused(t *testing.T) {
	t.Parallel()
	dir := started(t)
	mount(t, dir, dir, syscall.MS_BIND, "")
	if err := syscall.Mount(dir, dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		testtier.Missing(t, "the right to mount file systems: "+err.Error())
	}
	wantRefused(t, dir, "cannot be written", "read-only")
}

func TestFullFileSystemIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mount(t, "tmpfs", dir, 0, "size=100k")
	_, err := Open(t.Context(), Options{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "disk is full") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that says the disk is full", err)
	}
}

// firstStartDir makes this test binary, run again under strace, open a folder that is yet to be made.
const firstStartDir = "KEEPSAKE_TEST_FIRST_START_DIR"

// A first start that ends at any write or fsync leaves a folder in which the next one succeeds.
func TestFirstStartThatIsKilledIsRepeated(t *testing.T) {
	if dir := os.Getenv(firstStartDir); dir != "" {
		e, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Parallel()
	strace := needStrace(t)
	// Calls are counted for each thread: every start reaches the first of a kind, and not every start reaches a later one.
	points := []string{"fsync:1", "pwrite64:2", "pwrite64:25"}
	if testtier.All() {
		points = append(points, "fsync:3", "fsync:6", "fsync:10", "pwrite64:10", "pwrite64:45", "unlink:1")
	}
	for _, at := range points {
		call, n, _ := strings.Cut(at, ":")
		dir := filepath.Join(t.TempDir(), "data")
		cmd := exec.Command(strace, "-f", "-qq", "-o", os.DevNull, "-e", "trace="+call, "-e", "inject="+call+":signal=KILL:when="+n,
			os.Args[0], "-test.run=^TestFirstStartThatIsKilledIsRepeated$")
		cmd.Env = append(os.Environ(), firstStartDir+"="+dir)
		out, err := cmd.CombinedOutput()
		if err != nil && strings.Contains(string(out), "ptrace") {
			testtier.Missing(t, "the right to trace processes: "+string(out))
		}
		if err == nil && n == "1" && call == "fsync" {
			t.Errorf("it was not killed at %s", at)
		}
		e, err := Open(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Errorf("after an end at %s: %v", at, err)
			continue
		}
		for _, d := range e.files() {
			if err := d.quickCheck(t.Context()); err != nil {
				t.Errorf("after an end at %s: %v", at, err)
			}
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}
