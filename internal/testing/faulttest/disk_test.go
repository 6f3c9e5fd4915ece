package faulttest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// TestAFullDiskIs503AndRecoversWithoutARestart fills a small file system, writes, and frees it again.
func TestAFullDiskIs503AndRecoversWithoutARestart(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "its files are on the disk that is full")
	testtier.Long(t, "fills a disk; the quick tier injects the error")
	disk := smallDisk(t, "12m")
	dir := filepath.Join(disk, "data")
	s := start(t, dir, "")
	s.Must(http.StatusCreated, http.MethodPut, "/api/v1/documents/kept", document(0, "kept"))
	status, secret, key1, err := s.newKey(context.Background(), "leaked")
	if err != nil || status != http.StatusCreated {
		t.Fatalf("create key: %d %v", status, err)
	}
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	text := strings.Repeat("full disk ", 2000)
	acked := s.writesUntilRefused(text)
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/kept", nil)
	s.awaitStatus("degraded")
	if !s.Ready() {
		t.Error("not ready although reads work")
	}
	s.revokesOnAFullDisk(key1, secret)
	status, _, err = s.Send(context.Background(), s.Key, http.MethodPost, "/api/v1/documents/import", "application/x-ndjson", []byte(`{"id":"x","text":"`+text+`"}`))
	if err != nil || status != http.StatusServiceUnavailable && status != http.StatusOK {
		t.Errorf("an import on a full disk: %d %v, want 503", status, err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s.writesAgain()
	s.awaitRevocation(key1)
	for id := range acked {
		s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/"+id, nil)
	}
	s.MustLive()
	key := s.stopped()
	s = start(t, dir, key)
	for id := range acked {
		s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/"+id, nil)
	}
}

// writesUntilRefused writes documents until the disk says no: what is small may still fit into pages that exist.
func (s *server) writesUntilRefused(text string) (acked map[string]bool) {
	s.t.Helper()
	acked = map[string]bool{}
	refused := 0
	for i := 0; refused < 5 && i < 500; i++ {
		id := fmt.Sprintf("full%d", i)
		status, answer, err := s.Do(context.Background(), http.MethodPut, "/api/v1/documents/"+id, document(0, text))
		switch {
		case err == nil && status == http.StatusCreated:
			acked[id] = true
		case err == nil && status == http.StatusServiceUnavailable:
			refused++
		default:
			s.t.Fatalf("a write to a full disk: %d %s %v, want 201 or 503\n%s", status, answer, err, s.Log.Tail())
		}
	}
	if refused < 5 {
		s.t.Fatalf("500 documents of %d bytes fit on the disk", len(text))
	}
	return acked
}

// TestRevocationOnAFullDiskSurvivesAKill revokes a key on a full disk and kills the process before that can be stored.
func TestRevocationOnAFullDiskSurvivesAKill(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "its files are on the disk that is full")
	disk := smallDisk(t, "12m")
	dir := filepath.Join(disk, "data")
	s := start(t, dir, "")
	status, secret, id, err := s.newKey(context.Background(), "leaked")
	if err != nil || status != http.StatusCreated {
		t.Fatalf("create key: %d %v", status, err)
	}
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	s.writesUntilRefused(strings.Repeat("full disk ", 2000))
	s.revokesOnAFullDisk(id, secret)
	s.Kill()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	s = start(t, dir, s.Key)
	if status, answer, err := s.Send(context.Background(), secret, http.MethodGet, "/api/v1/health", "", nil); err != nil || status != http.StatusUnauthorized {
		t.Errorf("the revoked key after a restart: %d %s %v", status, answer, err)
	}
	s.awaitRevocation(id)
}

// TestAFirstStartOnAFullDiskIsOneLine has no room from the beginning, then some.
func TestAFirstStartOnAFullDiskIsOneLine(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "12m")
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	dir := filepath.Join(disk, "data")
	launch(t, dir).Refusal()
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	start(t, dir, "") // what the failed start left behind does not stand in the way
}

// fill writes a file until its file system is full.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
}

// TestAReadOnlyFolderIsOneLine starts where nothing may be written: as a new folder, as an existing one, and where a
// file stands in the folder's place.
func TestAReadOnlyFolderIsOneLine(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "its files cannot be written")
	const nobody = 65534
	parent := openFolder(t)
	var user []programtest.Option
	if os.Getuid() == 0 {
		user = append(user, programtest.As(nobody)) // modes do not bind root
	}
	fresh := filepath.Join(parent, "fresh")
	if err := os.Chmod(parent, 0o555); err != nil {
		t.Fatal(err)
	}
	line := launch(t, fresh, user...).Refusal()
	if !strings.Contains(line, "fresh") {
		t.Errorf("the line does not name the folder: %s", line)
	}

	original, _ := filled(t)
	existing := openFolder(t)
	for _, name := range []string{"main.db", "keys.db", "usage.db", "master.key"} {
		data, err := os.ReadFile(filepath.Join(original, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(existing, name), data, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(existing, 0o555); err != nil {
		t.Fatal(err)
	}
	before := fingerprint(t, existing)
	launch(t, existing, user...).Refusal()
	if fingerprint(t, existing) != before {
		t.Errorf("a read-only folder was changed")
	}

	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "not a folder")
	if line := launch(t, file).Refusal(); !strings.Contains(line, "file") {
		t.Errorf("the line does not name the file: %s", line)
	}
}

// openFolder makes a folder that every user may enter.
func openFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "keepsake-open-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Chmod(dir, 0o755) // so that it can be removed
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
