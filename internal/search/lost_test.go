package search_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/store/sqlite/sqlitetest"
	"keepsake/internal/testing/await"
)

// backup returns a folder with the databases of a closed bundle.
func backup(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.db"))
	must(t, err)
	to := t.TempDir()
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(to, filepath.Base(file)), data, 0o600))
	}
	return to
}

// later writes so many documents, of which the first replaces one of before.
func (b *bundle) later(n int) {
	b.t.Helper()
	for i := range n {
		b.text(fmt.Sprint("later", i), "stone")
	}
}

// laterIDs are the IDs of a document that was there, and of later ones.
func laterIDs(n int) []string {
	ids := []string{"a"}
	for i := range n {
		ids = append(ids, fmt.Sprint("later", i))
	}
	return ids
}

// restored returns a bundle with the document a and its folder of that time, and a bundle that wrote three changes since.
func restored(t *testing.T, change func(*search.IndexerOptions)) (old string, ahead *bundle) {
	t.Helper()
	dir := sqlitetest.Dir(t)
	b := open(t, dir, change)
	b.text("a", "stone")
	b.stop()
	old = backup(t, dir)
	ahead = open(t, dir, change)
	ahead.text("b", "stone", "c", "stone", "a", "sand")
	return old, ahead
}

// finds wants exactly these documents. A search can be unavailable for a while, but never wrong.
func finds(t *testing.T, s *search.Service, want ...string) {
	t.Helper()
	slices.Sort(want)
	await.Until(t, "the search is available", func() bool {
		answer, err := s.Search(t.Context(), workspace, search.Request{Query: "stone", Limit: 100})
		if p, ok := problem.As(err); ok && p.Kind == problem.Unavailable {
			return false
		}
		must(t, err)
		got := idsOf(answer)
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Fatalf("found %v, want %v", got, want)
		}
		return true
	})
}

// A database server that ends may have a successor that lacks the last changes, and gives their numbers to others. What was indexed of the
// lost ones goes, and what they replaced comes back.
func TestChangesThatWereLostLeaveTheIndex(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	old, ahead := restored(t, nil)
	for _, later := range []int{0, 2, 3, 5} {
		for _, look := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d later, look %v", later, look), func(t *testing.T) {
				t.Parallel()
				behind := open(t, backup(t, old), nil)
				behind.later(later)
				source := &swapped{}
				source.set(ahead.store.Documents)
				looked := &asking{Source: source, looked: make(chan struct{}, 1)}
				a := ahead.another(func(o *search.IndexerOptions) { o.Source = looked })
				finds(t, a.Service, "b", "c")
				source.set(behind.store.Documents)
				if look {
					<-looked.looked
					must(t, a.indexer.Look(t.Context()))
					<-looked.looked
				}
				finds(t, a.Service, laterIDs(later)...)
				behind.text("last", "stone")
				finds(t, a.Service, append(laterIDs(later), "last")...)
			})
		}
	}
}

// swapped reads from one store and then from another.
type swapped struct{ now atomic.Pointer[search.Source] }

func (s *swapped) set(to search.Source) { s.now.Store(&to) }

func (s *swapped) source() search.Source { return *s.now.Load() }

func (s *swapped) Documents(ctx context.Context, workspaceID string, ids []string) ([]document.Document, error) {
	return s.source().Documents(ctx, workspaceID, ids)
}

func (s *swapped) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error) {
	return s.source().FollowDocuments(ctx, workspaceID, f)
}

func (s *swapped) DocumentState(ctx context.Context, workspaceID string) (document.State, error) {
	return s.source().DocumentState(ctx, workspaceID)
}

func (s *swapped) HadDocumentState(ctx context.Context, workspaceID string, had document.State) (bool, error) {
	return s.source().HadDocumentState(ctx, workspaceID, had)
}

func (s *swapped) DocumentCount(ctx context.Context, workspaceID string) (int64, error) {
	return s.source().DocumentCount(ctx, workspaceID)
}

func (s *swapped) ChangedWorkspaces(ctx context.Context) (map[string]document.State, error) {
	return s.source().ChangedWorkspaces(ctx)
}

// gate holds a read of changes back.
type gate struct {
	search.Source
	shut    atomic.Bool
	reached chan struct{}
	open    chan struct{}
}

func (s *gate) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error) {
	if f.Limit > 0 && s.shut.CompareAndSwap(true, false) {
		s.reached <- struct{}{}
		<-s.open
	}
	return s.Source.FollowDocuments(ctx, workspaceID, f)
}

// Documents that an import has handed to the index are lost before it takes them.
func TestImportedDocumentsThatWereLostAreNotIndexed(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	dir := sqlitetest.Dir(t)
	b := open(t, dir, nil)
	b.text("a", "stone")
	b.stop()
	behind := open(t, backup(t, dir), nil)
	behind.later(8)
	source := &swapped{}
	gate := &gate{Source: source, reached: make(chan struct{}), open: make(chan struct{})}
	b = open(t, dir, func(o *search.IndexerOptions) {
		source.set(o.Source)
		o.Source, o.Shared = gate, true
	})
	finds(t, b.search, "a")
	gate.shut.Store(true)
	b.text("b", "stone")
	<-gate.reached
	b.many(5, func(int) string { return "stone" })
	source.set(behind.store.Documents)
	close(gate.open)
	finds(t, b.search, laterIDs(8)...)
}

// The databases come from a backup, and the folder of indexes is another's.
func TestAnIndexOfAnotherTimeIsNotUsed(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	for _, later := range []int{0, 2, 3, 5} {
		t.Run(fmt.Sprint(later, " later"), func(t *testing.T) {
			t.Parallel()
			old, ahead := restored(t, withFiles)
			finds(t, ahead.search, "b", "c")
			ahead.stop()
			behind := open(t, old, withFiles)
			behind.later(later)
			behind.stop()
			must(t, os.RemoveAll(behind.dir))
			must(t, os.Rename(ahead.dir, behind.dir))
			b := open(t, old, withFiles)
			finds(t, b.search, laterIDs(later)...)
			b.text("last", "stone")
			finds(t, b.search, append(laterIDs(later), "last")...)
		})
	}
}

// An index that is only behind reads what it lacks, unless so much was changed that the database does not know any more whether it had
// its last state.
func TestAnIndexThatIsBehindIsNotRebuilt(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	for _, test := range []struct {
		imports int // of 250 documents
		builds  int64
	}{{1, 0}, {39, 0}, {45, 1}} {
		t.Run(fmt.Sprint(test.imports, " imports"), func(t *testing.T) {
			t.Parallel()
			dir := sqlitetest.Dir(t)
			b := open(t, dir, withFiles)
			b.text("a", "stone")
			finds(t, b.search, "a")
			b.stop()
			must(t, os.Rename(b.dir, b.dir+"-old"))
			b = open(t, dir, nil)
			for range test.imports {
				b.many(250, func(int) string { return "sand" })
			}
			b.stop()
			must(t, os.RemoveAll(b.dir))
			must(t, os.Rename(b.dir+"-old", b.dir))
			b = open(t, dir, withFiles)
			finds(t, b.search, "a")
			state := b.indexer.State()
			if got := state.Builds.Total(); got != test.builds {
				t.Errorf("%d indexes were built, want %d", got, test.builds)
			}
		})
	}
}

// counting counts what is asked.
type counting struct {
	search.Source
	states, others atomic.Int64
}

func (s *counting) DocumentState(ctx context.Context, workspaceID string) (document.State, error) {
	s.states.Add(1)
	return s.Source.DocumentState(ctx, workspaceID)
}

func (s *counting) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error) {
	s.others.Add(1)
	return s.Source.FollowDocuments(ctx, workspaceID, f)
}

func (s *counting) HadDocumentState(ctx context.Context, workspaceID string, had document.State) (bool, error) {
	s.others.Add(1)
	return s.Source.HadDocumentState(ctx, workspaceID, had)
}

// A search asks for the state of the documents, and for nothing else if its index has it. A change costs one read.
func TestASearchAsksOnceForTheState(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	b := setup(t)
	b.text("a", "stone")
	source := &counting{Source: b.store.Documents}
	a := b.another(func(o *search.IndexerOptions) { o.Source = source })
	finds(t, a.Service, "a")
	for i := range 5 {
		states, others := source.states.Load(), source.others.Load()
		if i%2 == 0 {
			b.text("a", "stone")
		}
		a.ids(t, "stone")
		if got := source.states.Load() - states; got != 1 {
			t.Errorf("search %d asked %d times for the state, want once", i, got)
		}
		if got := source.others.Load() - others; got != int64(1-i%2) {
			t.Errorf("search %d read %d times, want %d", i, got, 1-i%2)
		}
	}
}
