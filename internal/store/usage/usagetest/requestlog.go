package usagetest

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/analytics"
	"keepsake/internal/govern/lifecycle"
	usagestore "keepsake/internal/store/usage"
	"keepsake/internal/testing/testtier"
)

// logged is a request of a workspace.
func logged(workspaceID string, at time.Time, number int64) analytics.Request {
	return analytics.Request{
		Traits: analytics.Traits{KeyID: "key_a", Route: "/api/v1/search", Method: "GET", Status: 404, Version: 1, Surface: "primary"},
		At:     at, Number: number, ID: fmt.Sprint("request-", number), WorkspaceID: workspaceID, Code: "not_found", Took: 1500 * time.Microsecond,
		Client: "curl/8.5.0",
	}
}

func addRequests(t *testing.T, s *usagestore.Store, b analytics.Batch) {
	t.Helper()
	noError(t, s.Requests.AddRequests(t.Context(), b))
}

func numbersOf(t *testing.T, s *usagestore.Store, q analytics.RequestQuery) (numbers []int64) {
	t.Helper()
	list, err := s.Requests.Requests(t.Context(), q)
	noError(t, err)
	for _, r := range list {
		numbers = append(numbers, r.Number)
	}
	return numbers
}

func testRequestLog(t *testing.T, setup setup) {
	all := analytics.RequestQuery{From: epoch.Add(-time.Hour), To: epoch.Add(time.Hour), Limit: 100}

	t.Run("RequestsComeBackNewestFirst", func(t *testing.T) {
		s := setup(t)
		first := logged("wsp_a", epoch, 1)
		second := analytics.Request{At: after(time.Microsecond), Number: -5, ID: "request-x", UserID: "usr_a", WorkspaceID: "wsp_a", Traits: analytics.Traits{Method: "GET", Status: 200, Surface: "ai"}}
		addRequests(t, s, analytics.Batch{Recorder: "r", Number: 1, At: epoch, Requests: []analytics.Request{first, second}})
		got, err := s.Requests.Requests(t.Context(), all)
		noError(t, err)
		if diff := cmp.Diff([]analytics.Request{second, first}, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("RequestsAreSelectedByWorkspaceTimeIDAndPosition", func(t *testing.T) {
		s := setup(t)
		var list []analytics.Request
		for i := range int64(6) {
			list = append(list, logged("wsp_a", after(time.Duration(i/2)*time.Second), i))
		}
		list = append(list, logged("wsp_b", epoch, 10), logged("", epoch, 11))
		addRequests(t, s, analytics.Batch{Recorder: "r", Number: 1, At: epoch, Requests: list})
		for name, c := range map[string]struct {
			change func(q *analytics.RequestQuery)
			want   []int64
		}{
			"all":          {func(*analytics.RequestQuery) {}, []int64{5, 4, 3, 2, 11, 10, 1, 0}},
			"a workspace":  {func(q *analytics.RequestQuery) { q.WorkspaceID = "wsp_a" }, []int64{5, 4, 3, 2, 1, 0}},
			"a limit":      {func(q *analytics.RequestQuery) { q.Limit = 2 }, []int64{5, 4}},
			"a period":     {func(q *analytics.RequestQuery) { q.From, q.To = after(time.Second), after(2*time.Second) }, []int64{3, 2}},
			"an ID":        {func(q *analytics.RequestQuery) { q.ID = "request-3" }, []int64{3}},
			"another's ID": {func(q *analytics.RequestQuery) { q.WorkspaceID, q.ID = "wsp_b", "request-3" }, nil},
			"a position":   {func(q *analytics.RequestQuery) { q.Before = &analytics.Position{At: after(time.Second), Number: 3} }, []int64{2, 11, 10, 1, 0}},
			"a position too": {func(q *analytics.RequestQuery) {
				q.WorkspaceID, q.Before = "wsp_a", &analytics.Position{At: epoch, Number: 1}
			}, []int64{0}},
		} {
			q := all
			c.change(&q)
			if diff := cmp.Diff(c.want, numbersOf(t, s, q)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})

	t.Run("ABatchIsAddedOnceHoweverOftenItIsSent", func(t *testing.T) {
		s := setup(t)
		one := analytics.ErrorCount{
			Traits: analytics.Traits{KeyID: "key_a", Route: "/api/v1/search", Method: "GET", Status: 404, Version: 1, Surface: "primary"},
			Start:  epoch.Truncate(time.Minute), WorkspaceID: "wsp_a", Code: "not_found", Count: 3, LastAt: after(time.Second),
		}
		late := one
		late.LastAt, late.Count = epoch, 1
		b := analytics.Batch{Recorder: "r", Number: 1, At: epoch, Requests: []analytics.Request{logged("wsp_a", epoch, 1)}, Errors: []analytics.ErrorCount{one, late}}
		for range 3 {
			addRequests(t, s, b)
		}
		b.Number, b.Requests = 2, []analytics.Request{logged("wsp_a", epoch, 2)}
		addRequests(t, s, b)
		if diff := cmp.Diff([]int64{2, 1}, numbersOf(t, s, all)); diff != "" {
			t.Error(diff)
		}
		want := one
		want.Count = 8
		if diff := cmp.Diff([]analytics.ErrorCount{want}, errorsOf(t, s, analytics.ErrorQuery{From: all.From, To: all.To})); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("GapsAreFoundByWorkspaceAndMinute", func(t *testing.T) {
		s := setup(t)
		minute := epoch.Truncate(time.Minute)
		for n := range int64(2) {
			addRequests(t, s, analytics.Batch{Recorder: "r", Number: n + 1, At: epoch, Gaps: []analytics.Gap{{WorkspaceID: "wsp_b", Minute: minute}, {WorkspaceID: "wsp_a", Minute: minute}}})
		}
		for _, c := range []struct {
			workspaceID string
			from, to    time.Time
			want        bool
		}{
			{"wsp_a", minute, minute.Add(time.Minute), true},
			{"wsp_a", minute.Add(30 * time.Second), minute.Add(40 * time.Second), true},
			{"", minute, minute.Add(time.Minute), true},
			{"wsp_c", minute, minute.Add(time.Minute), false},
			{"wsp_a", minute.Add(time.Minute), minute.Add(time.Hour), false},
			{"wsp_a", minute.Add(-time.Hour), minute, false},
		} {
			got, err := s.Requests.HasGap(t.Context(), c.workspaceID, c.from, c.to)
			noError(t, err)
			if got != c.want {
				t.Errorf("%+v: got %v", c, got)
			}
		}
		noError(t, s.Requests.PruneRequests(t.Context(), minute.Add(time.Minute)))
		if got, err := s.Requests.HasGap(t.Context(), "", minute, minute.Add(time.Minute)); got || err != nil {
			t.Errorf("pruned: got %v, %v", got, err)
		}
	})

	t.Run("CountsOfErrorsSurviveTheRollUp", func(t *testing.T) {
		s := setup(t)
		hour := epoch.Truncate(time.Hour)
		var counts []analytics.ErrorCount
		rows := testtier.Rounds(300, 1000) // several transactions
		for i := range rows {
			counts = append(counts, analytics.ErrorCount{
				Traits: analytics.Traits{KeyID: fmt.Sprint("key_", i%7), Route: "/api/v1/search", Method: "GET", Status: 400 + i%3, Version: 1, Surface: "primary"},
				Start:  hour.Add(time.Duration(i) * time.Minute), WorkspaceID: "wsp_a", Code: "not_found", Count: 1, LastAt: hour.Add(time.Duration(i) * time.Minute),
			})
		}
		addRequests(t, s, analytics.Batch{Recorder: "r", Number: 1, At: epoch, Errors: counts})
		end := hour.Add(time.Duration(rows) * time.Minute)
		check := func(when string, from time.Time, want int64) {
			t.Helper()
			var sum int64
			last := hour
			for _, c := range errorsOf(t, s, analytics.ErrorQuery{WorkspaceID: "wsp_a", From: from, To: end}) {
				sum += c.Count
				if c.LastAt.After(last) {
					last = c.LastAt
				}
			}
			if sum != want || !last.Equal(end.Add(-time.Minute)) {
				t.Errorf("%s: %d errors, the last at %s; want %d", when, sum, last, want)
			}
		}
		check("minutes", hour, int64(rows))
		for range 2 {
			noError(t, s.Requests.RollUpErrors(t.Context(), hour.Add(4*time.Hour+30*time.Minute)))
			check("hours", hour, int64(rows))
		}
		if got := errorsOf(t, s, analytics.ErrorQuery{From: hour, To: hour.Add(time.Hour)}); len(got) != 21 || !got[0].Start.Equal(hour) {
			t.Errorf("the first hour has %d counts, want one for each of 7 keys and 3 statuses", len(got))
		}
		noError(t, s.Requests.PruneErrors(t.Context(), hour.Add(time.Hour)))
		check("pruned", hour, int64(rows-60))
	})

	t.Run("OldRequestsAreDeleted", func(t *testing.T) {
		s := setup(t)
		var list []analytics.Request
		for i := range int64(500) { // several transactions
			list = append(list, logged("wsp_a", after(time.Duration(i)*time.Millisecond), i))
		}
		addRequests(t, s, analytics.Batch{Recorder: "r", Number: 1, At: epoch, Requests: list})
		noError(t, s.Requests.PruneRequests(t.Context(), after(498*time.Millisecond)))
		if diff := cmp.Diff([]int64{499, 498}, numbersOf(t, s, all)); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("BatchesSideBySideCountEverything", func(t *testing.T) {
		s := setup(t)
		const recorders, batches, each = 3, 5, 40
		var writers sync.WaitGroup
		for r := range recorders {
			writers.Go(func() {
				for n := range batches {
					b := analytics.Batch{Recorder: fmt.Sprint("r", r), Number: int64(n + 1), At: epoch}
					for i := range each {
						b.Errors = append(b.Errors, analytics.ErrorCount{
							Traits: analytics.Traits{KeyID: fmt.Sprint("key_", (i+r)%each), Status: 404}, Start: epoch.Truncate(time.Hour).Add(time.Duration(i%2) * time.Minute),
							WorkspaceID: "wsp_a", Code: "not_found", Count: 1, LastAt: epoch,
						})
						b.Requests = append(b.Requests, logged("wsp_a", epoch, int64(r*1000+n*100+i)))
					}
					if err := s.Requests.AddRequests(t.Context(), b); err != nil {
						t.Error(err)
					}
				}
			})
			writers.Go(func() {
				if err := s.Requests.RollUpErrors(t.Context(), epoch.Add(time.Hour)); err != nil {
					t.Error(err)
				}
			})
		}
		writers.Wait()
		var sum int64
		for _, c := range errorsOf(t, s, analytics.ErrorQuery{From: all.From, To: all.To}) {
			sum += c.Count
		}
		q := all
		q.Limit = 10_000
		if got := len(numbersOf(t, s, q)); sum != recorders*batches*each || got != recorders*batches*each {
			t.Errorf("%d errors and %d requests, want %d", sum, got, recorders*batches*each)
		}
	})

	t.Run("LastCallsAreThoseOfAWorkspace", func(t *testing.T) {
		s := setup(t)
		caller := func(version int, workspaceID, callerID string, at time.Time) lifecycle.Caller {
			return lifecycle.Caller{Version: version, WorkspaceID: workspaceID, CallerID: callerID, Route: "GET /api/v1/search", LastAt: at}
		}
		noError(t, s.Callers.AddCallers(t.Context(), []lifecycle.Caller{
			caller(1, "wsp_a", "key_a", epoch), caller(1, "wsp_a", "key_b", after(time.Second)), caller(2, "wsp_a", "key_a", epoch), caller(1, "wsp_b", "key_c", after(time.Hour)),
		}, 10))
		for workspaceID, want := range map[string]map[int]time.Time{
			"wsp_a": {1: after(time.Second), 2: epoch}, "": {1: after(time.Hour), 2: epoch}, "wsp_c": {},
		} {
			got, err := s.Callers.LastCalls(t.Context(), workspaceID, false)
			noError(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", workspaceID, diff)
			}
		}
	})
}

func errorsOf(t *testing.T, s *usagestore.Store, q analytics.ErrorQuery) (list []analytics.ErrorCount) {
	t.Helper()
	noError(t, s.Requests.EachError(t.Context(), q, func(c *analytics.ErrorCount) { list = append(list, *c) }))
	return list
}
