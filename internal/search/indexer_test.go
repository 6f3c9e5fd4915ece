package search_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/store/sqlite/sqlitetest"
	"keepsake/internal/testing/await"
)

func TestAnIndexIsToppedUpAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir, withFiles)
	first.many(500, func(int) string { return "stone" })
	first.find(search.Request{Query: "stone"})
	first.stop()
	second := open(t, dir, withFiles)
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
			segments, err := filepath.Glob(dir + "/*.seg")
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
			first := open(t, dir, withFiles)
			first.many(200, func(int) string { return "stone" })
			first.find(search.Request{Query: "stone"})
			first.stop()
			damage(t, filepath.Join(first.dir, workspace))
			second := open(t, dir, nil)
			if got := second.find(search.Request{Query: "stone"}).Total; got != 200 {
				t.Errorf("found %d, want 200", got)
			}
		})
	}
}

// withFiles makes even small indexes have files.
func withFiles(o *search.IndexerOptions) { o.Small = 1 }

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
	x := search.NewIndexer(search.IndexerOptions{Dir: t.TempDir(), Source: b.store.Documents, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	if err := x.Run(stopped); err != nil {
		t.Error(err)
	}
}

func TestAnIndexAheadOfTheStoreIsMadeAnew(t *testing.T) {
	t.Parallel()
	ahead := open(t, t.TempDir(), withFiles)
	ahead.many(300, func(int) string { return "stone" })
	ahead.find(search.Request{Query: "stone"})
	ahead.stop()

	dir := t.TempDir()
	older := open(t, dir, withFiles)
	older.text("a", "stone", "b", "sand")
	older.stop()
	must(t, os.RemoveAll(older.dir))
	must(t, os.Rename(ahead.dir, older.dir))
	again := open(t, dir, nil)
	await.Until(t, "the search finds one document", func() bool {
		answer, err := again.search.Search(t.Context(), workspace, search.Request{Query: "stone"})
		return err == nil && answer.Total == 1
	})
}

func TestOnlySoManyIndexesStayOpen(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	b := open(t, sqlitetest.Dir(t), func(o *search.IndexerOptions) { o.MaxOpen = 2 })
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
	// A turn of the indexer opens one more until it ends.
	await.Until(t, "two indexes are open", func() bool { return b.indexer.Stats().Entries <= 2 })
	stats := b.indexer.Stats()
	if stats.Capacity != 2 || stats.Evictions < 7 || stats.Misses < 9 || stats.Bytes == 0 {
		t.Errorf("stats are %+v", stats)
	}
}

func TestASearchDoesNotWaitForeverForItsIndex(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	b := open(t, sqlitetest.Dir(t), func(o *search.IndexerOptions) { o.Wait = 50 * time.Millisecond })
	b.text("a", "stone")
	await.Until(t, "the first change is in the index", func() bool {
		_, err := b.search.Search(t.Context(), workspace, search.Request{Query: "stone"})
		return err == nil
	})
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

// slowSource gives each workspace's changes a little at a time, and those of the large one when it is let go.
type slowSource struct {
	search.Source
	turns chan string
	goOn  chan struct{}
}

func (s *slowSource) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error) {
	if f.Limit == 0 {
		return s.Source.FollowDocuments(ctx, workspaceID, f)
	}
	s.turns <- workspaceID
	if workspaceID == workspace {
		select {
		case <-s.goOn:
		case <-ctx.Done():
			return nil, document.State{}, ctx.Err()
		}
	}
	f.Limit = min(f.Limit, 10)
	return s.Source.FollowDocuments(ctx, workspaceID, f)
}

func TestManyChangesDelayOthersByATurn(t *testing.T) {
	t.Parallel()
	slow := &slowSource{turns: make(chan string, 10_000), goOn: make(chan struct{})}
	b := open(t, sqlitetest.Dir(t), func(o *search.IndexerOptions) { slow.Source, o.Source = o.Source, slow })
	for i := range 200 { // twenty turns; those of an import with one request would not be read
		b.text(fmt.Sprint(i), "stone")
	}
	first := <-slow.turns // it is under way, and all others are to come
	_, _, err := b.documents.Put(t.Context(), "wsp_small", "a", document.Fields{Text: "sand"}, document.Condition{})
	must(t, err)
	close(slow.goOn)
	answer, err := b.search.Search(t.Context(), "wsp_small", search.Request{Query: "sand"})
	if err != nil || answer.Total != 1 {
		t.Fatalf("got %+v, %v", answer, err)
	}
	before := 0 // turns of the large one that came between: it may have been queued once more by then
	for <-slow.turns != "wsp_small" {
		before++
	}
	if first != workspace || before > 1 {
		t.Errorf("the small workspace's turn came after %d more of the large one's", before)
	}
}

func TestPaceWaitsForAnIndexThatIsFarBehind(t *testing.T) {
	t.Parallel()
	b := open(t, sqlitetest.Dir(t), func(o *search.IndexerOptions) { o.Wait = 100 * time.Millisecond })
	must(t, b.indexer.Pace(t.Context(), "wsp_unheard_of", 10))
	b.many(600, func(int) string { return "stone" })
	await.Until(t, "the index has most changes", func() bool { return b.indexer.Pace(t.Context(), workspace, 500) == nil })
	if lag := b.indexer.Lag(); lag > 100 {
		t.Errorf("after the wait %d of 600 changes are not in the index", lag)
	}
	if err := b.indexer.Pace(t.Context(), workspace, 5_000); !errors.Is(err, context.DeadlineExceeded) { // which the store does not have
		t.Errorf("an index that cannot follow: %v", err)
	}
}

func TestASearchFindsWhatIsOnlyRecorded(t *testing.T) {
	t.Parallel()
	b := open(t, sqlitetest.Dir(t), nil)
	b.text("a", "stone")
	b.find(search.Request{Query: "stone"})
	d := document.Document{ID: "b", Collection: "default", Text: "stone", CreatedAt: time.Now(), UpdatedAt: time.Now()}
	_, err := b.store.Documents.PutDocument(t.Context(), workspace, &d, document.Put{})
	must(t, err)
	b.indexer.Record(workspace, []*document.Document{&d}, 1)
	if got := b.find(search.Request{Query: "stone"}).Total; got != 2 {
		t.Errorf("found %d, want 2", got)
	}
}

// countingSource counts the documents that are read to be indexed.
type countingSource struct {
	search.Source
	read atomic.Int64
}

func (s *countingSource) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error) {
	changes, now, err := s.Source.FollowDocuments(ctx, workspaceID, f)
	s.read.Add(int64(len(changes)))
	return changes, now, err
}

// An import hands its documents to the index. The index is then the same as one that is built from the store.
func TestImportedDocumentsAreNotReadBack(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	var source *countingSource
	counted := func(o *search.IndexerOptions) {
		source = &countingSource{Source: o.Source}
		o.Source = source
	}
	dir := sqlitetest.Dir(t)
	b := open(t, dir, counted)
	n := 0
	next := func() (document.Line, bool, error) {
		if n++; n > 3_000 {
			return document.Line{}, false, nil
		}
		if n == 1_500 { // another request, whose document is read
			b.put("between", document.Fields{Text: "stone between"})
		}
		return document.Line{Number: n, ID: fmt.Sprint("d", n%2_900), Fields: document.Fields{
			Collection: "rocks", Title: "Stone", Text: fmt.Sprint("stone number ", n), Tags: []string{fmt.Sprint("t", n%7)},
			Metadata: map[string]any{"n": float64(n % 5), "s": fmt.Sprint(n % 3), "b": n%2 == 0},
		}}, true, nil
	}
	_, err := b.documents.Import(t.Context(), workspace, next, document.ImportOptions{})
	must(t, err)
	q := search.Request{
		Query: "stone number", Limit: 100, Sort: search.NewestFirst, Facets: []string{"collection", "tag", "n", "s", "b"},
		Metadata: []document.Comparison{document.Compare("n", document.GreaterOrEqual, "2")},
	}
	handed := b.find(q)
	if read := source.read.Load(); read == 0 || read > 2_000 {
		t.Errorf("%d of 3,000 documents were read back, want those of one chunk and what follows it", read)
	}
	b.stop()
	must(t, os.RemoveAll(b.dir))
	b = open(t, dir, counted)
	built := b.find(q)
	if read := source.read.Load(); read != 2_901 {
		t.Errorf("%d documents were read to build the index again, want 2,901", read)
	}
	handed.Took, built.Took, handed.NextCursor, built.NextCursor = 0, 0, "", ""
	if diff := gocmp.Diff(built, handed); diff != "" {
		t.Errorf("(-built again +handed over):\n%s", diff)
	}
}
