package faulttest

import (
	"context"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// TestADamagedDatabaseIsNeverAnEmptyOne writes rubbish at random places of the databases, of the write-ahead log and of
// the index. The program may refuse to start, by one line, or serve what can still be read, with a 5xx for the rest; it
// may not panic, hang, or pretend that there is nothing.
func TestADamagedDatabaseIsNeverAnEmptyOne(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "its files are damaged")
	dir := t.TempDir()
	s := start(t, dir, "")
	for i := range 60 {
		id := "d" + string(rune('a'+i%26)) + string(rune('a'+i/26))
		s.Must(http.StatusCreated, http.MethodPut, "/api/v1/documents/"+id, document(0, strings.Repeat("ledger ", 400)))
	}
	key := s.Key
	s.Kill() // leaves a write-ahead log, and makes the next start check the databases
	whole := copyDir(t, dir)
	start(t, dir, key).Stop() // and once more in order: everything is in the databases themselves
	for name, from := range map[string]string{"main.db": dir, "keys.db": dir, "main.db-wal": whole, "usage.db": dir, "usage.db-wal": whole} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused, served := 0, 0
			for seed := range testtier.Rounds(1, 10) {
				random := rand.New(rand.NewPCG(uint64(seed), 0)) // the same damage each time
				damaged := copyDir(t, from)
				spoil(t, random, filepath.Join(damaged, name))
				if outcome(t, damaged, key, strings.HasPrefix(name, "main.db-")) {
					served++
				} else {
					refused++
				}
			}
			t.Logf("%s: %d served, %d refused", name, served, refused)
		})
	}
}

// spoil overwrites a stretch of a file with rubbish.
func spoil(t *testing.T, random *rand.Rand, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) == 0 {
		t.Fatalf("%s is empty: nothing to damage", path)
	}
	at := random.IntN(len(data))
	for i := at; i < min(len(data), at+1+random.IntN(4096)); i++ {
		data[i] = byte(random.Uint32())
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// outcome starts on a damaged folder and says whether it served. A damaged log may have lost its tail, as a torn write
// does; mayLose allows that.
func outcome(t *testing.T, dir, key string, mayLose bool) bool {
	t.Helper()
	s := launch(t, dir)
	defer s.Kill()
	s.Key = key
	served := false
	await.Until(t, "the program serves or refuses", func() bool {
		status, _, err := s.Do(context.Background(), http.MethodGet, "/api/v1/health", nil)
		served = err == nil && status > 0
		return served || s.Ended()
	})
	if !served {
		s.Refusal()
		return false
	}
	for _, path := range []string{"/api/v1/documents?limit=200", "/api/v1/search?q=ledger", "/api/v1/developer/api-keys", "/api/v1/documents/daa"} {
		status, answer, err := s.Do(context.Background(), http.MethodGet, path, nil)
		if err != nil {
			t.Errorf("%s on a damaged database: %v", path, err)
		}
		if status == http.StatusOK && strings.Contains(string(answer), `"items":[]`) && !mayLose {
			t.Errorf("%s on a damaged database says that there is nothing: %s", path, answer)
		}
	}
	if mayLose { // the index may know more than the store does now; it has to notice
		listed := len(s.documents(0))
		if total := s.Must(http.StatusOK, http.MethodGet, "/api/v1/search?q=ledger", nil)["total"]; total != float64(listed) {
			t.Errorf("after the log lost its tail there are %d documents, and the index finds %v", listed, total)
		}
	}
	status, _, err := s.Do(context.Background(), http.MethodPut, "/api/v1/documents/after", document(0, "after"))
	if err != nil || status == http.StatusNotFound {
		t.Errorf("a write to a damaged database: %d %v", status, err)
	}
	s.MustLive()
	if _, err := os.Stat(filepath.Join(dir, "first-start.json")); err == nil {
		t.Errorf("a damaged database led to a new first start")
	}
	return true
}
