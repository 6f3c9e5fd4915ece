package usagetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/usage"
	usagestore "keepsake/internal/store/usage"
)

func testReports(t *testing.T, setup setup) {
	now := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
	report := func(id byte, at time.Time, requests int64) usage.Report {
		return usage.Report{ID: [16]byte{id}, ChargedAt: now, Cell: usage.Cell{
			Start: at, WorkspaceID: "wsp_a", KeyID: "key_a", Route: "/orders/{id}", Method: "GET", Status: 200, Surface: "backend", Requests: requests,
		}}
	}
	add := func(t *testing.T, s *usagestore.Store, at time.Time, list ...usage.Report) (positions []int) {
		t.Helper()
		noError(t, s.Counters.AddReports(t.Context(), at, list, func(added []int) { positions = slices.Clone(added) }))
		return positions
	}

	t.Run("ReportsOfOneIDCountOnceInSevenDays", func(t *testing.T) {
		s := setup(t)
		yesterday := now.Add(-20 * time.Hour)
		got := add(t, s, now, report(9, now, 1), report(1, yesterday, 2), report(5, now, 4))
		if diff := cmp.Diff([]int{0, 1, 2}, got); diff != "" {
			t.Error(diff)
		}
		if got := add(t, s, now.Add(usage.ReportMemory-time.Second), report(5, now, 4), report(6, now, 8), report(1, now, 2)); !slices.Equal(got, []int{1}) {
			t.Errorf("added %v, want only the new one", got)
		}
		wantQuotas(t, s, []string{"2026-11-29", "2026-11-30", "2026-11"}, map[string]int64{
			"2026-11-30 wsp_a": 15, "2026-11-30 key_a": 15, "2026-11 wsp_a": 15, "2026-11 key_a": 15,
		})
		counted := map[string]int64{}
		q := usage.CellQuery{WorkspaceID: "wsp_a", From: yesterday, To: now.Add(time.Hour), Step: time.Minute}
		noError(t, s.Counters.EachCell(t.Context(), q, func(c *usage.Cell) error {
			counted[fmt.Sprint(c.Start.Format("02 15:04 "), c.Route, " ", c.Surface)] += c.Requests
			return nil
		}))
		want := map[string]int64{"30 03:59 /orders/{id} backend": 2, "30 23:59 /orders/{id} backend": 13, "30 23:59  primary": 0}
		if diff := cmp.Diff(want, counted); diff != "" {
			t.Error(diff)
		}
		// The IDs of the first three are forgotten, whether or not they were pruned.
		later := now.Add(usage.ReportMemory)
		if got := add(t, s, later, report(5, now, 4)); !slices.Equal(got, []int{0}) {
			t.Errorf("after seven days: added %v", got)
		}
		noError(t, s.Counters.PruneUsage(t.Context(), usage.Retention{Now: later, Minutes: yesterday, Hours: yesterday, Days: yesterday}))
		if got := add(t, s, later, report(1, now, 1), report(5, now, 4), report(6, now, 8)); !slices.Equal(got, []int{0}) {
			t.Errorf("after pruning: added %v, want the pruned one", got)
		}
	})

	t.Run("ConcurrentReportsOfOneIDCountOnce", func(t *testing.T) {
		s := setup(t)
		var all sync.WaitGroup
		var mu sync.Mutex
		added := map[int]int{}
		for n := range 4 {
			all.Go(func() {
				var list []usage.Report
				for i := range 20 {
					list = append(list, report(byte((i+5*n)%20), now, 1)) // each in another order
				}
				var mine []int
				if err := s.Counters.AddReports(t.Context(), now, list, func(positions []int) { mine = slices.Clone(positions) }); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				for _, i := range mine {
					added[(i+5*n)%20]++
				}
			})
		}
		all.Wait()
		for i := range 20 {
			if added[i] != 1 {
				t.Errorf("report %d was added %d times", i, added[i])
			}
		}
		wantQuotas(t, s, []string{"2026-11-30"}, map[string]int64{"2026-11-30 wsp_a": 20, "2026-11-30 key_a": 20})
	})
}
