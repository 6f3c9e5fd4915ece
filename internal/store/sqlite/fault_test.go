package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/problem"
)

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable || p.RetryAfter <= 0 {
		t.Fatalf("got %v, want unavailable with a time to try again", err)
	}
}

// fill inserts a row that needs many pages.
func fill(e *Engine, n int) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := e.main.In(ctx).Exec(ctx, "INSERT INTO item (n, filler) VALUES ($1, zeroblob(1000000))", n)
		return err
	}
}

// max_page_count makes SQLite itself answer SQLITE_FULL, as a full disk does, without a file system to fill.
func TestFullDatabaseAnswers503ToTheGroupAndRecoversByItself(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	table(t, e)
	limit := func(pages int) func(context.Context) error {
		return func(ctx context.Context) error {
			return e.main.In(ctx).QueryRow(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&pages)
		}
	}
	if err := e.main.Run(t.Context(), limit(1)); err != nil { // raised to what there is
		t.Fatal(err)
	}
	errs := group(t, e, inserting(e, 1), fill(e, 2), inserting(e, 3))
	for _, err := range errs {
		wantUnavailable(t, err)
	}
	if err := e.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Errorf("ready while full: %v", err)
	}
	wantUnavailable(t, e.main.Run(t.Context(), inserting(e, 4)))
	wantRows(t, e) // reading goes on, and nothing of the group is there

	// Space comes back. The writer's connection is idle between two probes.
	if _, err := e.main.session.conn.ExecContext(t.Context(), "PRAGMA max_page_count = 1000000"); err != nil {
		t.Fatal(err)
	}
	untilReady(t, e)
	if err := e.main.Run(t.Context(), fill(e, 5)); err != nil {
		t.Errorf("after space came back: %v", err)
	}
	wantRows(t, e, 5)
}

func untilReady(t *testing.T, e *Engine) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		err := e.Ready(t.Context())
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not ready again: %v", err)
		}
	}
}

func TestFullFileSystemLosesNothingAcknowledgedAndRecovers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=6m"); err != nil {
		t.Skipf("SKIPPED: a small file system cannot be mounted here (%v); the full database above is tested all the same", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
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

func TestLockHeldByAnotherProgramIsWaitedForAndThenRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, dir)
	table(t, e)
	if _, err := e.main.session.conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 50"); err != nil {
		t.Fatal(err)
	}
	other, err := openDatabase(t.Context(), filepath.Join(dir, mainFile), mainFile, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.session.exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	wantUnavailable(t, e.main.Run(t.Context(), inserting(e, 1)))
	if err := other.session.exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := other.close(); err != nil {
		t.Fatal(err)
	}
	untilReady(t, e)
	if err := e.main.Run(t.Context(), inserting(e, 2)); err != nil {
		t.Errorf("after the lock was given back: %v", err)
	}
	wantRows(t, e, 2)
}

func TestLogThatAReaderKeepsIsReported(t *testing.T) {
	t.Parallel()
	var log lockedBuffer
	e, err := Open(t.Context(), Options{
		Dir: t.TempDir(), ProbeEvery: time.Millisecond, LargeLog: 10 << 20, Log: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	table(t, e)
	if err := e.main.Run(t.Context(), inserting(e, 0)); err != nil {
		t.Fatal(err)
	}
	rows, err := e.main.In(t.Context()).Query(t.Context(), "SELECT n FROM item")
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 15; n++ {
		if err := e.main.Run(t.Context(), fill(e, n)); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); !strings.Contains(log.String(), "write-ahead log is large"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no warning: %s", log.String())
		}
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "write-ahead log is large"); n != 1 {
		t.Errorf("%d warnings, want 1", n)
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
		t.Skipf("SKIPPED: strace may not trace here: %s", out)
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
	e, err := Open(t.Context(), Options{Dir: dir, ProbeEvery: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	const many = 5000
	for ; acknowledged < many; acknowledged++ {
		if err := e.main.Run(t.Context(), inserting(e, acknowledged)); err != nil {
			wantUnavailable(t, err)
			break
		}
	}
	if acknowledged == many {
		t.Fatal("no write was refused")
	}
	fmt.Printf("acknowledged %d, refused at %d\n", acknowledged, acknowledged)
	time.Sleep(50 * time.Millisecond) // many probes would have come and gone
	wantUnavailable(t, e.main.Run(t.Context(), inserting(e, many)))
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

// needStrace gives strace's path; `make test` installs it where it can. Without it the test is skipped, and fails where CI
// says that everything has to be shown.
func needStrace(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("strace is not installed")
		}
		t.Skip("NOT SHOWN: strace is not installed")
	}
	return path
}
