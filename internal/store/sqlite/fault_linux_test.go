package sqlite

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/testing/testtier"
)

func TestFullFileSystemLosesNothingAcknowledgedAndRecovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mount(t, "tmpfs", dir, 0, "size=6m")
	e, err := Open(t.Context(), Options{Dir: dir, ProbeEvery: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	table(t, e)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var acknowledged []int
	full := false
	for n := range 40 {
		if err := e.main.Run(t.Context(), fill(e, n)); err != nil {
			wantUnavailable(t, err)
			if !strings.Contains(err.Error(), "Nothing was saved") {
				t.Errorf("a write to a full disk: %v", err)
			}
			full = true
			break
		}
		acknowledged = append(acknowledged, n)
	}
	if !full || len(acknowledged) == 0 {
		t.Fatalf("%d rows fitted, full %v", len(acknowledged), full)
	}
	wantRows(t, e, acknowledged...)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	untilReady(t, e)
	if err := e.main.Run(t.Context(), inserting(e, 100)); err != nil {
		t.Fatalf("after space came back: %v", err)
	}
	acknowledged = append(acknowledged, 100)
	wantRows(t, e, acknowledged...)
	if err := e.main.quickCheck(t.Context()); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(t.Context(), Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	wantRows(t, again, acknowledged...)
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// helperDir makes this test binary, run again under strace, write to a folder until a write is refused.
const helperDir = "KEEPSAKE_TEST_FSYNC_DIR"

// The kernel reports a failed fsync once and then forgets the pages. So nothing may be acknowledged after it, whatever
// later calls say, until a restart has read what is really there.
func TestFailedFsyncStopsWritingForGood(t *testing.T) {
	if dir := os.Getenv(helperDir); dir != "" {
		writeUntilRefused(t, dir)
		return
	}
	t.Parallel()
	strace := needStrace(t)
	dir := t.TempDir()
	first := open(t, dir)
	table(t, first)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	// One call of each thread fails; all others succeed, those after it, too, and must not be believed.
	cmd := exec.Command(strace, "-f", "-qq", "-o", filepath.Join(t.TempDir(), "trace"), "-e", "trace=fsync,fdatasync",
		"-e", "inject=fsync,fdatasync:error=EIO:when=30", os.Args[0], "-test.run=^TestFailedFsyncStopsWritingForGood$", "-test.v")
	cmd.Env = append(os.Environ(), helperDir+"="+dir)
	out, err := cmd.CombinedOutput()
	if err != nil && strings.Contains(string(out), "ptrace") {
		testtier.Missing(t, "the right to trace processes: "+string(out))
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var acknowledged, at int
	if _, err := fmt.Sscanf(string(out[strings.Index(string(out), "acknowledged"):]), "acknowledged %d, refused at %d", &acknowledged, &at); err != nil {
		t.Fatalf("no report from the helper: %v\n%s", err, out)
	}
	again := open(t, dir)
	var n int
	if err := again.main.In(t.Context()).QueryRow(t.Context(), "SELECT count(*) FROM item WHERE n < $1", at).Scan(&n); err != nil {
		t.Fatal(err)
	}
	if n != acknowledged || acknowledged == 0 {
		t.Errorf("%d of %d acknowledged rows are there", n, acknowledged)
	}
}

func writeUntilRefused(t *testing.T, dir string) {
	e, err := Open(t.Context(), Options{Dir: dir, ProbeEvery: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	unknown := false
	const many = 5000
	for ; acknowledged < many; acknowledged++ {
		if err := e.main.Run(t.Context(), inserting(e, acknowledged)); err != nil {
			wantUnavailable(t, err)
			unknown = strings.Contains(err.Error(), "the outcome is unknown")
			break
		}
	}
	if !unknown {
		t.Error("the refusal of the commit does not say that its outcome is unknown")
	}
	if acknowledged == many {
		t.Fatal("no write was refused")
	}
	fmt.Printf("acknowledged %d, refused at %d\n", acknowledged, acknowledged)
	for range 3 { // the writer is idle
		e.main.writer.probe()
	}
	refused := e.main.Run(t.Context(), inserting(e, many))
	wantUnavailable(t, refused)
	if !strings.Contains(refused.Error(), "Nothing was saved") {
		t.Errorf("a write that was not tried: %v", refused)
	}
	if err := e.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "fsync") {
		t.Errorf("ready after a failed fsync: %v", err)
	}
	var n int
	if err := e.main.In(t.Context()).QueryRow(t.Context(), "SELECT count(*) FROM item").Scan(&n); err != nil {
		t.Errorf("reading has stopped, too: %v", err)
	}
	if err := e.Close(); err != nil && !errors.Is(err, syscall.EIO) {
		t.Log(err)
	}
}

// needStrace gives the path of strace.
func needStrace(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		testtier.Missing(t, "strace")
	}
	return path
}

// mount mounts a file system until t ends.
func mount(t *testing.T, source, dir string, flags uintptr, options string) {
	t.Helper()
	kind := ""
	if source == "tmpfs" {
		kind = source
	}
	if err := syscall.Mount(source, dir, kind, flags, options); err != nil {
		testtier.Missing(t, "the right to mount file systems: "+err.Error())
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}
