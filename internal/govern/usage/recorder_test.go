package usage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// memoryStore is a Store in memory that fails on request.
type memoryStore struct {
	mu      sync.Mutex
	fails   bool
	unheard bool                // adds, but returns an error
	numbers map[string]int64    // the last of each recorder
	cells   map[dimensions]Cell // the cell contains the sums
	uses    map[string]time.Time
	adds    int
	rolled  int
	pruned  []Retention
	quotas  []Quota
	periods []string
}

func newMemoryStore() *memoryStore {
	return &memoryStore{numbers: map[string]int64{}, cells: map[dimensions]Cell{}, uses: map[string]time.Time{}}
}

var (
	errFull    = errors.New("the disk is full")
	errUnheard = errors.New("the connection was lost")
)

func (s *memoryStore) AddUsage(_ context.Context, d Delta) ([]Quota, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return nil, errFull
	}
	if d.Number > s.numbers[d.Recorder] {
		s.numbers[d.Recorder] = d.Number
		s.add(d)
	}
	for _, u := range d.LastUses {
		s.uses[u.KeyID+" "+u.Hint] = u.At
	}
	if s.unheard {
		return nil, errUnheard
	}
	return s.quotas, nil
}

func (s *memoryStore) add(d Delta) {
	s.adds++
	for _, c := range d.Cells {
		total := s.cells[dimensionsOf(c)]
		total.Add(&c)
		s.cells[dimensionsOf(c)] = total
	}
}

type dimensions struct {
	minute                              int64
	workspace, key, route, method, face string
	status, version                     int
}

func dimensionsOf(c Cell) dimensions {
	return dimensions{c.Start.Unix() / 60, c.WorkspaceID, c.KeyID, c.Route, c.Method, c.Surface, c.Status, c.Version}
}

func sameCounts(a, b Cell) bool {
	return a.Requests == b.Requests && a.Charged == b.Charged && a.BytesIn == b.BytesIn && a.BytesOut == b.BytesOut &&
		equalHistograms(a.Latency, b.Latency)
}

func (s *memoryStore) EachCell(context.Context, CellQuery, func(*Cell) error) error {
	panic("not used here")
}

func (s *memoryStore) Quotas(_ context.Context, periods []string) ([]Quota, error) {
	if s.fails {
		return nil, errFull
	}
	s.periods = periods
	return s.quotas, nil
}

func (s *memoryStore) OwnerQuotas(context.Context, []string, []string) ([]Quota, error) {
	panic("not used here")
}

func (s *memoryStore) LastUses(context.Context, []string) ([]LastUse, error) { panic("not used here") }

func (s *memoryStore) KeySeries(context.Context, string, string, time.Time, time.Time, time.Duration) ([]Point, error) {
	panic("not used here")
}

func (s *memoryStore) RollUpUsage(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rolled++
	return nil
}

func (s *memoryStore) PruneUsage(_ context.Context, r Retention) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pruned = append(s.pruned, r)
	return nil
}

func setup(now func() time.Time) (*memoryStore, *Recorder) {
	s := newMemoryStore()
	return s, NewRecorder(s, now, slog.New(slog.DiscardHandler))
}

func atNoon() time.Time { return noon }

func TestRecordedEventsArriveUnderTheirDimensions(t *testing.T) {
	t.Parallel()
	store, r := setup(atNoon)
	owner, route := r.Owner("wsp_a", "key_a"), r.Route("GET", "/api/v1/documents/{id}")
	r.Record(Event{Owner: owner, Route: route, Surface: AI, Version: 1, Status: 200, At: noon.Add(59 * time.Second), Charged: 1, Took: time.Millisecond, BytesIn: 2, BytesOut: 3})
	r.Record(Event{Owner: owner, Route: route, Surface: AI, Version: 1, Status: 200, At: noon, Charged: 1, Took: time.Second, BytesIn: 20, BytesOut: 30})
	r.Record(Event{Status: 404, At: noon, Took: time.Minute})
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	known := Cell{Start: noon, WorkspaceID: "wsp_a", KeyID: "key_a", Route: "/api/v1/documents/{id}", Method: "GET", Status: 200, Version: 1, Surface: "ai"}
	unknown := Cell{Start: noon, Status: 404, Surface: "primary"}
	want := map[dimensions]Cell{
		dimensionsOf(known):   {Requests: 2, Charged: 2, BytesIn: 22, BytesOut: 33, Latency: histogramOf(time.Millisecond, time.Second)},
		dimensionsOf(unknown): {Requests: 1, Latency: histogramOf(time.Minute)},
	}
	if diff := cmp.Diff(want, store.cells, cmp.Comparer(equalHistograms)); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
}

func TestSameRouteHasOneHandle(t *testing.T) {
	t.Parallel()
	_, r := setup(atNoon)
	get, post := r.Route("GET", "/a"), r.Route("POST", "/a")
	if get == post || get == 0 || r.Route("GET", "/a") != get {
		t.Errorf("got %d and %d, then %d", get, post, r.Route("GET", "/a"))
	}
}

func TestNothingIsLostOrCountedTwiceWhenFlushesFail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		store, r := setup(atNoon)
		owners := []Owner{0, r.Owner("wsp_a", "key_a"), r.Owner("wsp_a", ""), r.Owner("wsp_b", "key_b")}
		names := []Cell{{}, {WorkspaceID: "wsp_a", KeyID: "key_a"}, {WorkspaceID: "wsp_a"}, {WorkspaceID: "wsp_b", KeyID: "key_b"}}
		secret := r.Secret(r.Owner("wsp_a", "key_a"), "kpsk_abcd")
		want := map[dimensions]Cell{}
		var lastUse time.Time
		t.Repeat(map[string]func(*rapid.T){
			"record": func(t *rapid.T) {
				who := rapid.IntRange(0, len(owners)-1).Draw(t, "owner")
				e := Event{
					Owner: owners[who], Status: rapid.SampledFrom([]uint16{200, 429, 500}).Draw(t, "status"),
					At:      noon.Add(time.Duration(rapid.IntRange(-90, 90).Draw(t, "second")) * time.Second),
					Charged: rapid.Int64Range(0, 3).Draw(t, "charged"), BytesIn: 5, BytesOut: 7,
					Took: time.Duration(rapid.IntRange(0, 3).Draw(t, "took")) * time.Millisecond,
				}
				r.Record(e)
				c := names[who]
				c.Start, c.Status, c.Surface = e.At, int(e.Status), "primary"
				total := want[dimensionsOf(c)]
				total.Add(&Cell{Requests: 1, Charged: e.Charged, BytesIn: 5, BytesOut: 7, Latency: histogramOf(e.Took)})
				want[dimensionsOf(c)] = total
			},
			"touch": func(t *rapid.T) {
				at := noon.Add(time.Duration(rapid.IntRange(-5_000, 5_000).Draw(t, "ms")) * time.Millisecond)
				r.Touch(secret, at)
				if at.After(lastUse) {
					lastUse = at
				}
				if got := r.LastUsed(secret); !got.Equal(lastUse) {
					t.Fatalf("last used at %v, want %v", got, lastUse)
				}
			},
			"flush": func(t *rapid.T) {
				store.fails, store.unheard = rapid.Bool().Draw(t, "fails"), rapid.Bool().Draw(t, "unheard")
				waits := len(want) > 0 && !maps.EqualFunc(store.cells, want, sameCounts) || !store.uses["key_a kpsk_abcd"].Equal(lastUse) || r.unsure != nil
				if err := r.Flush(t.Context()); (err != nil) != ((store.fails || store.unheard) && waits) {
					t.Fatalf("flush: got %v where failing is %v and something waits is %v", err, store.fails, waits)
				} else if err != nil && !r.Degraded() {
					t.Fatal("a failed flush does not show as degraded")
				} else if waits && err == nil && r.Degraded() {
					t.Fatal("it is degraded after a flush that succeeded")
				}
			},
		})
		store.fails, store.unheard = false, false
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, store.cells, cmp.Comparer(equalHistograms)); diff != "" {
			t.Fatalf("cells (-want +got):\n%s", diff)
		}
		if got := store.uses["key_a kpsk_abcd"]; !got.Equal(lastUse) {
			t.Fatalf("stored last use %v, want %v", got, lastUse)
		}
		adds := store.adds
		if err := r.Flush(t.Context()); err != nil || store.adds != adds {
			t.Fatalf("a flush of nothing wrote (%v)", err)
		}
	})
}

func TestEventsOfAllGoroutinesAreCounted(t *testing.T) {
	t.Parallel()
	store, r := setup(atNoon)
	const goroutines, each = 16, 2_000
	owner := r.Owner("wsp_a", "key_a")
	secrets := make([]Secret, goroutines)
	var done, flushed sync.WaitGroup
	stop := make(chan struct{})
	flushed.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = r.Flush(context.Background())
			}
		}
	})
	for g := range goroutines {
		done.Go(func() {
			secrets[g] = r.Secret(r.Owner("wsp_a", "key_a"), "hint")
			for i := range each {
				r.Record(Event{Owner: owner, Status: uint16(200 + i%3), At: noon, Charged: 1})
				r.Touch(secrets[g], noon.Add(time.Duration(i)*time.Millisecond))
			}
		})
	}
	done.Wait()
	close(stop)
	flushed.Wait()
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var requests, charged int64
	for _, c := range store.cells {
		requests, charged = requests+c.Requests, charged+c.Charged
	}
	if requests != goroutines*each || charged != goroutines*each {
		t.Errorf("got %d requests and %d charged, want %d", requests, charged, goroutines*each)
	}
	for _, s := range secrets {
		if want := noon.Add((each - 1) * time.Millisecond); !r.LastUsed(s).Equal(want) {
			t.Errorf("last used at %v, want %v", r.LastUsed(s), want)
		}
	}
}

func TestLongOutageKeepsSumsInBoundedMemory(t *testing.T) {
	t.Parallel()
	store, r := setup(atNoon)
	store.fails = true
	r.Record(Event{Status: 200, At: noon, Charged: 1})
	if r.Flush(t.Context()) == nil {
		t.Fatal("a flush was stored")
	}
	const owners, minutes = 500, 300
	for o := range owners {
		owner := r.Owner("wsp_a", "key_"+strings.Repeat("x", o%7))
		for m := range minutes {
			r.Record(Event{Owner: owner, Status: 200, At: noon.Add(time.Duration(m) * time.Minute), Charged: 1})
		}
	}
	// One cell for each owner and hour, with its route or as Other.
	if r.Flush(t.Context()) == nil || len(r.pending.cells) > 2*owners*minutes/60 {
		t.Fatalf("%d cells wait", len(r.pending.cells))
	}
	store.fails = false
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	charged := int64(0)
	for c, sums := range store.cells {
		charged += sums.Charged
		if c.workspace != "" && c.minute%60 != 0 {
			t.Fatalf("minute %d is not the first of its hour", c.minute)
		}
	}
	if charged != owners*minutes+1 {
		t.Errorf("got %d charged, want %d", charged, owners*minutes+1)
	}
}

func TestFlushReportsItsQuotasOnce(t *testing.T) {
	t.Parallel()
	store, r := setup(atNoon)
	store.quotas = []Quota{{OwnerID: "wsp_a", Period: "2026-11", Charged: 40, Added: 1}}
	var reported [][]Quota
	r.OnFlushed(func(q []Quota) { reported = append(reported, q) })
	store.unheard = true
	r.Record(Event{Owner: r.Owner("wsp_a", ""), Status: 200, At: noon, Charged: 1})
	for range 2 {
		if err := r.Flush(t.Context()); !errors.Is(err, errUnheard) {
			t.Fatalf("got %v, want %v", err, errUnheard)
		}
	}
	store.unheard = false
	for range 2 { // the second has nothing to store
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([][]Quota{store.quotas}, reported); diff != "" || store.adds != 1 {
		t.Errorf("added %d times, reported (-want +got):\n%s", store.adds, diff)
	}
}

// stuck is a store that answers when it is released.
type stuck struct {
	Store
	asked, free chan struct{}
}

func (s *stuck) AddUsage(context.Context, Delta) ([]Quota, error) {
	close(s.asked)
	<-s.free
	return nil, nil
}

func TestStuckFlushIsDegraded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &stuck{asked: make(chan struct{}), free: make(chan struct{})}
		r := NewRecorder(s, atNoon, slog.New(slog.DiscardHandler))
		r.Record(Event{Status: 200, At: noon})
		ended := make(chan error)
		go func() { ended <- r.Flush(t.Context()) }()
		<-s.asked
		if r.Degraded() {
			t.Error("degraded at once")
		}
		time.Sleep(slow + time.Millisecond) // on the fake clock
		if !r.Degraded() {
			t.Error("not degraded while a flush hangs")
		}
		close(s.free)
		if err := <-ended; err != nil || r.Degraded() {
			t.Errorf("after the end: %v, degraded %v", err, r.Degraded())
		}
	})
}

func TestFailureAndRecoveryAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	store := newMemoryStore()
	r := NewRecorder(store, atNoon, slog.New(slog.NewTextHandler(&log, nil)))
	r.Record(Event{Status: 200, At: noon})
	store.fails = true
	for range 3 {
		if err := r.Flush(t.Context()); !errors.Is(err, errFull) {
			t.Fatalf("got %v, want %v", err, errFull)
		}
	}
	store.fails = false
	for range 2 {
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(log.String(), "\n"); got != 2 {
		t.Errorf("got %d lines, want one for the failure and one for the recovery:\n%s", got, log.String())
	}
}

func TestRestoreReturnsTheCurrentDayAndMonth(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 23, 59, 59, 0, time.UTC)
	store, r := setup(func() time.Time { return now })
	store.quotas = []Quota{
		{OwnerID: "wsp_a", Period: "2026-11-29", Charged: 3},
		{OwnerID: "wsp_a", Period: "2026-11", Charged: 40},
		{OwnerID: "key_a", Period: "2026-11", Charged: 7},
	}
	used, err := r.Restore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"2026-11-29", "2026-11"}, store.periods); diff != "" {
		t.Errorf("periods (-want +got):\n%s", diff)
	}
	expect := func(owner string, wantDay, wantMonth int64) {
		t.Helper()
		if day, month := used(owner); day != wantDay || month != wantMonth {
			t.Errorf("%s at %v: got %d and %d, want %d and %d", owner, now, day, month, wantDay, wantMonth)
		}
	}
	expect("wsp_a", 3, 40)
	expect("key_a", 0, 7)
	expect("wsp_b", 0, 0)
	now = now.Add(time.Second)
	expect("wsp_a", 0, 40)
	now = now.Add(24 * time.Hour)
	expect("wsp_a", 0, 0)
}

func TestRestoreFromAnUnavailableStoreFails(t *testing.T) {
	t.Parallel()
	store, r := setup(atNoon)
	store.fails = true
	if _, err := r.Restore(t.Context()); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
}

func TestRunFlushesAndTidiesUntilStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		store, r := setup(time.Now)
		ctx, stop := context.WithCancel(t.Context())
		go r.Run(ctx)
		stored := func(want int) {
			t.Helper()
			synctest.Wait()
			store.mu.Lock()
			defer store.mu.Unlock()
			if store.adds != want {
				t.Errorf("%d flushes were stored, want %d", store.adds, want)
			}
		}
		time.Sleep(flushEvery / 2)
		for n := range 3 {
			r.Record(Event{Status: 200, At: time.Now()})
			stored(n)
			time.Sleep(flushEvery)
			stored(n + 1)
		}
		time.Sleep(time.Hour)
		stop()
		synctest.Wait()
		r.Record(Event{Status: 200, At: time.Now()})
		time.Sleep(2 * time.Hour)
		stored(3)
		if store.rolled != 361 {
			t.Errorf("rolled up %d times in an hour, want each ten seconds", store.rolled)
		}
		want := func(now time.Time) Retention {
			return Retention{Now: now, Minutes: now.Add(-50 * time.Hour), Hours: now.Add(-(90*24 + 2) * time.Hour), Days: now.AddDate(0, -25, 0)}
		}
		if diff := cmp.Diff([]Retention{want(start), want(start.Add(time.Hour))}, store.pruned); diff != "" {
			t.Errorf("pruned (-want +got):\n%s", diff)
		}
	})
}

func TestRequestsBeyondMaxPairsAreCountedAsOther(t *testing.T) {
	t.Parallel()
	var logged strings.Builder
	store := newMemoryStore()
	r := NewRecorder(store, atNoon, slog.New(slog.NewTextHandler(&logged, nil)))
	route := r.Route("GET", "/a")
	const beyond = 20
	for round := range 2 { // known pairs stay known
		for i := range MaxPairs + beyond {
			e := Event{Status: 200, At: noon, Charged: 1, BytesOut: 3, Took: time.Millisecond, Route: route}
			if round == 0 {
				r.Owner("wsp_a", fmt.Sprint("key_", i))
			}
			e.Owner = Owner(i + 1)
			r.Record(e)
		}
		r.Record(Event{Owner: 1, Route: route, Status: 200, At: noon.Add(time.Minute)})
		if err := r.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var known, other, requests int64
	for d, c := range store.cells {
		requests += c.Requests
		switch {
		case d.route == "/a" && d.method == "GET":
			known++
		case d.route == Other && d.method == "" && d.key != "":
			other += c.Requests
			if c.Charged != 2 || c.BytesOut != 6 || c.Latency.Count() != 2 {
				t.Fatalf("the cell of %s is %+v", d.key, c)
			}
		default:
			t.Fatalf("unexpected cell %+v", d)
		}
	}
	if known != MaxPairs+1 || other != 2*beyond || requests != 2*(MaxPairs+beyond+1) {
		t.Errorf("%d pairs, %d requests of others, %d requests", known, other, requests)
	}
	if n := strings.Count(logged.String(), "counted requests without their key and route"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, logged.String())
	}
}

func TestTableThatIsNotDrainedStaysSmall(t *testing.T) {
	t.Parallel()
	table := newSumTable()
	for i := range 3 * maxCells {
		table.add(cell{owner: 1, route: 2, status: 200, took: uint16(1 + i%bucketCount), minute: uint32(i / bucketCount)}.key(), sum{requests: 1, charged: 2})
	}
	if len(table.entries) > maxCells+3*maxCells/bucketCount {
		t.Errorf("the table has %d cells", len(table.entries))
	}
	total := sum{}
	for _, e := range table.entries {
		total.add(e.sum)
	}
	if total.requests != 3*maxCells || total.charged != 6*maxCells {
		t.Errorf("counted %+v", total)
	}
}

// Not parallel, because AllocsPerRun counts the allocations of the whole process.
func TestRecordingKnownDimensionsAllocatesNothing(t *testing.T) {
	_, r := setup(atNoon)
	e := Event{Owner: r.Owner("wsp_a", "key_a"), Route: r.Route("GET", "/a"), Status: 200, At: noon, Charged: 1, Took: time.Millisecond}
	secret := r.Secret(r.Owner("wsp_a", "key_a"), "kpsk_abcd")
	for range 100 {
		r.Record(e)
	}
	n := testing.AllocsPerRun(1_000, func() {
		r.Record(e)
		r.Touch(secret, noon)
	})
	if n >= 1 {
		t.Errorf("got %v allocations, want none", n)
	}
}
