package analytics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/id"
	"keepsake/internal/govern/usage"
)

// recorded is a LogStore in memory. Its other methods are not called.
type recorded struct {
	LogStore
	batches  []Batch
	fail     error
	requests []Request // newest first
	reads    int
	calls    []string
}

func (r *recorded) AddRequests(_ context.Context, b Batch) error {
	r.batches = append(r.batches, b)
	return r.fail
}

func (r *recorded) Requests(_ context.Context, q RequestQuery) (list []Request, err error) {
	r.reads++
	for _, one := range r.requests {
		if q.Before == nil || one.At.Before(q.Before.At) || one.At.Equal(q.Before.At) && one.Number < q.Before.Number {
			list = append(list, one)
		}
	}
	return list[:min(q.Limit, len(list))], nil
}

func (r *recorded) PruneRequests(_ context.Context, before time.Time) error {
	return r.call("requests", before)
}

func (r *recorded) RollUpErrors(_ context.Context, before time.Time) error {
	return r.call("minutes", before)
}

func (r *recorded) PruneErrors(_ context.Context, before time.Time) error {
	return r.call("errors", before)
}

func (r *recorded) call(what string, before time.Time) error {
	r.calls = append(r.calls, what+" "+before.Format(time.RFC3339))
	return nil
}

func newLog(days int) (*recorded, *Log) {
	store := &recorded{}
	return store, NewLog(store, days, func() time.Time { return now }, slog.New(slog.DiscardHandler))
}

func event(status int, workspaceID string) *Event {
	e := &Event{
		At: now, Took: 1500 * time.Microsecond, UUID: id.RequestAt(now), WorkspaceID: workspaceID, Key: id.UUID{1}, Route: "/api/v1/search", Method: "GET",
		Status: status, Version: 1, Surface: "primary", Agent: "curl/8.5.0 (someone@example.org)",
	}
	if Failed(status) {
		e.Code = "not_found"
	}
	return e
}

func flush(t *testing.T, l *Log) {
	t.Helper()
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestLogHasWhatRequestsWereLike(t *testing.T) {
	t.Parallel()
	store, l := newLog(7)
	e := event(404, "wsp_a")
	e.CallerID = "my-request-id"
	l.Add(e)
	e.CallerID, e.Key, e.UserID, e.Agent = "", id.UUID{}, "usr_a", "<ada@example.org>"
	l.Add(e)
	flush(t, l)
	if len(store.batches) != 1 || len(store.batches[0].Requests) != 2 {
		t.Fatalf("got %+v", store.batches)
	}
	want := Request{
		Traits: Traits{KeyID: id.Format(id.APIKey, id.UUID{1}), Route: "/api/v1/search", Method: "GET", Status: 404, Version: 1, Surface: "primary"},
		At:     now, ID: "my-request-id", WorkspaceID: "wsp_a", Code: "not_found", Took: 1500 * time.Microsecond, Client: "curl/8.5.0",
	}
	second := want
	second.KeyID, second.UserID, second.Client, second.ID = "", "usr_a", "", id.Format(id.Request, e.UUID)
	for _, r := range store.batches[0].Requests {
		r.Number = 0
		if diff := cmp.Diff(want, r); diff != "" && !cmp.Equal(second, r) {
			t.Errorf("%+v: %s", r, diff)
		}
	}
	flush(t, l)
	if len(store.batches) != 1 {
		t.Error("nothing was stored too")
	}
}

func TestErrorsComeBeforeSuccesses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ successes, throttled, failures, want, wantFailures int }{
		{150, 0, 50, 200, 50},
		{0, 150, 51, 200, 51},
		{500, 0, 150, 200, 150},
		{500, 500, 500, 200, 200},
		{100, 0, 0, 100, 0},
	} {
		store, l := newLog(7)
		for range c.successes {
			l.Add(event(200, "wsp_a"))
		}
		for range c.throttled {
			l.Add(event(429, "wsp_a"))
		}
		for range c.failures {
			l.Add(event(404, "wsp_a"))
		}
		flush(t, l)
		b := store.batches[0]
		failures := 0
		for _, r := range b.Requests {
			if Failed(r.Status) {
				failures++
			}
		}
		if len(b.Requests) != c.want || failures != c.wantFailures {
			t.Errorf("%+v: %d requests, %d of them errors", c, len(b.Requests), failures)
		}
		if left := c.successes+c.throttled+c.failures > c.want; left != (len(b.Gaps) == 1) {
			t.Errorf("%+v: gaps %+v", c, b.Gaps)
		}
		if c.failures > 0 && (len(b.Errors) != 1 || b.Errors[0].Count != int64(c.failures)) {
			t.Errorf("%+v: counts of errors %+v", c, b.Errors)
		}
	}
}

func TestGapsNameTheWorkspacesWithLostRequests(t *testing.T) {
	t.Parallel()
	store, l := newLog(7)
	for range 2 {
		for i := range maxRows + 3 {
			workspace := "wsp_a"
			if i > maxRows {
				workspace = "wsp_b"
			}
			l.Add(event(200, workspace))
		}
		flush(t, l)
	}
	l.Add(event(200, "wsp_a"))
	flush(t, l)
	minute := now.Truncate(time.Minute)
	for i, want := range [][]Gap{{{"wsp_a", minute}, {"wsp_b", minute}}, {{"wsp_a", minute}, {"wsp_b", minute}}, nil} {
		got := store.batches[i].Gaps
		slices.SortFunc(got, func(a, b Gap) int { return compareGroups(Group{a.WorkspaceID}, Group{b.WorkspaceID}) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("flush %d: %s", i, diff)
		}
	}
}

func TestFailedFlushIsSentAgainUnchanged(t *testing.T) {
	t.Parallel()
	store, l := newLog(7)
	l.Add(event(404, "wsp_a"))
	store.fail = errors.New("the connection is lost")
	for range 2 {
		if err := l.Flush(t.Context()); !errors.Is(err, store.fail) {
			t.Fatal(err)
		}
	}
	l.Add(event(500, "wsp_a"))
	store.fail = nil
	flush(t, l)
	flush(t, l)
	numbers := []int64{}
	for _, b := range store.batches {
		numbers = append(numbers, b.Number)
	}
	if diff := cmp.Diff([]int64{1, 1, 1, 2}, numbers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(store.batches[0], store.batches[2]); diff != "" {
		t.Errorf("it was not sent unchanged: %s", diff)
	}
	if len(store.batches[3].Requests) != 1 || store.batches[3].Requests[0].Status != 500 {
		t.Errorf("after it came %+v", store.batches[3])
	}
}

func TestLogTurnedOffStillCountsErrors(t *testing.T) {
	t.Parallel()
	store, l := newLog(0)
	l.Add(event(200, "wsp_a"))
	flush(t, l)
	if len(store.batches) != 0 {
		t.Errorf("got %+v", store.batches)
	}
	for range 300 {
		l.Add(event(404, "wsp_a"))
	}
	flush(t, l)
	if b := store.batches[0]; len(b.Requests) != 0 || len(b.Gaps) != 0 || len(b.Errors) != 1 || b.Errors[0].Count != 300 {
		t.Errorf("got %+v", b)
	}
}

func TestCountsOfErrorsAreBounded(t *testing.T) {
	t.Parallel()
	store, l := newLog(0)
	for i := range maxErrors + 10 {
		e := event(404, "wsp_a")
		e.Key = id.UUID{1, byte(i >> 8), byte(i)}
		l.Add(e)
	}
	for i := range 3 * maxErrors {
		l.Add(event(404, fmt.Sprint("wsp_", i)))
	}
	flush(t, l)
	var together int64
	for _, c := range store.batches[0].Errors {
		if c.WorkspaceID == "wsp_a" && c.KeyID == usage.Other && c.Route == usage.Other {
			together = c.Count
		}
	}
	if n := len(store.batches[0].Errors); n != 2*maxErrors || together != 10 {
		t.Errorf("%d counts, %d errors of the first workspace counted together", n, together)
	}
}

func TestTidyKeepsWhatTheSettingSays(t *testing.T) {
	t.Parallel()
	for days, want := range map[int]string{7: "requests 2026-11-14T14:13:05Z", 0: "requests 2026-11-21T14:13:05Z"} {
		store, l := newLog(days)
		if err := l.Tidy(t.Context()); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{want, "minutes 2026-11-19T14:13:05Z", "errors 2026-08-23T14:13:05Z"}, store.calls); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPagesOfRequestsFollowOneAnother(t *testing.T) {
	t.Parallel()
	store, l := newLog(7)
	for i := range 1000 {
		r := Request{At: now.Add(-time.Duration(i/3) * time.Second), Number: int64(-i)}
		r.Status = 200
		if i%100 == 0 {
			r.Status = 500
		}
		store.requests = append(store.requests, r)
	}
	s := NewService(Options{Requests: store, Log: l, Now: func() time.Time { return now }})
	for _, c := range []struct {
		filters            []string
		limit, pages, want int
	}{
		{nil, 200, 5, 1000},
		{nil, 7, 143, 1000},
		{[]string{"status:500"}, 3, 4, 10},
		{[]string{"status:404"}, 3, 1, 0},
	} {
		q := parse(t, Params{Filters: c.filters})
		var got []Request
		var before *Position
		pages := 0
		for {
			list, next, err := s.Requests(t.Context(), q, "", before, c.limit)
			if err != nil {
				t.Fatal(err)
			}
			got, pages = append(got, list...), pages+1
			if before = next; next == nil || pages > 1000 {
				break
			}
		}
		seen := map[int64]bool{}
		for _, r := range got {
			seen[r.Number] = true
		}
		if len(got) != c.want || len(seen) != c.want || pages != c.pages {
			t.Errorf("%v, %d each: %d requests, %d different ones, on %d pages", c.filters, c.limit, len(got), len(seen), pages)
		}
	}
}

func TestPageReadsABoundedPartOfTheLog(t *testing.T) {
	t.Parallel()
	store, l := newLog(7)
	for i := range maxScanned + 10_000 {
		store.requests = append(store.requests, Request{At: now.Add(-time.Duration(i) * time.Second), Number: 1})
	}
	s := NewService(Options{Requests: store, Log: l, Now: func() time.Time { return now }})
	list, next, err := s.Requests(t.Context(), parse(t, Params{Filters: []string{"status:404"}}), "", nil, 50)
	if err != nil || len(list) != 0 || next == nil {
		t.Fatalf("got %v, %v, %v", list, next, err)
	}
	if read := int(now.Sub(next.At)/time.Second) + 1; read < maxScanned || read > maxScanned+maxRead {
		t.Errorf("a page read %d requests", read)
	}
}

func BenchmarkLogAdd(b *testing.B) {
	for name, e := range map[string]*Event{"success": event(200, "wsp_a"), "failure": event(404, "wsp_a")} {
		b.Run(name, func(b *testing.B) {
			_, l := newLog(7)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					l.Add(e)
				}
			})
		})
	}
}
