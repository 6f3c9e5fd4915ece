package usagetest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
	usagestore "keepsake/internal/store/usage"
	"keepsake/internal/testing/testtier"
)

func testUsage(t *testing.T, setup setup, open func(t *testing.T) store.Engine) {
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
			got, err := s.Counters.KeySeries(t.Context(), "wsp_a", "key_a", start, start.Add(4*time.Hour), time.Hour)
			noError(t, err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", when, diff)
			}
		}
		check("fresh")
		noError(t, s.Counters.RollUpUsage(t.Context()))
		check("rolled up")
		addUsage(t, s, usage.Delta{Cells: []usage.Cell{usageCell(start, 200, 1, 1)}})
		want[0].Requests, want[0].Charged = 6, 6
		check("a late minute")
		for range 2 {
			noError(t, s.Counters.RollUpUsage(t.Context()))
			check("rolled up again")
		}
		wantQuotas(t, s, []string{"2026-11-20"}, map[string]int64{"2026-11-20 wsp_a": 106, "2026-11-20 key_a": 206, "2026-11-20 wsp_b": 100})
	})

	t.Run("MinutesHoursAndDaysAreDeletedAsTheyAge", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		s := usagestore.New(e)
		midnight := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
		at := func(hour, minute int) time.Time {
			return midnight.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
		}
		addUsage(t, s, usage.Delta{Cells: []usage.Cell{
			usageCell(at(8, 1), 200, 1, 1), usageCell(at(8, 2), 200, 2, 2), usageCell(at(9, 0), 404, 4, 4), usageCell(at(26, 30), 200, 8, 8), usageCell(at(50, 10), 200, 16, 16),
		}})
		check := func(when string, minutes, hours, days int64) {
			t.Helper()
			for step, want := range map[time.Duration]int64{time.Minute: minutes, time.Hour: hours, 24 * time.Hour: days} {
				got := int64(0)
				q := usage.CellQuery{WorkspaceID: "wsp_a", From: midnight, To: at(72, 0), Step: step}
				noError(t, s.Counters.EachCell(t.Context(), q, func(c *usage.Cell) error {
					got += c.Requests
					if n := c.Latency.Count(); n != c.Requests || !c.Start.Equal(c.Start.Truncate(step)) {
						t.Errorf("%s: %d durations of %d requests at %v", when, n, c.Requests, c.Start)
					}
					return nil
				}))
				if got != want {
					t.Errorf("%s, by %v: %d requests, want %d", when, step, got, want)
				}
			}
		}
		prune := func(minutes, hours, days time.Time) {
			t.Helper()
			noError(t, s.Counters.PruneUsage(t.Context(), usage.Retention{Now: at(50, 0), Minutes: minutes, Hours: hours, Days: days}))
		}
		check("fresh", 31, 31, 31)
		prune(at(72, 0), at(72, 0), midnight)
		check("nothing is deleted that is not rolled up", 31, 31, 31)
		noError(t, s.Counters.RollUpUsage(t.Context()))
		check("rolled up", 31, 31, 31)
		prune(at(9, 0), midnight, midnight)
		check("minutes of the first hour deleted", 28, 31, 31)
		addUsage(t, s, usage.Delta{Cells: []usage.Cell{usageCell(at(8, 30), 200, 32, 32)}})
		check("a late minute", 60, 63, 63)
		noError(t, s.Counters.RollUpUsage(t.Context()))
		prune(at(49, 0), at(26, 30), midnight)
		check("hours of the first day deleted", 16, 24, 63)
		prune(at(49, 0), at(30, 0), at(47, 59))
		check("the first day deleted", 16, 16, 24)
		if n := count(t, e.Usage(), "usage_series"); n != 1 {
			t.Errorf("%d series are left, want 1: the last 404 was on the first day", n)
		}
		prune(at(72, 0), at(72, 0), at(72, 0))
		for _, table := range []string{"usage_fresh", "usage_minute", "usage_hour", "usage_day", "usage_series"} {
			if n := count(t, e.Usage(), table); n != 0 {
				t.Errorf("%d rows of %s are left", n, table)
			}
		}
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
				noError(t, s.Counters.EachCell(t.Context(), q, func(c *usage.Cell) error {
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
		check("fresh")
		noError(t, s.Counters.RollUpUsage(t.Context()))
		check("rolled up")
	})

	// What SQL adds up is what was counted, and a bucket tells a duration.
	t.Run("RowsCanBeReadBySQL", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		s := usagestore.New(e)
		start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		const keys = 20
		for second := range 60 {
			d := usage.Delta{At: start.Add(time.Duration(second) * time.Second)}
			for key := range keys {
				c := usageCell(start, 200, 10, 10)
				c.KeyID = fmt.Sprint("key_", key)
				d.Cells = append(d.Cells, c)
			}
			addUsage(t, s, d)
		}
		noError(t, s.Counters.RollUpUsage(t.Context()))
		for _, table := range []string{"usage_minute", "usage_hour", "usage_day"} {
			var rows, requests, bytes, at int64
			var durations string
			noError(t, e.Usage().In(t.Context()).QueryRow(t.Context(), `
				SELECT count(*), sum(requests), sum(bytes_out), max(at), max(durations) FROM `+table+`
				JOIN usage_series ON id = series WHERE workspace_id = 'wsp_a' AND route = '/api/v1/search' AND status = 200`).
				Scan(&rows, &requests, &bytes, &at, &durations))
			if rows != keys || requests != keys*600 || bytes != keys*1200 || start.Unix()-at >= 24*3600 {
				t.Errorf("%s has %d rows, %d requests and %d bytes, at %d", table, rows, requests, bytes, at)
			}
			counts := map[string]int64{}
			noError(t, json.Unmarshal([]byte(durations), &counts))
			for ms := 1; ms <= 10; ms++ { // 1.04^n microseconds
				bucket := strconv.Itoa(int(math.Round(math.Log(1000*float64(ms)) / math.Log(1.04))))
				if counts[bucket] != 60 || len(counts) != 10 {
					t.Errorf("%s: %d requests of %d ms in bucket %s of %s, want 60", table, counts[bucket], ms, bucket, durations)
				}
			}
		}
		if n := count(t, e.Usage(), "usage_fresh"); n != 0 {
			t.Errorf("%d rows are fresh after the roll-up", n)
		}
	})

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
		got, err := s.Counters.OwnerQuotas(t.Context(), []string{"wsp_a", "wsp_none"}, []string{"2026-11", "2026-12"})
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
					if _, err := s.Counters.AddUsage(t.Context(), d); err != nil {
						t.Error(err)
					}
				}
			})
			all.Go(func() {
				for range flushes {
					if err := s.Counters.RollUpUsage(t.Context()); err != nil {
						t.Error(err)
					}
					if err := s.Counters.PruneUsage(t.Context(), usage.Retention{Now: start, Minutes: start, Hours: start, Days: start}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		quotas, err := s.Counters.OwnerQuotas(t.Context(), []string{"wsp_a"}, []string{"2026-11-20"})
		noError(t, err)
		if len(quotas) != 1 || quotas[0].Charged != int64(recorders*flushes*cellsEach) {
			t.Errorf("quotas are %+v, want %d", quotas, recorders*flushes*cellsEach)
		}
		for i := range cellsEach {
			points, err := s.Counters.KeySeries(t.Context(), "wsp_a", fmt.Sprint("key_", i), start, start.Add(time.Hour), time.Hour)
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
		got, err := s.Counters.LastUses(t.Context(), []string{"key_a", "key_b"})
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

func addUsage(t *testing.T, s *usagestore.Store, d usage.Delta) []usage.Quota {
	t.Helper()
	quotas, err := s.Counters.AddUsage(t.Context(), d)
	noError(t, err)
	return quotas
}

func wantQuotas(t *testing.T, s *usagestore.Store, periods []string, want map[string]int64) {
	t.Helper()
	list, err := s.Counters.Quotas(t.Context(), periods)
	noError(t, err)
	got := map[string]int64{}
	for _, q := range list {
		got[q.Period+" "+q.OwnerID] = q.Charged
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
