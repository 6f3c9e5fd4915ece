package search_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
)

// keeper is an Indexer over documents in memory. Even its small indexes have files.
type keeper struct {
	t    *testing.T
	dir  string
	x    *search.Indexer
	find *search.Service
	stop func()
}

// newKeeper starts one in a bubble of synctest.
func newKeeper(t *testing.T, dir string, source search.Source, change func(*search.IndexerOptions)) *keeper {
	t.Helper()
	o := search.IndexerOptions{Dir: dir, Source: source, Log: slog.New(slog.DiscardHandler), Now: time.Now, Small: 1, Shared: true}
	if change != nil {
		change(&o)
	}
	k := &keeper{t: t, dir: dir, x: search.NewIndexer(o)}
	k.find = search.NewService(k.x, page.NewSealer([]byte("secret")), nil, time.Now)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- k.x.Run(ctx) }()
	k.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		must(t, k.x.Close())
	}
	return k
}

// total searches a workspace for the word that all documents have.
func (k *keeper) total(workspaceID string) (int64, error) {
	answer, err := k.find.Search(k.t.Context(), workspaceID, search.Request{Query: "stone"})
	if err != nil {
		return 0, err
	}
	return answer.Total, nil
}

func (k *keeper) wantTotal(workspaceID string, want int64) {
	k.t.Helper()
	if got, err := k.total(workspaceID); err != nil || got != want {
		k.t.Fatalf("%s: found %d, %v, want %d", workspaceID, got, err, want)
	}
}

// onDisk lists the workspaces that have a folder, after everything that is due.
func (k *keeper) onDisk() []string {
	k.t.Helper()
	time.Sleep(30 * time.Second) // of the test's clock: flushes and merges
	synctest.Wait()
	entries, err := os.ReadDir(k.dir)
	must(k.t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// filled returns shelves with so many documents in each workspace.
func filled(documents int, workspaces ...string) *shelves {
	s := &shelves{list: map[string][]document.Change{}}
	for _, w := range workspaces {
		for i := range documents {
			s.put(w, fmt.Sprint("d", i), fmt.Sprint("stone number ", i))
		}
	}
	return s
}

func TestAnIndexIsBuiltWhenItsWorkspaceIsSearched(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := filled(100, "wsp_a", "wsp_b", "wsp_c")
		k := newKeeper(t, dir, source, nil)
		if got := k.onDisk(); len(got) != 0 {
			t.Fatalf("after a start there is %v", got)
		}
		k.wantTotal("wsp_b", 100)
		for _, w := range []string{"wsp_a", "wsp_b"} {
			k.x.Notify(w, source.put(w, "more", "stone"))
		}
		if got := k.onDisk(); !slices.Equal(got, []string{"wsp_b"}) {
			t.Errorf("after a search of one there is %v", got)
		}
		if s := k.x.State(); s.Held != 1 || s.Builds.Total() != 1 || s.Size.Docs != 101 || s.Building != 0 {
			t.Errorf("the state is %+v", s)
		}
		k.stop()

		k = newKeeper(t, dir, source, nil)
		defer func() { k.stop() }()
		source.put("wsp_b", "later", "stone")
		must(t, k.x.Look(t.Context()))
		if got := k.onDisk(); !slices.Equal(got, []string{"wsp_b"}) {
			t.Errorf("after another start there is %v", got)
		}
		if s := k.x.State(); s.Held != 1 || s.Builds.Total() != 0 || s.Size.Docs != 102 {
			t.Errorf("what was there is not followed: %+v", s)
		}
		k.wantTotal("wsp_a", 101)
	})
}

// slow is a source whose changes take long to read.
type slow struct {
	search.Source
	takes atomic.Int64 // a time.Duration
}

func (s *slow) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error) {
	if f.Limit == 0 {
		return s.Source.FollowDocuments(ctx, workspaceID, f)
	}
	select {
	case <-time.After(time.Duration(s.takes.Load())):
		return s.Source.FollowDocuments(ctx, workspaceID, f)
	case <-ctx.Done():
		return nil, document.State{}, ctx.Err()
	}
}

func TestASearchWaitsForAnIndexThatIsBuiltAsLongAsItsRequestCan(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := &slow{Source: filled(10, "wsp_a", "wsp_b")}
		k := newKeeper(t, dir, source, nil)
		defer func() { k.stop() }()
		within := func(limit time.Duration, workspaceID string) error {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, err := k.find.Search(ctx, workspaceID, search.Request{Query: "stone"})
			return err
		}
		source.takes.Store(int64(8 * time.Second)) // more than any search waits for an index that is behind
		must(t, within(10*time.Second, "wsp_a"))
		p, ok := problem.As(within(5*time.Second, "wsp_b"))
		if !ok || p.Kind != problem.Unavailable || p.RetryAfter <= 0 || !strings.Contains(p.Message, "10 documents") {
			t.Fatalf("got %v, want unavailable", p)
		}
		if s := k.x.State(); s.Building != 1 || s.BuildingDone != 0 || s.BuildingAll != 10 || s.Lag != 0 {
			t.Errorf("while it is built: %+v", s)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if s := k.x.State(); s.Building != 0 || s.Builds.Total() != 2 || s.Builds.Sum < 16*time.Second {
			t.Errorf("when it is built: %+v", s)
		}
		k.wantTotal("wsp_b", 10)
	})
}

func TestALargeIndexIsBuiltWhileSearchesAreRefused(t *testing.T) {
	t.Parallel()
	for _, alone := range []bool{false, true} {
		t.Run(fmt.Sprint("alone ", alone), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				shelves := filled(1_000, "wsp_a")
				source := &slow{Source: shelves}
				source.takes.Store(int64(time.Second))
				k := newKeeper(t, dir, source, func(o *search.IndexerOptions) { o.Foreground, o.Shared = 200, !alone })
				defer func() { k.stop() }()
				k.x.Notify("wsp_a", shelves.put("wsp_a", "more", "stone")) // a write does not have a large index built
				if got := k.onDisk(); len(got) != 0 {
					t.Fatalf("before the search there is %v", got)
				}
				began := time.Now()
				_, err := k.total("wsp_a")
				if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable || p.RetryAfter <= 0 || time.Since(began) != 0 {
					t.Fatalf("the search got %v, want unavailable at once", err)
				}
				time.Sleep(3 * time.Second)
				synctest.Wait()
				if s := k.x.State(); s.Building != 1 || s.BuildingDone == 0 || s.BuildingAll != 1_001 {
					t.Errorf("while it is built: %+v", s)
				}
				for rounds := 0; ; rounds++ {
					if got, err := k.total("wsp_a"); err == nil {
						if got != 1_001 || rounds == 0 {
							t.Errorf("found %d after %d refusals", got, rounds)
						}
						return
					}
					time.Sleep(time.Second)
				}
			})
		})
	}
}

func TestAProcessAloneFollowsWhatIsWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := filled(0)
		source.put("wsp_other", "a", "stone")
		k := newKeeper(t, dir, source, func(o *search.IndexerOptions) { o.Foreground, o.Shared = 20, false })
		defer func() { k.stop() }()
		for i := range 100 { // more than would be built for a write
			k.x.Notify("wsp_a", source.put("wsp_a", fmt.Sprint("d", i), "stone"))
			synctest.Wait()
		}
		if s := k.x.State(); s.Held != 1 || s.Size.Docs != 100 || s.Building != 0 {
			t.Errorf("after the writes: %+v", s)
		}
		k.wantTotal("wsp_a", 100)
		for i := range 100 { // of which it hears when all are there
			source.put("wsp_b", fmt.Sprint("d", i), "stone")
		}
		k.x.Notify("wsp_b", 100)
		synctest.Wait()
		if s := k.x.State(); s.Held != 2 || s.Size.Docs != 200 || s.Building != 0 {
			t.Errorf("after an import: %+v", s)
		}
	})
}

// A budget that holds two of the indexes.
func TestIndexesBeyondTheBudgetAreDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := filled(2_000, "wsp_a", "wsp_b", "wsp_c")
		source.put("wsp_a", "only", "stone canaryword")
		k := newKeeper(t, t.TempDir(), source, nil)
		k.wantTotal("wsp_b", 2_000)
		k.onDisk()
		size := k.x.State().Size.Files
		k.stop()

		k = newKeeper(t, dir, source, func(o *search.IndexerOptions) { o.DiskBudget = size*5/2 + 1 })
		defer func() { k.stop() }()
		k.wantTotal("wsp_a", 2_001)
		k.wantTotal("wsp_b", 2_000)
		if got := k.onDisk(); !slices.Equal(got, []string{"wsp_a", "wsp_b"}) || !inFiles(t, dir, "canaryword") {
			t.Fatalf("within the budget there is %v", got)
		}
		k.wantTotal("wsp_b", 2_000)
		k.wantTotal("wsp_c", 2_000)
		if got := k.onDisk(); !slices.Equal(got, []string{"wsp_b", "wsp_c"}) || inFiles(t, dir, "canaryword") {
			t.Fatalf("beyond the budget there is %v", got)
		}
		k.x.Notify("wsp_a", source.put("wsp_a", "more", "stone"))
		must(t, k.x.Look(t.Context()))
		if got := k.onDisk(); !slices.Equal(got, []string{"wsp_b", "wsp_c"}) {
			t.Errorf("a write brings back a dropped index: %v", got)
		}
		k.wantTotal("wsp_a", 2_002)
		if got := k.onDisk(); !slices.Equal(got, []string{"wsp_a", "wsp_c"}) {
			t.Errorf("after a search of the dropped one there is %v", got)
		}
		if s := k.x.State(); s.Held != 2 || s.Dropped != 2 || s.Builds.Total() != 4 || s.Size.Files > s.DiskBudget {
			t.Errorf("the state is %+v", s)
		}
	})
}

func TestTheIndexThatWasSearchedLastIsKeptWhateverItsSize(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, dir, filled(100, "wsp_a", "wsp_b"), func(o *search.IndexerOptions) { o.DiskBudget = 1 })
		defer func() { k.stop() }()
		for _, w := range []string{"wsp_a", "wsp_b", "wsp_a"} {
			k.wantTotal(w, 100)
			if got := k.onDisk(); !slices.Equal(got, []string{w}) {
				t.Errorf("after a search of %s there is %v", w, got)
			}
		}
	})
}

// held waits once in a read of changes of wsp_a.
type held struct {
	search.Source
	on      atomic.Bool
	reached chan struct{}
	goOn    chan struct{}
}

func (s *held) FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error) {
	if s.on.Load() && workspaceID == "wsp_a" && f.Limit > 0 {
		s.on.Store(false)
		s.reached <- struct{}{}
		<-s.goOn
	}
	return s.Source.FollowDocuments(ctx, workspaceID, f)
}

func TestAnIndexThatASearchUsesIsNotDropped(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		shelves := filled(100, "wsp_a", "wsp_b")
		source := &held{Source: shelves, reached: make(chan struct{}), goOn: make(chan struct{})}
		k := newKeeper(t, dir, source, func(o *search.IndexerOptions) { o.Foreground = 1_000 })
		k.wantTotal("wsp_a", 100)
		k.wantTotal("wsp_b", 100)
		k.onDisk()
		k.stop()

		// At the next start they are beyond the budget, and the one to be dropped is in use.
		source.on.Store(true)
		shelves.put("wsp_a", "more", "stone")
		k = newKeeper(t, dir, source, func(o *search.IndexerOptions) { o.DiskBudget = 1 })
		defer func() { k.stop() }()
		answered := make(chan int64)
		go func() {
			total, err := k.total("wsp_a")
			if err != nil {
				t.Error(err)
			}
			answered <- total
		}()
		<-source.reached
		synctest.Wait()                         // the search waits for its index
		go func() { _, _ = k.total("wsp_b") }() // now it was searched last
		synctest.Wait()
		if _, err := os.Stat(filepath.Join(dir, "wsp_a")); err != nil {
			t.Errorf("the index in use: %v", err)
		}
		close(source.goOn)
		if total := <-answered; total != 101 {
			t.Errorf("found %d, want 101", total)
		}
		if got := k.onDisk(); !slices.Equal(got, []string{"wsp_b"}) {
			t.Errorf("after the search there is %v", got)
		}
	})
}

// A process can be killed between any two steps of a drop or of a build. What it leaves is removed, or is an index.
func TestWhatAKilledProcessLeavesIsNoIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := filled(100, "wsp_a", "wsp_b", "wsp_c")
		k := newKeeper(t, dir, source, nil)
		for _, w := range []string{"wsp_a", "wsp_b", "wsp_c"} {
			k.wantTotal(w, 100)
		}
		k.stop()
		must(t, os.Rename(filepath.Join(dir, "wsp_a"), filepath.Join(dir, "wsp_a.dropped")))
		must(t, os.Remove(filepath.Join(dir, "wsp_b", "manifest")))
		k = newKeeper(t, dir, source, nil)
		defer func() { k.stop() }()
		if got := k.onDisk(); !slices.Equal(got, []string{"wsp_c"}) {
			t.Errorf("after the start there is %v", got)
		}
		if s := k.x.State(); s.Held != 1 || s.Builds.Total() != 0 {
			t.Errorf("the state is %+v", s)
		}
		k.wantTotal("wsp_a", 100)
		k.wantTotal("wsp_b", 100)
	})
}

func TestARebuildOfAnIndexThatIsNotHeldBuildsIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, dir, filled(100, "wsp_a", "wsp_b"), nil)
		defer func() { k.stop() }()
		time.Sleep(time.Second)
		for _, c := range []struct {
			workspaceID string
			want        []string
		}{{"", []string{}}, {"wsp_b", []string{"wsp_b"}}} {
			_, err := k.x.StartRebuild(t.Context(), c.workspaceID)
			must(t, err)
			if got := k.onDisk(); !slices.Equal(got, c.want) || k.x.Rebuilding().Problem != nil {
				t.Errorf("after a rebuild of %q there is %v: %+v", c.workspaceID, got, k.x.Rebuilding())
			}
		}
		_, err := k.x.StartRebuild(t.Context(), "wsp_unknown")
		if p, ok := problem.As(err); !ok || p.Kind != problem.NotFound {
			t.Errorf("an unknown workspace: %v", err)
		}
		k.wantTotal("wsp_b", 100)
	})
}

// A search whose index is being built when its client leaves does not stop the building.
func TestABuildGoesOnWithoutItsSearch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		source := &slow{Source: filled(100, "wsp_a")}
		source.takes.Store(int64(time.Second))
		k := newKeeper(t, dir, source, nil)
		defer func() { k.stop() }()
		ctx, leave := context.WithCancel(t.Context())
		time.AfterFunc(500*time.Millisecond, leave)
		_, err := k.find.Search(ctx, "wsp_a", search.Request{Query: "stone"})
		if !errors.Is(ctx.Err(), context.Canceled) || err == nil {
			t.Fatalf("got %v", err)
		}
		if got := k.onDisk(); !slices.Equal(got, []string{"wsp_a"}) {
			t.Errorf("there is %v", got)
		}
		k.wantTotal("wsp_a", 100)
	})
}
