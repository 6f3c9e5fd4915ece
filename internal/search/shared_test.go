package search_test

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// another is the search of another process on b's documents, which hears of no changes.
type another struct {
	*search.Service
	indexer *search.Indexer
	stop    func()
}

func (b *bundle) another(change func(*search.IndexerOptions)) *another {
	b.t.Helper()
	o := search.IndexerOptions{
		Dir: b.t.TempDir(), Source: b.store.Documents, Log: slog.New(slog.DiscardHandler), Now: time.Now, Wait: 30 * time.Second, Shared: true,
	}
	if change != nil {
		change(&o)
	}
	return run(b.t, o)
}

func run(t *testing.T, o search.IndexerOptions) *another {
	t.Helper()
	x := search.NewIndexer(o)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- x.Run(ctx) }()
	a := &another{Service: search.NewService(x, page.NewSealer([]byte("secret of the test")), nil, time.Now), indexer: x}
	a.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run indexer: %v", err)
		}
		if err := x.Close(); err != nil {
			t.Errorf("close indexer: %v", err)
		}
	})
	t.Cleanup(a.stop)
	if inOpenSearch() {
		a.SetElsewhere(newFollower(t, o, shards()))
	}
	return a
}

func (a *another) ids(t *testing.T, q string) []string {
	t.Helper()
	answer, err := a.Search(t.Context(), workspace, search.Request{Query: q, Limit: 100})
	if err != nil {
		t.Fatalf("search %s: %v", q, err)
	}
	return idsOf(answer)
}

func TestWhatIsWrittenElsewhereIsFoundAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.another(nil)
	if got := a.ids(t, "stone"); len(got) != 0 {
		t.Fatalf("found %v before anything was written", got)
	}
	written := map[string]bool{}
	for i := range testtier.Rounds(30, 100) {
		id := fmt.Sprintf("d%d", i%7)
		if written[id] && i%3 == 0 {
			must(t, b.documents.Delete(t.Context(), workspace, id, nil))
			delete(written, id)
		} else {
			b.text(id, "stone")
			written[id] = true
		}
		got := a.ids(t, "stone")
		slices.Sort(got)
		if want := slices.Sorted(maps.Keys(written)); !slices.Equal(got, want) {
			t.Fatalf("step %d: found %v, want %v", i, got, want)
		}
	}
}

// asking can hold back what a source answers, and tells what it is asked.
type asking struct {
	search.Source
	looked  chan struct{} // gets one for each look over all workspaces, where there is room
	read    chan struct{} // the same for each read of changes
	hold    chan struct{} // where set, an answer waits until it is closed
	refuses atomic.Bool
}

var errAway = problem.NotAvailable("The database cannot be reached.", time.Second)

func (s *asking) DocumentState(ctx context.Context, workspaceID string) (now document.State, err error) {
	if s.refuses.Load() {
		return now, errAway
	}
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-ctx.Done():
			return now, ctx.Err()
		}
	}
	return s.Source.DocumentState(ctx, workspaceID)
}

func (s *asking) ChangedWorkspaces(ctx context.Context) (map[string]document.State, error) {
	if s.refuses.Load() {
		return nil, errAway
	}
	defer tell(s.looked)
	return s.Source.ChangedWorkspaces(ctx)
}

func (s *asking) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error) {
	if s.refuses.Load() {
		return nil, document.State{}, errAway
	}
	if f.Limit > 0 {
		defer tell(s.read) // what is written after it is not in
	}
	return s.Source.FollowDocuments(ctx, workspaceID, f)
}

func tell(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Searches of one workspace share what they ask of the source, but never an answer that may be older than the search.
func TestSearchesAtOnceFindWhatWasWrittenRightBefore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text("a", "stone")
	a := b.another(nil)
	var all sync.WaitGroup
	for round := range testtier.Rounds(5, 20) {
		for i := range 8 {
			all.Go(func() {
				id := fmt.Sprintf("d%d-%d", round, i)
				word := fmt.Sprintf("word%dx%d", round, i)
				_, _, err := b.documents.Put(t.Context(), workspace, id, document.Fields{Text: word}, document.Condition{})
				if err != nil {
					t.Error(err)
				}
				if got := a.ids(t, word); !slices.Equal(got, []string{id}) {
					t.Errorf("%s: found %v", id, got)
				}
			})
		}
		all.Wait()
	}
}

func TestASearchWhoseSourceDoesNotAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.text("a", "stone")
	source := &asking{Source: b.store.Documents, hold: make(chan struct{})}
	a := b.another(func(o *search.IndexerOptions) { o.Source, o.Wait = source, 50*time.Millisecond })
	for _, refuses := range []bool{false, true} {
		source.refuses.Store(refuses)
		_, err := a.Search(t.Context(), workspace, search.Request{Query: "stone"})
		if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable || p.RetryAfter <= 0 {
			t.Errorf("refuses %v: got %v, want unavailable", refuses, err)
		}
	}
	source.refuses.Store(false)
	close(source.hold)
	await.Until(t, "the search answers again", func() bool {
		answer, err := a.Search(t.Context(), workspace, search.Request{Query: "stone"})
		return err == nil && answer.Total == 1
	})
}

func TestALookBringsInWhatOthersWrote(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	b := setup(t)
	source := &asking{Source: b.store.Documents, looked: make(chan struct{}, 1), read: make(chan struct{}, 1)}
	a := b.another(func(o *search.IndexerOptions) { o.Source = source })
	<-source.looked // at the start
	b.text("a", "stone")
	a.ids(t, "stone") // from now on it has the index
	<-source.read
	for range 3 {
		b.text("a", "stone")
		must(t, a.indexer.Look(t.Context()))
		<-source.looked
		<-source.read // without a search
	}
}

func TestANewMemberHasLoadedWithoutAnyIndex(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 {
		_, _, err := b.documents.Put(t.Context(), fmt.Sprintf("wsp_%d", i), "a", document.Fields{Text: "stone"}, document.Condition{})
		must(t, err)
	}
	source := &asking{Source: b.store.Documents}
	source.refuses.Store(true)
	a := b.another(func(o *search.IndexerOptions) { o.Source = source })
	if a.indexer.Loaded() {
		t.Error("it has loaded what the source refuses")
	}
	source.refuses.Store(false)
	await.Until(t, "it has loaded", a.indexer.Loaded)
	must(t, a.indexer.Look(t.Context()))
	if s := a.indexer.State(); s.Held != 0 || s.Builds.Total() != 0 {
		t.Errorf("without a search, it has %+v", s)
	}
}
