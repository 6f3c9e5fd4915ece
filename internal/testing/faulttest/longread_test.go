package faulttest

import (
	"bufio"
	"bytes"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/store"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// readsEnv is the environment variable that makes the test binary another program, which keeps a read transaction of a SQLite
// file open, as an open sqlite3 or a backup tool does.
const readsEnv = "KEEPSAKE_FAULT_READS"

// readOn reads until its input ends, and ends the process.
func readOn(path string) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro")
	if err == nil {
		db.SetMaxOpenConns(1)
		_, err = db.Exec("BEGIN; SELECT count(*) FROM sqlite_schema")
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("reading")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// readsOn starts another program that reads a file until end is called.
func readsOn(t *testing.T, path string) (end func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), readsEnv+"="+path)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // if the test has ended before
		_ = cmd.Wait()
	})
	if line, _ := bufio.NewReader(out).ReadString('\n'); line != "reading\n" {
		t.Fatalf("the reader of %s: %s", path, line)
	}
	return func() { in.Close() }
}

// logSize returns the size of the write-ahead log of main.db that the metrics tell.
func (s *server) logSize() (bytes float64) {
	s.t.Helper()
	res, err := http.Get(s.BackendURL + "/metrics")
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	_, value, found := strings.Cut(string(text), `keepsake_storage_wal_bytes{database="main"} `)
	if _, err := fmt.Sscan(value, &bytes); !found || err != nil {
		s.t.Fatalf("the metrics do not tell the size of the log: %v", err)
	}
	return bytes
}

// TestAReaderThatDoesNotEndIsReported holds a read transaction in another program until the write-ahead log is too large.
func TestAReaderThatDoesNotEndIsReported(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "its files are read")
	testtier.Long(t, "writes a hundred megabytes")
	dir, _, s := served(t)
	doctor := func() string {
		_, text := programtest.Run(t, "doctor", "--data", dir)
		return text
	}
	end := readsOn(t, filepath.Join(dir, "main.db"))
	text := strings.Repeat("a long read ", 10_000)
	written := 0
	for s.logSize() <= store.LargeLog {
		if written > 2000 {
			t.Fatalf("the log is small after %d documents", written)
		}
		var lines bytes.Buffer
		for i := range 50 { // equal ones would be one document
			fmt.Fprintf(&lines, `{"title":"%d","text":"%s"}`+"\n", written+i, text)
		}
		status, answer, err := s.Send(t.Context(), s.Key, http.MethodPost, "/api/v1/documents/import", "application/x-ndjson", lines.Bytes())
		if err != nil || status != http.StatusOK || !strings.Contains(string(answer), `"created":50`) {
			t.Fatalf("an import: %d %s %v", status, answer, err)
		}
		written += 50
	}
	await.Until(t, "the readiness check says that it is degraded by the log", func() bool {
		status, degraded := s.readiness()
		return status == "degraded" && strings.Contains(degraded, "wal")
	})
	if text := doctor(); !strings.Contains(text, "main.db-wal") {
		t.Errorf("doctor does not name the log:\n%s", text)
	}
	s.Must(http.StatusCreated, http.MethodPut, "/api/v1/documents/beside", document(0, "beside"))
	end()
	await.Until(t, "the log has its resting size", func() bool { return s.logSize() <= 4<<20 })
	await.Until(t, "the readiness check says nothing of the log", func() bool {
		_, degraded := s.readiness()
		return !strings.Contains(degraded, "wal")
	})
	if text := doctor(); strings.Contains(text, "main.db-wal") {
		t.Errorf("doctor names a log that is small:\n%s", text)
	}
	if n := s.Must(http.StatusOK, http.MethodGet, "/api/v1/search?q=read", nil)["total"]; n != float64(written) {
		t.Errorf("%v documents are found, want %d", n, written)
	}
	s.MustLive()
}

// TestALogThatFillsTheDiskLosesNothing lets the write-ahead log fill a small disk because another program reads. Writes are
// refused, everything else works, and writes work again with more space when the reader has ended.
func TestALogThatFillsTheDiskLosesNothing(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "its files are on the disk that is full")
	testtier.Long(t, "fills a disk of 40 MB")
	disk := smallDisk(t, "40m")
	dir := filepath.Join(disk, "data")
	s := start(t, dir, "")
	s.Must(http.StatusCreated, http.MethodPut, "/api/v1/documents/kept", document(0, "kept"))
	end := readsOn(t, filepath.Join(dir, "main.db"))
	acked := s.writesUntilRefused(strings.Repeat("full disk ", 20_000))
	if n := s.logSize(); n < 16<<20 {
		t.Errorf("the log has %.0f bytes: it does not fill the disk", n)
	}
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/kept", nil)
	s.awaitStatus("degraded")
	if !s.Ready() {
		t.Error("not ready although reads work")
	}
	end()
	enlarge(t, disk, "120m")
	s.writesAgain()
	await.Until(t, "the log has its resting size", func() bool { return s.logSize() <= 4<<20 })
	s.awaitStatus("healthy")
	check := func() {
		for id := range acked {
			s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/"+id, nil)
		}
	}
	check()
	s.MustLive()
	s.Kill()
	s = start(t, dir, s.Key)
	check()
}
