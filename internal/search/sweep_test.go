package search_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/base/page"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
)

// shelves are the documents of several workspaces in memory.
type shelves struct {
	mu   sync.Mutex
	list map[string][]document.Change
}

func (s *shelves) put(workspaceID, id, text string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := document.Change{Number: int64(len(s.list[workspaceID]) + 1), ID: id}
	if text != "" {
		c.Document = &document.Document{ID: id, Text: text}
	}
	s.list[workspaceID] = append(s.list[workspaceID], c)
	return c.Number
}

func (s *shelves) Documents(context.Context, string, []string) ([]document.Document, error) {
	return nil, nil
}

func (s *shelves) DocumentChanges(_ context.Context, workspaceID string, after int64, limit int) ([]document.Change, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.list[workspaceID]
	return all[after:min(int(after)+limit, len(all))], nil
}

func (s *shelves) DocumentChange(_ context.Context, workspaceID string) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.list[workspaceID])), nil
}

func (s *shelves) DocumentCount(ctx context.Context, workspaceID string) (int64, error) {
	return s.DocumentChange(ctx, workspaceID)
}

func (s *shelves) ChangedWorkspaces(context.Context) (map[string]int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := map[string]int64{}
	for id, list := range s.list {
		last[id] = int64(len(list))
	}
	return last, nil
}

// serve runs an Indexer until stop is called.
func serve(t *testing.T, dir string, source search.Source) (s *search.Service, x *search.Indexer, stop func()) {
	t.Helper()
	x = search.NewIndexer(search.IndexerOptions{
		Dir: dir, Source: source, Log: slog.New(slog.DiscardHandler), Now: time.Now, MaxOpen: 1, Small: 1,
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- x.Run(ctx) }()
	return search.NewService(x, page.NewSealer([]byte("secret")), nil, time.Now), x, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		must(t, x.Close())
	}
}

// inFiles reports whether a file below dir contains a text.
func inFiles(t *testing.T, dir, text string) bool {
	t.Helper()
	found := false
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found = found || strings.Contains(string(content), text)
		return err
	}))
	return found
}

func TestDeletedWordsLeaveAClosedIndex(t *testing.T) {
	t.Parallel()
	for _, restarts := range []bool{false, true} {
		t.Run(fmt.Sprintf("Restart%v", restarts), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				source := &shelves{list: map[string][]document.Change{}}
				for i := range 50 {
					source.put("wsp_a", fmt.Sprint("d", i), "stone")
				}
				source.put("wsp_a", "gone", "canaryword")
				source.put("wsp_b", "other", "sand")
				find, x, stop := serve(t, dir, source)
				search1 := func(workspaceID string) {
					_, err := find.Search(t.Context(), workspaceID, search.Request{Query: "stone"})
					must(t, err)
					synctest.Wait()
				}
				search1("wsp_a")
				search1("wsp_b") // closes the first, which is flushed
				if !inFiles(t, dir, "canaryword") {
					t.Fatal("the word is not in a file yet, so the test shows nothing")
				}
				x.Notify("wsp_a", source.put("wsp_a", "gone", ""))
				search1("wsp_a")
				search1("wsp_b")
				if !inFiles(t, dir, "canaryword") {
					t.Fatal("the word has left the files at once, so the test shows nothing")
				}
				if restarts {
					stop()
					find, _, stop = serve(t, dir, source)
				}
				defer func() { stop() }()
				time.Sleep(time.Hour + time.Minute) // of the test's clock
				synctest.Wait()
				if inFiles(t, dir, "canaryword") {
					t.Error("the word is in a file after the bound")
				}
				search1("wsp_a")
			})
		})
	}
}
