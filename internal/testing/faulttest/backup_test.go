package faulttest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// some documents, enough for a copy of them to take a moment.
const someDocuments = 5_000

func (s *server) importSome() {
	s.t.Helper()
	var lines bytes.Buffer
	for i := range someDocuments {
		fmt.Fprintf(&lines, `{"id":"d%d","text":"kept %d %s"}`+"\n", i, i, strings.Repeat("and kept ", 50))
	}
	status, text, err := s.Send(context.Background(), s.Key, http.MethodPost, "/api/v1/documents/import", "application/x-ndjson", lines.Bytes())
	if err != nil || status != http.StatusOK {
		s.t.Fatalf("import: %d %s %v", status, text, err)
	}
}

// backupPlace is where a test keeps backups.
type backupPlace struct{ data, keys, master string }

func newBackupPlace(t *testing.T, dir string) *backupPlace {
	t.Helper()
	p := &backupPlace{data: t.TempDir(), keys: filepath.Join(t.TempDir(), "keys"), master: filepath.Join(t.TempDir(), "master.key")}
	key, err := os.ReadFile(filepath.Join(dir, "master.key"))
	if err == nil {
		err = os.WriteFile(p.master, key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *backupPlace) backup(dir, name string) []string {
	return []string{"backup", "--data", dir, "--out", filepath.Join(p.data, name), "--keys-out", p.keys}
}

func (p *backupPlace) restore(dir, name string, more ...string) []string {
	return append([]string{"restore", "--data", dir, "--in", filepath.Join(p.data, name), "--keys-in", p.keys, "--master-key-file", p.master}, more...)
}

// runKilled runs a command that is killed after a while, if it has not ended by then. It reports whether it ended well.
func runKilled(t *testing.T, after time.Duration, args ...string) bool {
	t.Helper()
	cmd := programtest.Command(t, args)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	return cmd.Wait() == nil
}

// TestKilledBackupLeavesNoPartialFile kills the command, and then the server, at any moment of a backup.
func TestKilledBackupLeavesNoPartialFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, "")
	s.importSome()
	p := newBackupPlace(t, dir)
	if code, out := programtest.Run(t, p.backup(dir, "first")...); code != 0 {
		t.Fatalf("backup: %d %s", code, out)
	}
	whole := 0
	rounds := testtier.Rounds(2, 8)
	for round := range rounds {
		name := fmt.Sprintf("round%d", round)
		ended := runKilled(t, time.Duration(rand.IntN(250))*time.Millisecond, p.backup(dir, name)...)
		s.Kill()
		if _, err := os.Stat(filepath.Join(p.data, name)); err == nil {
			whole++
		} else if ended {
			t.Errorf("round %d: the command ended well, and made nothing", round)
		}
		s = start(t, dir, s.Key)
		if left, _ := filepath.Glob(filepath.Join(dir, "snapshot-*")); len(left) > 0 {
			t.Errorf("round %d: left after the next start: %v", round, left)
		}
	}
	if code, out := programtest.Run(t, p.backup(dir, "last")...); code != 0 {
		t.Fatalf("the backup after all that: %d %s", code, out)
	}
	s.Stop()
	files, err := os.ReadDir(p.data)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), ".") {
			continue // of a command that was killed: never under the name that was asked for
		}
		if code, out := programtest.Run(t, p.restore(filepath.Join(t.TempDir(), "r"), f.Name())...); code != 0 {
			t.Errorf("%s cannot be restored: %d %s", f.Name(), code, out)
		}
	}
	t.Logf("%d backups were killed, %d of them had made their file by then", rounds, whole)
}

// TestKilledRestoreIsAtomic kills the command at any moment of a restore: what then starts has everything,
// and what has not everything does not start.
func TestKilledRestoreIsAtomic(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "its files are moved into their places")
	dir := t.TempDir()
	s := start(t, dir, "")
	s.importSome()
	p := newBackupPlace(t, dir)
	if code, out := programtest.Run(t, p.backup(dir, "one")...); code != 0 {
		t.Fatalf("backup: %d %s", code, out)
	}
	s.Stop()
	began := time.Now()
	if code, out := programtest.Run(t, p.restore(filepath.Join(t.TempDir(), "timed"), "one")...); code != 0 {
		t.Fatalf("restore: %d %s", code, out)
	}
	takes := time.Since(began)
	outcomes := map[string]int{}
	rounds := testtier.Rounds(1, 10)
	for round := range rounds {
		into := filepath.Join(t.TempDir(), "r")
		runKilled(t, time.Duration(float64(takes)*(0.3+0.8*rand.Float64())), p.restore(into, "one")...)
		switch entries, _ := os.ReadDir(into); {
		case exists(filepath.Join(into, "main.db")):
			outcomes["whole"]++
		case exists(filepath.Join(into, "keys.db")):
			outcomes["cut off between files"]++
			// The folder of what is being restored may be there still, or be gone already.
			if line := launch(t, into).Refusal(); !strings.Contains(line, "main.db is missing") && !strings.Contains(line, "was interrupted") {
				t.Errorf("round %d: the start of half a restore says %s", round, line)
			}
			continue
		default:
			outcomes["none"]++
			if len(entries) > 0 {
				if line := launch(t, into).Refusal(); !strings.Contains(line, "was interrupted") {
					t.Errorf("round %d: the start of a restore that was interrupted says %s", round, line)
				}
			}
			if code, out := programtest.Run(t, p.restore(into, "one")...); code != 0 {
				t.Fatalf("round %d: again, into what is left (%v): %d %s", round, entries, code, out)
			}
		}
		again := start(t, into, s.Key)
		found := again.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/d"+fmt.Sprint(someDocuments-1), nil)
		if found["id"] == nil {
			t.Errorf("round %d: the last document is not there", round)
		}
		again.Kill()
	}
	t.Logf("%d restores, each killed within %s: %v", rounds, takes.Round(time.Millisecond), outcomes)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestRevocationSurvivesKillAndRestore: the journal has every revocation that was answered before the kill.
func TestRevocationSurvivesKillAndRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, "")
	p := newBackupPlace(t, dir)
	rounds := testtier.Rounds(1, 5)
	ctx := context.Background()
	texts := map[string]string{}
	var ids []string
	for i := range 40 * rounds {
		status, text, id, err := s.newKey(ctx, fmt.Sprintf("k%d", i))
		if err != nil || status != http.StatusCreated {
			t.Fatalf("create key: %d %v", status, err)
		}
		texts[id], ids = text, append(ids, id)
	}
	if code, out := programtest.Run(t, p.backup(dir, "one")...); code != 0 {
		t.Fatalf("backup: %d %s", code, out)
	}
	var revoked []string
	for round := range rounds {
		// The kill comes while the next revocation is under way.
		killed, answered := make(chan struct{}), 0
		kill := sync.OnceFunc(func() { go func() { s.Kill(); close(killed) }() })
		for len(ids) > 0 {
			if answered == 3+5*round {
				kill()
			}
			id := ids[0]
			status, _, err := s.Do(ctx, http.MethodPost, "/api/v1/developer/api-keys/"+id+"/revoke", nil)
			if err != nil {
				break
			}
			ids = ids[1:]
			if status == http.StatusOK {
				revoked = append(revoked, id)
				answered++
			}
		}
		await.Receive(t, "the server is killed", killed)
		s = start(t, dir, s.Key)
	}
	s.Kill()
	into := filepath.Join(t.TempDir(), "r")
	if code, out := programtest.Run(t, p.restore(into, "one", "--journal", filepath.Join(dir, "journal.ndjson"))...); code != 0 {
		t.Fatalf("restore: %d %s", code, out)
	}
	again := start(t, into, s.Key, programtest.Env("KEEPSAKE_TIERS_ANONYMOUS_REQUESTS_PER_MINUTE=1000000", "KEEPSAKE_TIERS_ANONYMOUS_DAILY=1000000"))
	for _, id := range revoked {
		if status, text, err := again.Send(ctx, texts[id], http.MethodGet, "/api/v1/health", "", nil); status != http.StatusUnauthorized {
			t.Errorf("%s was revoked before a kill, and after the restore it gets %d %s %v", id, status, text, err)
		}
	}
	live := 0
	for _, id := range ids {
		if status, _, _ := again.Send(ctx, texts[id], http.MethodGet, "/api/v1/health", "", nil); status == http.StatusOK {
			live++
		}
	}
	t.Logf("%d keys were revoked in %d rounds, all of them are after the restore; of the %d others %d work", len(revoked), rounds, len(ids), live)
	if len(revoked) == 0 {
		t.Error("nothing was revoked, so nothing was shown")
	}
}
