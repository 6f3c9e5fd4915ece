package storetest

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/store"
	"keepsake/internal/usage"
)

func testUsageOfAnOlderRelease(t *testing.T, open func(t *testing.T) store.Engine) {
	t.Run("RowsOfAnOlderReleaseCountAndArePacked", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		s := store.New(e)
		start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		older := func(table string, at time.Time, requests int64) {
			t.Helper()
			var latency usage.Durations
			for range requests {
				latency.Add(time.Millisecond)
			}
			_, err := e.Usage().Once(t.Context(), `
				INSERT INTO `+table+` (workspace_id, key_id, minute, route, method, status, version, surface, requests, charged, bytes_in, bytes_out, latency)
				VALUES ('wsp_a', 'key_a', $1, '/api/v1/search', 'GET', 200, 1, 'primary', $2, $2, 1, 1, $3)`, at.Unix()/60, requests, []byte(latency))
			noError(t, err)
		}
		check := func(when string) {
			t.Helper()
			for _, step := range []time.Duration{time.Minute, time.Hour, 24 * time.Hour} {
				var got usage.Histogram
				var requests int64
				q := usage.CellQuery{WorkspaceID: "wsp_a", KeyIDs: []string{"key_a"}, From: start, To: start.Add(40 * time.Hour), Step: step}
				noError(t, s.EachCell(t.Context(), q, func(c *usage.Cell) error {
					requests += c.Requests
					return got.MergeEncoded(c.Latency)
				}))
				if requests != 15 || got.Count() != 15 {
					t.Errorf("%s, by %v: %d requests and %d durations, want 15", when, step, requests, got.Count())
				}
			}
		}
		older("usage_minute", start, 1)
		older("usage_minute", start.Add(time.Hour), 2)
		older("usage_late", start.Add(30*time.Minute), 4)
		addUsage(t, s, usage.Delta{Cells: []usage.Cell{usageCell(start, 200, 8, 8)}})
		check("before the roll-up")
		noError(t, s.RollUpUsage(t.Context(), start.Add(time.Hour)))
		check("the first hour rolled up")
		noError(t, s.RollUpUsage(t.Context(), start.Add(48*time.Hour)))
		check("all rolled up")
	})

	t.Run("HoursOfAnOlderReleaseCountAndArePacked", func(t *testing.T) {
		t.Parallel()
		e := open(t)
		s := store.New(e)
		start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		older := func(hour time.Time, requests int64) {
			t.Helper()
			_, err := e.Usage().Once(t.Context(), `
				INSERT INTO usage_hour (workspace_id, key_id, hour, route, method, status, version, surface, requests, charged, bytes_in, bytes_out)
				VALUES ('wsp_a', 'key_a', $1, '/api/v1/search', 'GET', 200, 1, 'primary', $2, $2, 1, 1)`, hour.Unix()/3600, requests)
			noError(t, err)
		}
		check := func(when string, want map[string]int64) {
			t.Helper()
			got := map[string]int64{}
			q := usage.CellQuery{WorkspaceID: "wsp_a", From: start, To: start.Add(40 * time.Hour), Step: time.Hour}
			noError(t, s.EachCell(t.Context(), q, func(c *usage.Cell) error {
				got[c.Start.Format("02 15:04")] += c.Requests
				return nil
			}))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", when, diff)
			}
		}
		older(start, 1)
		older(start.Add(20*time.Hour), 2)
		addUsage(t, s, usage.Delta{Cells: []usage.Cell{
			usageCell(start.Add(20*time.Hour), 200, 4, 4), usageCell(start.Add(30*time.Hour), 200, 8, 8), // the first was late then
		}})
		want := map[string]int64{"20 08:00": 1, "21 04:00": 6, "21 14:00": 8}
		check("before the roll-up", want)
		noError(t, s.RollUpUsage(t.Context(), start.Add(20*time.Hour)))
		check("the first hours rolled up", want)
		noError(t, s.RollUpUsage(t.Context(), start.Add(31*time.Hour)))
		check("all rolled up", want)
		older(start.Add(30*time.Hour), 8) // an older release that still runs has rolled up minutes that are packed
		check("rolled up by an older release", want)
		noError(t, s.PruneUsage(t.Context(), usage.Retention{Now: start, Minutes: start, Hours: start, Days: start}))
		check("pruned", want)
		if n := count(t, e.Usage(), "usage_hour"); n != 0 {
			t.Errorf("%d rows remain", n)
		}
	})
}
