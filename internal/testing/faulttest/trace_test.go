package faulttest

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// needStrace gives the path of strace. The test is skipped if it cannot trace.
func needStrace(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("strace")
	if err != nil {
		testtier.Missing(t, "strace")
	}
	if out, err := exec.Command(path, "-f", "-o", os.DevNull, "true").CombinedOutput(); err != nil {
		testtier.Missing(t, fmt.Sprintf("the right to trace a process (%v: %s)", err, out))
	}
	return path
}

// TestFdatasyncComesBeforeThe2xx looks at the system calls around writes: between the request's arrival and the answer's
// departure the log of the database that holds it was synchronised.
func TestFdatasyncComesBeforeThe2xx(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "this process syncs its files; elsewhere the server does")
	trace := filepath.Join(t.TempDir(), "trace")
	s := start(t, t.TempDir(), "")
	ctx := context.Background()
	requests := map[string]func() (int, error){
		"PUT /api/v1/documents/traced": func() (int, error) {
			status, _, err := s.Do(ctx, http.MethodPut, "/api/v1/documents/traced", document(0, "traced"))
			return status, err
		},
		"POST /api/v1/documents/import": func() (int, error) {
			status, _, err := s.Send(ctx, s.Key, http.MethodPost, "/api/v1/documents/import", "application/x-ndjson", []byte(`{"id":"line","text":"traced"}`))
			return status, err
		},
		"POST /api/v1/developer/api-keys ": func() (int, error) {
			status, _, _, err := s.newKey(ctx, "traced")
			return status, err
		},
		"DELETE /api/v1/documents/line": func() (int, error) {
			status, _, err := s.Do(ctx, http.MethodDelete, "/api/v1/documents/line", nil)
			return status, err
		},
	}
	order := []string{
		"PUT /api/v1/documents/traced", "POST /api/v1/documents/import", "POST /api/v1/developer/api-keys ", "DELETE /api/v1/documents/line",
	}
	traced(t, s, func() {
		for _, request := range order {
			if status, err := requests[request](); err != nil || status/100 != 2 {
				t.Errorf("%s: %d %v", request, status, err)
			}
		}
	}, "-y", "-s", "48", "-e", "trace=read,write,fsync,fdatasync", "-o", trace)
	for _, request := range order {
		syncs, err := syncsBetween(trace, request)
		if err != nil {
			t.Errorf("%s: %v", request, err)
		} else if syncs == 0 {
			t.Errorf("%s was answered 2xx without an fdatasync of main.db's log in between", request)
		}
	}
}

var (
	// A system call that another thread's line interrupts is written in two: "… <unfinished ...>" and, when it ends,
	// "<... fdatasync resumed>) = 0".
	syncCall  = regexp.MustCompile(`^(\d+) +(?:fsync|fdatasync)\(\d+<[^>]*main\.db(?:-wal)?>(.*)$`)
	syncEnded = regexp.MustCompile(`^(\d+) +<\.\.\. (?:fsync|fdatasync) resumed>\) += 0`)
)

// syncsBetween counts the synchronisations of main.db that ended between the arrival of a request and its 2xx.
func syncsBetween(trace, request string) (int, error) {
	file, err := os.Open(trace)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	arrived, syncs, waiting := false, 0, map[string]bool{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		line := lines.Text()
		switch {
		case !arrived:
			// A connection that waits for its next request reads one byte ahead: the first letter may be apart.
			arrived = strings.Contains(line, `"`+request) || strings.Contains(line, `"`+request[1:])
		case strings.Contains(line, "write(") && strings.Contains(line, `"HTTP/1.1 2`):
			return syncs, nil
		default:
			if m := syncCall.FindStringSubmatch(line); m != nil {
				if strings.HasSuffix(m[2], "= 0") {
					syncs++
				} else {
					waiting[m[1]] = strings.Contains(m[2], "unfinished")
				}
			} else if m := syncEnded.FindStringSubmatch(line); m != nil && waiting[m[1]] {
				syncs++
				delete(waiting, m[1])
			}
		}
	}
	return 0, fmt.Errorf("request or answer is not in the trace (arrived: %v)", arrived)
}

// TestAFailedFsyncIsNeverPretendedAway lets every fsync fail with EIO. From then on no write is acknowledged, even after the
// disk seems well again, because the kernel can have dropped pages. Reads go on.
func TestAFailedFsyncIsNeverPretendedAway(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "this process syncs its files")
	dir, key, s := served(t)
	inject(t, s, "fsync,fdatasync:error=EIO", func() {
		for i := range 5 {
			s.refusesToWrite(fmt.Sprintf("lost%d", i))
		}
		s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/kept", nil)
		s.Must(http.StatusOK, http.MethodGet, "/api/v1/search?q=kept", nil)
	})
	if testtier.All() {
		time.Sleep(1500 * time.Millisecond) // what works in the background has had its turn
	}
	s.refusesToWrite("later")
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/kept", nil)
	s.MustLive()
	s.Kill()
	s = start(t, dir, key)
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/kept", nil)
	s.Must(http.StatusCreated, http.MethodPut, "/api/v1/documents/again", document(0, "again"))
}

// TestAFullDiskByInjectionIs503AndRecovers lets every write to a file fail with ENOSPC, for a while.
func TestAFullDiskByInjectionIs503AndRecovers(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "this process writes its files")
	_, _, s := served(t)
	status, text, id, err := s.newKey(context.Background(), "leaked")
	if err != nil || status != http.StatusCreated {
		t.Fatalf("create key: %d %v", status, err)
	}
	inject(t, s, "pwrite64:error=ENOSPC", func() {
		for i := range 5 {
			s.refusesToWrite(fmt.Sprintf("lost%d", i))
		}
		s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/kept", nil)
		s.awaitStatus("degraded")
		if !s.Ready() {
			t.Error("not ready although reads work")
		}
		s.revokesOnAFullDisk(id, text)
	})
	s.awaitStatus("healthy")
	s.writesAgain()
	s.awaitRevocation(id)
	for i := range 5 {
		s.Must(http.StatusNotFound, http.MethodGet, fmt.Sprintf("/api/v1/documents/lost%d", i), nil)
	}
	s.MustLive()
}

// served starts a server that has one document.
func served(t *testing.T) (dir, key string, s *server) {
	t.Helper()
	dir = t.TempDir()
	s = start(t, dir, "")
	s.Must(http.StatusCreated, http.MethodPut, "/api/v1/documents/kept", document(0, "kept"))
	return dir, s.Key, s
}

// refusesToWrite wants 503 with Retry-After for a write.
func (s *server) refusesToWrite(id string) {
	s.t.Helper()
	status, answer, err := s.Do(context.Background(), http.MethodPut, "/api/v1/documents/"+id, document(0, id))
	if err != nil || status != http.StatusServiceUnavailable || !strings.Contains(string(answer), `"unavailable"`) {
		s.t.Errorf("a write that cannot be on disk: %d %s %v, want 503 unavailable", status, answer, err)
	}
}

// writesAgain waits until a write works.
func (s *server) writesAgain() {
	s.t.Helper()
	await.Until(s.t, "a write works after the fault is gone", func() bool {
		status, _, err := s.Do(context.Background(), http.MethodPut, "/api/v1/documents/recovered", document(0, "recovered"))
		return err == nil && (status == http.StatusCreated || status == http.StatusOK)
	})
	if total := s.Must(http.StatusOK, http.MethodGet, "/api/v1/search?q=recovered", nil)["total"]; total != 1.0 {
		s.t.Errorf("what was written after the fault is found %v times", total)
	}
}

// revokesOnAFullDisk revokes a key that cannot be stored as revoked: each way is 202, and the key is refused at once.
func (s *server) revokesOnAFullDisk(id, text string) {
	s.t.Helper()
	ctx := context.Background()
	path := "/api/v1/developer/api-keys/" + id
	if status, answer, err := s.Do(ctx, http.MethodPost, path+"/revoke", nil); err != nil || status != http.StatusAccepted || !strings.Contains(string(answer), `"state":"revoked"`) {
		s.t.Errorf("revoke on a full disk: %d %s %v, want 202", status, answer, err)
	}
	if status, answer, err := s.Send(ctx, text, http.MethodGet, "/api/v1/health", "", nil); err != nil || status != http.StatusUnauthorized || !strings.Contains(string(answer), "api_key_revoked") {
		s.t.Errorf("the revoked key: %d %s %v", status, answer, err)
	}
	status, answer, err := s.Send(ctx, s.Key, http.MethodPost, path+"/revoke", "", nil, "Idempotency-Key", "revoke-it-once")
	if err != nil || status != http.StatusAccepted {
		s.t.Errorf("revoke once on a full disk: %d %s %v, want 202", status, answer, err)
	}
	if status, answer, err := s.Do(ctx, http.MethodDelete, path, nil); err != nil || status != http.StatusAccepted {
		s.t.Errorf("delete on a full disk: %d %s %v, want 202", status, answer, err)
	}
}

// awaitRevocation waits until the revocation of a key is stored, which the log of what was done tells.
func (s *server) awaitRevocation(id string) {
	s.t.Helper()
	await.Until(s.t, "the revocation is stored", func() bool {
		status, answer, err := s.Do(context.Background(), http.MethodGet, "/api/v1/admin/audit-log?action=api_key.revoked&target="+id, nil)
		return err == nil && status == http.StatusOK && strings.Contains(string(answer), id)
	})
}

// awaitStatus waits until the health check is 200 and says a word. It looks at the storage once a second.
func (s *server) awaitStatus(want string) {
	s.t.Helper()
	await.Until(s.t, "the health check says "+want, func() bool {
		status, answer, err := s.Do(context.Background(), http.MethodGet, "/api/v1/health", nil)
		return err == nil && status == http.StatusOK && strings.Contains(string(answer), `"status":"`+want+`"`)
	})
}

// inject lets system calls of the running server fail while fn runs.
func inject(t *testing.T, s *server, fault string, fn func()) {
	t.Helper()
	calls, _, _ := strings.Cut(fault, ":")
	traced(t, s, fn, "-e", "trace="+calls, "-e", "inject="+fault, "-o", os.DevNull)
}

// traced runs fn while strace, with these arguments, is attached to the running server.
func traced(t *testing.T, s *server, fn func(), args ...string) {
	t.Helper()
	strace := needStrace(t)
	attached := &programtest.Output{}
	cmd := exec.Command(strace, append([]string{"-f", "-p", fmt.Sprint(s.PID())}, args...)...)
	cmd.Stderr = attached
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "strace is attached to every thread", func() bool { return isTraced(s.PID()) })
	fn()
	_ = cmd.Process.Signal(syscall.SIGINT) // strace detaches and leaves the server as it is
	_ = cmd.Wait()                         // its code is that of the signal
}

// isTraced reports whether another process traces every thread of a process.
func isTraced(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	for _, path := range threads {
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), "TracerPid:\t0\n") {
			return false
		}
	}
	return len(threads) > 0
}
