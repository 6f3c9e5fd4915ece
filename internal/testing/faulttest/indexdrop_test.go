package faulttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// The server is killed while indexes are built for searches and dropped because of a budget that holds two of five. After each start,
// what is in the folder is an index, no dropped one comes back without a search, and every search is right.
func TestIndexesAreRightAfterAKillDuringBuildsAndDrops(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "kills the server in the middle of builds and drops")
	dir := t.TempDir()
	indexes := filepath.Join(dir, "index")
	options := []programtest.Option{programtest.Env("KEEPSAKE_SEARCH_DISK_BUDGET=900000", "KEEPSAKE_INDEX_OPEN=1")}
	s := programtest.Start(t, dir, options...)
	options = append(options, programtest.Key(s.Key))
	const workspaces, documents = 5, 1_500
	var keys []string
	for w := range workspaces {
		workspace := s.Must(http.StatusCreated, "POST", "/api/v1/admin/workspaces", map[string]any{"name": fmt.Sprint("w", w), "tier": "unlimited"})
		key := s.Must(http.StatusCreated, "POST", "/api/v1/developer/api-keys",
			map[string]any{"name": "all", "scopes": []string{"read", "write"}, "workspaceId": workspace["id"]})["key"].(string)
		keys = append(keys, key)
		var lines strings.Builder
		for i := range documents {
			fmt.Fprintf(&lines, `{"id":"d%d","text":"stone`, i)
			for n := range 60 {
				fmt.Fprintf(&lines, " w%d", (i*31+n*n*7)%5_000)
			}
			lines.WriteString("\"}\n")
		}
		status, text, err := s.Send(t.Context(), key, "POST", "/api/v1/documents/import", "application/x-ndjson", []byte(lines.String()))
		if err != nil || status != http.StatusOK {
			t.Fatalf("import: %d %s %v", status, text, err)
		}
	}
	finds := func(s *programtest.Process, w int) {
		t.Helper()
		status, text, err := s.Send(t.Context(), keys[w], "GET", "/api/v1/search?q=stone", "", nil)
		if err != nil || status != http.StatusOK || !strings.Contains(string(text), fmt.Sprintf(`"total":%d`, documents)) {
			t.Errorf("a search of workspace %d: %d %s %v", w, status, text, err)
		}
	}
	random := rand.New(rand.NewPCG(3, 4))
	for range 12 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				_, _, _ = s.Send(ctx, keys[rand.IntN(workspaces)], "GET", "/api/v1/search?q=stone", "", nil)
			}
		}()
		time.Sleep(time.Duration(100+random.IntN(900)) * time.Millisecond) // the moment of the kill
		s.Kill()
		cancel()
		<-ended
		before := namesIn(t, indexes)
		s = programtest.Start(t, dir, options...)
		await.Until(t, "the folder contains nothing but indexes that it contained before", func() bool {
			for name := range namesIn(t, indexes) {
				if _, err := os.Stat(filepath.Join(indexes, name, "manifest")); err != nil || !before[name] || strings.Contains(name, ".") {
					return false
				}
			}
			return true
		})
		for w := range workspaces {
			finds(s, w)
		}
	}
}

func namesIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, e := range entries {
		names[e.Name()] = true
	}
	return names
}
