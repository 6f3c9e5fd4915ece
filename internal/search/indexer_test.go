package search_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"keepsake/internal/document"
	"keepsake/internal/problem"
	"keepsake/internal/search"
)

func TestAnIndexIsToppedUpAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir, nil)
	first.many(500, func(int) string { return "stone" })
	first.find(search.Request{Query: "stone"})
	first.stop()
	second := open(t, dir, nil)
	if got := second.find(search.Request{Query: "stone"}).Total; got != 500 {
		t.Errorf("after a restart found %d, want 500", got)
	}
	second.text("d00001", "sand")
	second.stop()
	if got := open(t, dir, nil).find(search.Request{Query: "stone"}).Total; got != 499 {
		t.Errorf("after a second restart found %d, want 499", got)
	}
}

func TestAnIndexThatCannotBeReadIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, dir string){
		"Gone": func(t *testing.T, dir string) { must(t, os.RemoveAll(dir)) },
		"Emptied": func(t *testing.T, dir string) {
			each(t, dir, func(path string) { must(t, os.Truncate(path, 0)) })
		},
		"CutOff": func(t *testing.T, dir string) {
			each(t, dir, func(path string) {
				info, err := os.Stat(path)
				must(t, err)
				must(t, os.Truncate(path, info.Size()/2))
			})
		},
		"Overwritten": func(t *testing.T, dir string) {
			each(t, dir, func(path string) { must(t, os.WriteFile(path, []byte("not an index at all"), 0o600)) })
		},
		"SegmentsOverwritten": func(t *testing.T, dir string) {
			segments, err := filepath.Glob(dir + "/*.zap")
			must(t, err)
			for _, path := range segments {
				info, err := os.Stat(path)
				must(t, err)
				must(t, os.WriteFile(path, make([]byte, info.Size()), 0o600))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			first := open(t, dir, nil)
			first.many(200, func(int) string { return "stone" })
			first.find(search.Request{Query: "stone"})
			time.Sleep(time.Second) // until it is on disk
			first.stop()
			damage(t, filepath.Join(first.dir, workspace))
			second := open(t, dir, nil)
			if got := second.find(search.Request{Query: "stone"}).Total; got != 200 {
				t.Errorf("found %d, want 200", got)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func each(t *testing.T, dir string, fn func(path string)) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	if len(entries) == 0 {
		t.Fatal("the index has no files")
	}
	for _, e := range entries {
		fn(filepath.Join(dir, e.Name()))
	}
}

func TestAStopBeforeTheFirstLookIsNoError(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), nil)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	x := search.NewIndexer(search.IndexerOptions{Dir: t.TempDir(), Source: b.store, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err := x.Run(stopped); err != nil {
		t.Error(err)
	}
}

func TestAnIndexAheadOfTheStoreIsMadeAnew(t *testing.T) {
	t.Parallel()
	ahead := open(t, t.TempDir(), nil)
	ahead.many(300, func(int) string { return "stone" })
	ahead.find(search.Request{Query: "stone"})
	time.Sleep(time.Second)
	ahead.stop()

	dir := t.TempDir()
	older := open(t, dir, nil)
	older.text("a", "stone", "b", "sand")
	older.stop()
	must(t, os.RemoveAll(older.dir))
	must(t, os.Rename(ahead.dir, older.dir))
	again := open(t, dir, nil)
	deadline := time.Now().Add(5 * time.Second)
	for {
		answer, err := again.search.Search(t.Context(), workspace, search.Request{Query: "stone"})
		if err == nil && answer.Total == 1 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("found %+v, %v, want one document", answer, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func TestOnlySoManyIndexesStayOpen(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), func(o *search.IndexerOptions) { o.MaxOpen = 2 })
	for round := range 2 {
		for i := range 5 {
			workspaceID := fmt.Sprintf("wsp_%d", i)
			if round == 0 {
				_, _, err := b.documents.Put(t.Context(), workspaceID, "a", document.Fields{Text: "stone"}, document.Condition{})
				must(t, err)
			}
			answer, err := b.search.Search(t.Context(), workspaceID, search.Request{Query: "stone"})
			if err != nil || answer.Total != 1 {
				t.Fatalf("%s: %+v, %v", workspaceID, answer, err)
			}
		}
	}
	stats := b.indexer.Stats()
	if stats.Entries > 2 || stats.Capacity != 2 || stats.Evictions < 7 || stats.Misses < 9 || stats.Bytes == 0 {
		t.Errorf("stats are %+v", stats)
	}
}

func TestASearchDoesNotWaitForeverForItsIndex(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), func(o *search.IndexerOptions) { o.Wait = 50 * time.Millisecond })
	b.text("a", "stone")
	for deadline := time.Now().Add(30 * time.Second); ; { // on a busy machine the first change takes longer than that
		_, err := b.search.Search(t.Context(), workspace, search.Request{Query: "stone"})
		if err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	b.indexer.Notify(workspace, 1_000) // which the store does not have
	_, err := b.search.Search(t.Context(), workspace, search.Request{Query: "stone"})
	var p *problem.Problem
	if !errors.As(err, &p) || p.Kind != problem.Unavailable || p.RetryAfter <= 0 {
		t.Errorf("got %v, want unavailable", err)
	}
	if lag := b.indexer.Lag(); lag != 999 {
		t.Errorf("lag is %d, want 999", lag)
	}
}

// slowSource gives each workspace's changes a little at a time.
type slowSource struct {
	search.Source
	turns chan string
}

func (s *slowSource) DocumentChanges(ctx context.Context, workspaceID string, after int64, limit int) ([]document.Change, error) {
	select {
	case s.turns <- workspaceID:
	default:
	}
	return s.Source.DocumentChanges(ctx, workspaceID, after, min(limit, 10))
}

func TestALargeImportDelaysOthersByATurn(t *testing.T) {
	t.Parallel()
	turns := make(chan string, 10_000)
	b := open(t, t.TempDir(), func(o *search.IndexerOptions) { o.Source = &slowSource{o.Source, turns} })
	b.many(2_000, func(int) string { return "stone" }) // two hundred turns
	_, _, err := b.documents.Put(t.Context(), "wsp_small", "a", document.Fields{Text: "sand"}, document.Condition{})
	must(t, err)
	before := len(turns) // it is queued: the turn that runs and no other may come before it
	answer, err := b.search.Search(t.Context(), "wsp_small", search.Request{Query: "sand"})
	if err != nil || answer.Total != 1 {
		t.Fatalf("got %+v, %v", answer, err)
	}
	if b.indexer.Lag() == 0 {
		t.Skip("the large import was indexed before the small workspace asked")
	}
	for i := range len(turns) {
		if workspaceID := <-turns; workspaceID == "wsp_small" {
			if i > before+3 {
				t.Errorf("the small workspace's turn was number %d, %d had passed when it was queued", i, before)
			}
			return
		}
	}
	t.Error("the small workspace had no turn")
}

func TestPaceWaitsForAnIndexThatIsFarBehind(t *testing.T) {
	t.Parallel()
	b := open(t, t.TempDir(), func(o *search.IndexerOptions) { o.Wait = 100 * time.Millisecond })
	must(t, b.indexer.Pace(t.Context(), "wsp_unheard_of"))
	b.many(600, func(int) string { return "stone" })
	deadline := time.Now().Add(10 * time.Second)
	for b.indexer.Pace(t.Context(), workspace) != nil && time.Now().Before(deadline) {
	}
	if lag := b.indexer.Lag(); lag > 600-80 {
		t.Errorf("after the wait %d of 600 changes are not in the index", lag)
	}
	b.indexer.Notify(workspace, 5_000) // which the store does not have
	if err := b.indexer.Pace(t.Context(), workspace); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an index that cannot follow: %v", err)
	}
}
