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

func (s *shelves) FollowDocuments(_ context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.list[workspaceID]
	return all[f.After:min(int(f.After)+f.Limit, len(all))], stateOf(all), nil
}

func (s *shelves) DocumentState(_ context.Context, workspaceID string) (document.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return stateOf(s.list[workspaceID]), nil
}

func (s *shelves) HadDocumentState(context.Context, string, document.State) (bool, error) {
	return true, nil
}

func (s *shelves) DocumentCount(ctx context.Context, workspaceID string) (int64, error) {
	now, err := s.DocumentState(ctx, workspaceID)
	return now.Change, err
}

func (s *shelves) ChangedWorkspaces(context.Context) (map[string]document.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]document.State{}
	for id, list := range s.list {
		all[id] = stateOf(list)
	}
	return all, nil
}

func stateOf(list []document.Change) document.State {
	n := int64(len(list))
	return document.State{Change: n, Mark: n}
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
