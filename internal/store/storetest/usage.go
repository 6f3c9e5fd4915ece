package storetest

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/store"
	"keepsake/internal/testtier"
	"keepsake/internal/usage"
)

func testUsage(t *testing.T, open func(t *testing.T) store.Engine) {
	setup := func(t *testing.T) *store.Store {
		t.Helper()
		t.Parallel()
		return store.New(open(t))
	}
	t.Run("QuotasAreTheSumOfWhatWasCharged", func(t *testing.T) {
		s := setup(t)
		day := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
		anonymous := usageCell(day, 401, 5, 5)
		anonymous.WorkspaceID, anonymous.KeyID = "", ""
		withoutKey := usageCell(day, 200, 1, 1)
		withoutKey.KeyID = ""
		for range 2 { // added, not replaced
			addUsage(t, s, usage.Delta{Cells: []usage.Cell{
				usageCell(day, 200, 3, 2), usageCell(day.Add(time.Minute), 200, 4, 4), usageCell(day, 500, 9, 0), withoutKey, anonymous,
			}})
		}
		wantQuotas(t, s, []string{"2026-11-30", "2026-12-01", "2026-11", "2026-12", "2026-10"}, map[string]int64{
			"2026-11-30 wsp_a": 6, "2026-11-30 key_a": 4, "2026-12-01 wsp_a": 8, "2026-12-01 key_a": 8,
			"2026-11 wsp_a": 6, "2026-11 key_a": 4, "2026-12 wsp_a": 8, "2026-12 key_a": 8,
		})
	})

	t.Run("ASeriesSumsItsStepsBeforeAndAfterTheRollUp", func(t *testing.T) {
		s := setup(t)
		start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		other := usageCell(start, 200, 100, 100)
		other.WorkspaceID = "wsp_b"
		addUsage(t, s, usage.Delta{Cells: []usage.Cell{
			usageCell(start.Add(-time.Minute), 200, 50, 50), usageCell(start, 200, 3, 3), usageCell(start.Add(59*time.Minute), 404, 2, 2),
			usageCell(start.Add(61*time.Minute), 429, 5, 0), usageCell(start.Add(3*time.Hour), 503, 7, 0), usageCell(start.Add(4*time.Hour), 200, 50, 50), other,
		}})
		want := []usage.Point{
			{At: start, Requests: 5, Errors: 2, Charged: 5},
			{At: start.Add(time.Hour), Requests: 5, Throttled: 5},
			{At: start.Add(3 * time.Hour), Requests: 7, Errors: 7},
		}
		check := func(when string) {
			t.Helper()
			got, err := s.KeySeries(t.Context(), "wsp_a", "key_a", start, start.Add(4*time.Hour), time.Hour)
			noError(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", when, diff)
			}
		}
		check("minutes")
		noError(t, s.RollUpUsage(t.Context(), start.Add(90*time.Minute)))
		check("the first hour rolled up")
		addUsage(t, s, usage.Delta{Cells: []usage.Cell{usageCell(start, 200, 1, 1)}})
		want[0].Requests, want[0].Charged = 6, 6
		check("a late minute")
		for range 2 {
			noError(t, s.RollUpUsage(t.Context(), start.Add(3*time.Hour)))
			check("rolled up again")
		}
		noError(t, s.RollUpUsage(t.Context(), start.Add(time.Hour))) // with an older time
		check("rolled up by a slow clock")
		wantQuotas(t, s, []string{"2026-11-20"}, map[string]int64{"2026-11-20 wsp_a": 106, "2026-11-20 key_a": 206, "2026-11-20 wsp_b": 100})
	})

	t.Run("MinutesBecomeHoursAndHoursBecomeDaysAsTheyAge", func(t *testing.T) {
		s := setup(t)
		midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
		at := func(hour, minute int) time.Time {
			return midnight.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
		}
		addUsage(t, s, usage.Delta{Cells: []usage.Cell{
			usageCell(at(8, 1), 200, 1, 1), usageCell(at(8, 2), 200, 2, 2), usageCell(at(9, 0), 200, 4, 4), usageCell(at(26, 30), 200, 8, 8), usageCell(at(50, 10), 200, 16, 16),
		}})
		// check reads everything, and by day and hour.
		check := func(when string, minutes map[time.Time]int64, requests int64) {
			t.Helper()
			for _, step := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour} {
				got, total := map[time.Time]int64{}, int64(0)
				q := usage.CellQuery{WorkspaceID: "wsp_a", From: midnight, To: at(72, 0), Step: step}
				noError(t, s.EachCell(t.Context(), q, func(c *usage.Cell) error {
					got[c.Start] += c.Requests
					total += c.Requests
					var latency usage.Histogram
					noError(t, latency.MergeEncoded(c.Latency))
					if latency.Count() != c.Requests {
						t.Errorf("%s: %d durations of %d requests", when, latency.Count(), c.Requests)
					}
					return nil
				}))
				if total != requests {
					t.Errorf("%s, by %v: %d requests, want %d", when, step, total, requests)
				}
				if diff := cmp.Diff(minutes, got); step == time.Minute && diff != "" {
					t.Errorf("%s: %s", when, diff)
				}
			}
		}
		rollUp := func(end time.Time) {
			t.Helper()
			noError(t, s.RollUpUsage(t.Context(), end))
		}
		prune := func(r usage.Retention) {
			t.Helper()
			for range 2 { // the second call deletes the rows
				r.Now = at(50, 0)
				noError(t, s.PruneUsage(t.Context(), r))
			}
		}
		all := map[time.Time]int64{at(8, 1): 1, at(8, 2): 2, at(9, 0): 4, at(26, 30): 8, at(50, 10): 16}
		check("not rolled up", all, 31)
		rollUp(at(50, 0))
		check("two days rolled up", all, 31)
		prune(usage.Retention{Minutes: at(9, 30), Hours: midnight, Days: midnight})
		check("minutes of the first hours deleted", map[time.Time]int64{at(8, 0): 3, at(9, 0): 4, at(26, 30): 8, at(50, 10): 16}, 31)
		addUsage(t, s, usage.Delta{Cells: []usage.Cell{usageCell(at(8, 30), 200, 32, 32)}})
		check("a late minute", map[time.Time]int64{at(8, 0): 3, at(8, 30): 32, at(9, 0): 4, at(26, 30): 8, at(50, 10): 16}, 63)
		prune(usage.Retention{Minutes: at(49, 0), Hours: at(30, 0), Days: midnight})
		check("hours of the first day deleted", map[time.Time]int64{at(0, 0): 7, at(8, 30): 32, at(26, 0): 8, at(50, 10): 16}, 63)
		prune(usage.Retention{Minutes: at(49, 0), Hours: at(30, 0), Days: at(24, 0)})
		check("the first day deleted", map[time.Time]int64{at(26, 0): 8, at(50, 10): 16}, 24)
		rollUp(at(72, 0))
		check("everything rolled up", map[time.Time]int64{at(26, 0): 8, at(50, 10): 16}, 24)
	})

	t.Run("CellsOfAQueryComeOnceWhateverIsRolledUp", func(t *testing.T) {
		s := setup(t)
		start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		of := func(workspaceID, keyID string, at time.Time) usage.Cell {
			c := usageCell(at, 200, 1, 1)
			c.WorkspaceID, c.KeyID = workspaceID, keyID
			return c
		}
		addUsage(t, s, usage.Delta{Cells: []usage.Cell{
			of("wsp_a", "key_a", start), of("wsp_a", "key_a", start.Add(30*time.Minute)), of("wsp_a", "key_b", start.Add(time.Hour)),
			of("wsp_a", "", start), of("wsp_b", "key_c", start), of("wsp_a", "key_a", start.Add(-time.Minute)), of("wsp_a", "key_a", start.Add(2*time.Hour)),
		}})
		q := usage.CellQuery{WorkspaceID: "wsp_a", From: start, To: start.Add(2 * time.Hour), Step: time.Hour}
		check := func(when string) {
			t.Helper()
			for _, c := range []struct {
				workspaceID string
				keyIDs      []string
				want        map[string]int64
			}{
				{"wsp_a", nil, map[string]int64{"wsp_a key_a 08:00": 2, "wsp_a key_b 09:00": 1, "wsp_a  08:00": 1}},
				{"wsp_a", []string{"key_a"}, map[string]int64{"wsp_a key_a 08:00": 2}},
				{"wsp_a", []string{"key_b", "key_c", ""}, map[string]int64{"wsp_a key_b 09:00": 1, "wsp_a  08:00": 1}},
				{"wsp_b", []string{"key_a"}, map[string]int64{}},
				{"", []string{"key_a", "key_c"}, map[string]int64{"wsp_a key_a 08:00": 2, "wsp_b key_c 08:00": 1}},
			} {
				q.WorkspaceID, q.KeyIDs = c.workspaceID, c.keyIDs
				got := map[string]int64{}
				noError(t, s.EachCell(t.Context(), q, func(c *usage.Cell) error {
					if c.Route != "/api/v1/search" || c.Method != "GET" || c.Status != 200 || c.Version != 1 || c.Surface != "primary" ||
						c.Charged != c.Requests {
						t.Errorf("%s: got %+v", when, c)
					}
					got[c.WorkspaceID+" "+c.KeyID+" "+c.Start.Format("15:04")] += c.Requests
					return nil
				}))
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s, keys %q of %q: %s", when, c.keyIDs, c.workspaceID, diff)
				}
			}
		}
		check("minutes")
		noError(t, s.RollUpUsage(t.Context(), start.Add(time.Hour)))
		check("the first hour rolled up")
		noError(t, s.RollUpUsage(t.Context(), start.Add(3*time.Hour)))
		check("everything rolled up")
	})

	t.Run("MinutesOfManyFlushesAreOneRowAfterTheRollUp", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		s := store.New(e)
		start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		const keys = 20 // more than a transaction compacts
		var want usage.Histogram
		for second := range 60 {
			d := usage.Delta{At: start.Add(time.Duration(second) * time.Second)}
			for key := range keys {
				c := usageCell(start, 200, 10, 10)
				c.KeyID = fmt.Sprint("key_", key)
				d.Cells = append(d.Cells, c)
				noError(t, want.MergeEncoded(c.Latency))
			}
			addUsage(t, s, d)
		}
		check := func(when string, rowsOfKey, longest int64) {
			t.Helper()
			var rows, bytes int64
			noError(t, e.Usage().In(t.Context()).QueryRow(t.Context(), "SELECT count(*), max(length(cells)) FROM usage_packed_minute").Scan(&rows, &bytes))
			if rows != keys*rowsOfKey || bytes > longest {
				t.Errorf("%s: %d rows of up to %d bytes, want %d of %d", when, rows, bytes, keys*rowsOfKey, longest)
			}
			for _, step := range []time.Duration{time.Minute, time.Hour} {
				var got usage.Histogram
				q := usage.CellQuery{WorkspaceID: "wsp_a", From: start, To: start.Add(time.Hour), Step: step}
				noError(t, s.EachCell(t.Context(), q, func(c *usage.Cell) error { return got.MergeEncoded(c.Latency) }))
				for _, q := range []float64{0.1, 0.5, 0.9, 0.99} {
					if got.Count() != want.Count() || got.Quantile(q) != want.Quantile(q) {
						t.Errorf("%s: quantile %v of %d is %v, want %v of %d", when, q, got.Count(), got.Quantile(q), want.Quantile(q), want.Count())
					}
				}
			}
		}
		check("appended", 12, 600)
		noError(t, s.RollUpUsage(t.Context(), start.Add(time.Hour)))
		check("rolled up", 1, 120)
	})

	t.Run("LateMinutesJoinTheirHourAndDayAtTheNextRollUp", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		s := store.New(e)
		midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
		at := func(hour, minute int) time.Time {
			return midnight.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
		}
		check := func(when string, late int64, want map[string]int64) {
			t.Helper()
			if n := count(t, e.Usage(), "usage_packed_late"); n != late {
				t.Errorf("%s: %d rows are late, want %d", when, n, late)
			}
			for _, step := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour} {
				got := map[string]int64{}
				q := usage.CellQuery{WorkspaceID: "wsp_a", From: midnight, To: at(72, 0), Step: step}
				noError(t, s.EachCell(t.Context(), q, func(c *usage.Cell) error {
					var latency usage.Histogram
					noError(t, latency.MergeEncoded(c.Latency))
					got[c.Start.Format("02 ")+c.KeyID] += latency.Count()
					return nil
				}))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, by %v: %s", when, step, diff)
				}
			}
		}
		add := func(keyID string, requests int64, times ...time.Time) {
			t.Helper()
			d := usage.Delta{At: at(50, 0)}
			for _, at := range times {
				c := usageCell(at, 200, requests, 0)
				c.KeyID = keyID
				d.Cells = append(d.Cells, c)
			}
			addUsage(t, s, d)
		}
		rollUp := func(end time.Time) {
			t.Helper()
			noError(t, s.RollUpUsage(t.Context(), end))
		}
		add("key_a", 1, at(8, 1), at(8, 2), at(26, 0))
		rollUp(at(26, 0))
		noError(t, s.PruneUsage(t.Context(), usage.Retention{Now: at(50, 0), Minutes: at(8, 0), Hours: at(8, 0), Days: midnight}))
		add("key_a", 2, at(8, 1), at(9, 0), at(25, 30))
		add("key_b", 4, at(7, 59), at(25, 30), at(26, 0))
		check("late", 5, map[string]int64{"20 key_a": 6, "21 key_a": 3, "20 key_b": 4, "21 key_b": 8})
		rollUp(at(26, 0))
		check("merged", 0, map[string]int64{"20 key_a": 6, "21 key_a": 3, "20 key_b": 4, "21 key_b": 8})
		many := make([]time.Time, 60)
		for i := range many {
			many[i] = at(8, i)
		}
		add("key_c", 1, many...)
		check("an hour late", 60, map[string]int64{"20 key_a": 6, "21 key_a": 3, "20 key_b": 4, "21 key_b": 8, "20 key_c": 60})
		rollUp(at(48, 0))
		check("everything packed", 0, map[string]int64{"20 key_a": 6, "21 key_a": 3, "20 key_b": 4, "21 key_b": 8, "20 key_c": 60})
		add("key_a", 8, at(8, 1))
		rollUp(at(48, 0))
		check("late again", 0, map[string]int64{"20 key_a": 14, "21 key_a": 3, "20 key_b": 4, "21 key_b": 8, "20 key_c": 60})
	})

	testUsageOfAnOlderRelease(t, open)

	t.Run("AFlushIsCountedOnceHoweverOftenItIsSent", func(t *testing.T) {
		s := setup(t)
		day := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
		flush := func(recorder string, number, charged int64) usage.Delta {
			withoutKey := usageCell(day, 200, 1, 1)
			withoutKey.KeyID = ""
			return usage.Delta{
				Recorder: recorder, Number: number, At: epoch, Totals: true,
				Cells: []usage.Cell{usageCell(day, 200, charged, charged), withoutKey, usageCell(day.Add(time.Minute), 500, 1, 0)},
			}
		}
		want := func(workspaceTotal, keyTotal, charged int64) []usage.Quota {
			return []usage.Quota{
				{OwnerID: "key_a", Period: "2026-11", Charged: keyTotal, Added: charged},
				{OwnerID: "key_a", Period: "2026-11-30", Charged: keyTotal, Added: charged},
				{OwnerID: "wsp_a", Period: "2026-11", Charged: workspaceTotal, Added: charged + 1},
				{OwnerID: "wsp_a", Period: "2026-11-30", Charged: workspaceTotal, Added: charged + 1},
			}
		}
		for i, c := range []struct {
			delta usage.Delta
			want  []usage.Quota
		}{
			{flush("one", 1, 5), want(6, 5, 5)},
			{flush("one", 1, 5), want(6, 5, 5)},
			{flush("two", 1, 10), want(17, 15, 10)},
			{flush("one", 2, 100), want(118, 115, 100)},
			{flush("two", 1, 10), want(118, 115, 10)},
			{flush("one", 1, 5), want(118, 115, 5)},
		} {
			if diff := cmp.Diff(c.want, addUsage(t, s, c.delta)); diff != "" {
				t.Errorf("flush %d: %s", i, diff)
			}
		}
		got, err := s.OwnerQuotas(t.Context(), []string{"wsp_a", "wsp_none"}, []string{"2026-11", "2026-12"})
		noError(t, err)
		if diff := cmp.Diff([]usage.Quota{{OwnerID: "wsp_a", Period: "2026-11", Charged: 118}}, got); diff != "" {
			t.Error(diff)
		}
	})

	t.Run("FlushesSideBySideCountEverything", func(t *testing.T) {
		s := setup(t)
		start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		const recorders, cellsEach = 4, 100
		flushes := testtier.Rounds(4, 8)
		var all sync.WaitGroup
		for r := range recorders {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(r), 1))
				for n := range flushes {
					d := usage.Delta{Recorder: fmt.Sprint("r", r), Number: int64(n + 1), At: epoch}
					for i := range cellsEach {
						c := usageCell(start.Add(time.Duration(i%7)*time.Minute), 200, 1, 1)
						c.KeyID = fmt.Sprint("key_", i)
						d.Cells = append(d.Cells, c)
						d.LastUses = append(d.LastUses, usage.LastUse{KeyID: c.KeyID, Hint: "h", At: after(time.Duration(random.IntN(1e9)))})
					}
					random.Shuffle(cellsEach, func(i, j int) {
						d.Cells[i], d.Cells[j] = d.Cells[j], d.Cells[i]
						d.LastUses[i], d.LastUses[j] = d.LastUses[j], d.LastUses[i]
					})
					if _, err := s.AddUsage(t.Context(), d); err != nil {
						t.Error(err)
					}
				}
			})
			all.Go(func() {
				for range flushes {
					if err := s.RollUpUsage(t.Context(), start.Add(time.Hour)); err != nil {
						t.Error(err)
					}
					if err := s.PruneUsage(t.Context(), usage.Retention{Now: start, Minutes: start, Hours: start, Days: start}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		quotas, err := s.OwnerQuotas(t.Context(), []string{"wsp_a"}, []string{"2026-11-20"})
		noError(t, err)
		if len(quotas) != 1 || quotas[0].Charged != int64(recorders*flushes*cellsEach) {
			t.Errorf("quotas are %+v, want %d", quotas, recorders*flushes*cellsEach)
		}
		for i := range cellsEach {
			points, err := s.KeySeries(t.Context(), "wsp_a", fmt.Sprint("key_", i), start, start.Add(time.Hour), time.Hour)
			noError(t, err)
			if len(points) != 1 || points[0].Charged != int64(recorders*flushes) {
				t.Fatalf("the cells of key %d come to %+v, want %d", i, points, recorders*flushes)
			}
		}
	})

	t.Run("TheLastUseOnlyMovesForward", func(t *testing.T) {
		s := setup(t)
		use := func(hint string, at time.Time) usage.LastUse {
			return usage.LastUse{KeyID: "key_a", Hint: hint, At: at}
		}
		addUsage(t, s, usage.Delta{LastUses: []usage.LastUse{use("new", after(time.Minute)), use("old", epoch)}})
		addUsage(t, s, usage.Delta{LastUses: []usage.LastUse{use("new", epoch), use("old", after(time.Second))}})
		got, err := s.LastUses(t.Context(), []string{"key_a", "key_b"})
		noError(t, err)
		sort.Slice(got, func(i, j int) bool { return got[i].Hint < got[j].Hint })
		if diff := cmp.Diff([]usage.LastUse{use("new", after(time.Minute)), use("old", after(time.Second))}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func usageCell(at time.Time, status int, requests, charged int64) usage.Cell {
	c := usage.Cell{
		Start: at, WorkspaceID: "wsp_a", KeyID: "key_a", Route: "/api/v1/search", Method: "GET", Status: status,
		Version: 1, Surface: "primary", Requests: requests, Charged: charged, BytesIn: 10, BytesOut: 20,
	}
	for i := range requests {
		c.Latency.Add(time.Duration(i+1) * time.Millisecond)
	}
	return c
}

func count(t *testing.T, d store.Database, table string) (n int64) {
	t.Helper()
	noError(t, d.In(t.Context()).QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

func addUsage(t *testing.T, s *store.Store, d usage.Delta) []usage.Quota {
	t.Helper()
	quotas, err := s.AddUsage(t.Context(), d)
	noError(t, err)
	return quotas
}

func wantQuotas(t *testing.T, s *store.Store, periods []string, want map[string]int64) {
	t.Helper()
	list, err := s.Quotas(t.Context(), periods)
	noError(t, err)
	got := map[string]int64{}
	for _, q := range list {
		got[q.Period+" "+q.OwnerID] = q.Charged
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
