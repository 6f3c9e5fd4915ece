package usage

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func TestTotalsCountRequestsBeforeTheyAreStored(t *testing.T) {
	t.Parallel()
	_, r := setup(atNoon)
	route := r.Route("GET", "/api/v1/search")
	for i := range 3 {
		owner := r.Owner("wsp_a", fmt.Sprint("key_", i))
		r.Record(Event{Owner: owner, Route: route, Version: 1, Status: 200, At: noon, Took: 3 * time.Millisecond, BytesIn: 1, BytesOut: 10, Charged: 1})
	}
	r.Record(Event{Route: route, Version: 1, Status: 429, At: noon, Took: time.Microsecond})
	r.Record(Event{Status: 404, At: noon, Took: time.Minute, Surface: AI})
	r.Charge(r.Owner("wsp_a", "key_0"), noon, 5) // not a request

	want := Totals{
		Requests: []RequestTotal{
			{Surface: "ai", Class: 4, Requests: 1},
			{Surface: "primary", Version: 1, Method: "GET", Route: "/api/v1/search", Class: 2, Requests: 3},
			{Surface: "primary", Version: 1, Method: "GET", Route: "/api/v1/search", Class: 4, Requests: 1},
		},
		Routes: []RouteTotal{
			{Surface: "ai"},
			{Surface: "primary", Method: "GET", Route: "/api/v1/search", BytesIn: 3, BytesOut: 30},
		},
	}
	for range 2 { // reading changes nothing
		got := r.Totals()
		if n := got.Routes[1].Latency.Count(); n != 4 {
			t.Errorf("the route has %d durations, want 4", n)
		}
		if sum := got.Routes[1].Latency.Sum; sum < 8800*time.Microsecond || sum > 9200*time.Microsecond {
			t.Errorf("the durations sum to %s, want about 9 ms", sum)
		}
		if above := got.Routes[0].Latency.Counts[len(LatencyBounds)]; above != 1 {
			t.Errorf("%d durations are above all bounds, want 1", above)
		}
		for i := range got.Routes {
			got.Routes[i].Latency = Latency{}
		}
		slices.SortFunc(got.Requests, func(a, b RequestTotal) int {
			return cmp.Or(cmp.Compare(a.Surface, b.Surface), cmp.Compare(a.Class, b.Class))
		})
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("totals differ (-want +got):\n%s", diff)
		}
	}
}

func TestTotalsStayTheSameWhenUsageIsFlushed(t *testing.T) {
	t.Parallel()
	store, r := setup(atNoon)
	route := r.Route("GET", "/a")
	record := func() { r.Record(Event{Route: route, Status: 200, At: noon}) }
	total := func() int64 { return r.Totals().Requests[0].Requests }

	record()
	store.fails = true
	_ = r.Flush(t.Context()) // what it drained stays pending
	record()
	if n := total(); n != 2 {
		t.Errorf("%d requests after a failed flush, want 2", n)
	}
	if s := r.FlushStats(); s.Failures != 1 || s.Flushes != 0 || s.Pending != 2 || !s.StoredAt.Equal(noon) {
		t.Errorf("after a failed flush the statistics are %+v", s)
	}
	store.fails = false
	if err := r.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := total(); n != 2 {
		t.Errorf("%d requests after a flush, want 2", n)
	}
	if s := r.FlushStats(); s.Failures != 1 || s.Flushes != 1 || s.Pending != 0 {
		t.Errorf("after a flush the statistics are %+v", s)
	}
	if len(store.cells) != 1 {
		t.Errorf("the store has %d cells, want 1", len(store.cells))
	}
}

// hangingStore is a store whose AddUsage returns when release is closed.
type hangingStore struct {
	*memoryStore
	release chan struct{}
}

func (s *hangingStore) AddUsage(ctx context.Context, d Delta) ([]Quota, error) {
	<-s.release
	return s.memoryStore.AddUsage(ctx, d)
}

func TestTotalsDoNotWaitForAFlush(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &hangingStore{newMemoryStore(), make(chan struct{})}
		r := NewRecorder(store, time.Now, slog.New(slog.DiscardHandler))
		route := r.Route("GET", "/a")
		r.Record(Event{Route: route, Status: 200, At: time.Now()})
		go func() { _ = r.Flush(t.Context()) }()
		synctest.Wait()
		r.Record(Event{Route: route, Status: 200, At: time.Now()})
		if n := r.Totals().Requests[0].Requests; n != 2 {
			t.Errorf("%d requests while a flush hangs, want 2", n)
		}
		close(store.release)
	})
}

func TestEveryDurationIsBelowItsBound(t *testing.T) {
	t.Parallel()
	for _, d := range LatencyBounds {
		for _, took := range []time.Duration{d * 98 / 100, d * 102 / 100} {
			var l Latency
			l.add(bucketOf(took), 1)
			for i, n := range l.Counts {
				inside := (i == 0 || took > LatencyBounds[i-1]) && (i == len(LatencyBounds) || took <= LatencyBounds[i])
				if (n == 1) != inside {
					t.Errorf("%s is in bucket %d: %t", took, i, n == 1)
				}
			}
		}
	}
}
