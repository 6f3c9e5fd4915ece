package storetest

import (
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/store"
	"keepsake/internal/usage"
)

func testUsage(t *testing.T, setup setup) {
	minute := func(at time.Time) int64 { return at.Unix() / 60 }
	cell := func(at time.Time, status int, requests, charged int64) usage.Cell {
		return usage.Cell{
			Minute: minute(at), WorkspaceID: "wsp_a", KeyID: "key_a", Route: "/api/v1/search", Method: "GET", Status: status,
			Version: 1, Surface: "primary", Requests: requests, Charged: charged, BytesIn: 10, BytesOut: 20,
		}
	}

	t.Run("QuotasAreTheSumOfWhatWasCharged", func(t *testing.T) {
		s := setup(t)
		day := time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)
		anonymous := cell(day, 401, 5, 5)
		anonymous.WorkspaceID, anonymous.KeyID = "", ""
		withoutKey := cell(day, 200, 1, 1)
		withoutKey.KeyID = ""
		for range 2 { // added, not replaced
			noError(t, s.AddUsage(t.Context(), usage.Delta{Cells: []usage.Cell{
				cell(day, 200, 3, 2), cell(day.Add(time.Minute), 200, 4, 4), cell(day, 500, 9, 0), withoutKey, anonymous,
			}}))
		}
		wantQuotas(t, s, []string{"2026-11-30", "2026-12-01", "2026-11", "2026-12", "2026-10"}, map[string]int64{
			"2026-11-30 wsp_a": 6, "2026-11-30 key_a": 4, "2026-12-01 wsp_a": 8, "2026-12-01 key_a": 8,
			"2026-11 wsp_a": 6, "2026-11 key_a": 4, "2026-12 wsp_a": 8, "2026-12 key_a": 8,
		})
	})

	t.Run("ASeriesSumsItsStepsBeforeAndAfterTheRollUp", func(t *testing.T) {
		s := setup(t)
		start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		other := cell(start, 200, 100, 100)
		other.WorkspaceID = "wsp_b"
		noError(t, s.AddUsage(t.Context(), usage.Delta{Cells: []usage.Cell{
			cell(start.Add(-time.Minute), 200, 50, 50), cell(start, 200, 3, 3), cell(start.Add(59*time.Minute), 404, 2, 2),
			cell(start.Add(61*time.Minute), 429, 5, 0), cell(start.Add(3*time.Hour), 503, 7, 0), cell(start.Add(4*time.Hour), 200, 50, 50), other,
		}}))
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
		noError(t, s.AddUsage(t.Context(), usage.Delta{Cells: []usage.Cell{cell(start, 200, 1, 1)}}))
		want[0].Requests, want[0].Charged = 6, 6
		check("a late minute")
		for range 2 {
			noError(t, s.RollUpUsage(t.Context(), start.Add(3*time.Hour)))
			check("rolled up again")
		}
		noError(t, s.PruneUsage(t.Context(), start.Add(time.Hour)))
		want = want[1:]
		check("pruned")
		wantQuotas(t, s, []string{"2026-11-20"}, map[string]int64{"2026-11-20 wsp_a": 106, "2026-11-20 key_a": 206, "2026-11-20 wsp_b": 100})
	})

	t.Run("TheLastUseOnlyMovesForward", func(t *testing.T) {
		s := setup(t)
		use := func(hint string, at time.Time) usage.LastUse {
			return usage.LastUse{KeyID: "key_a", Hint: hint, At: at}
		}
		noError(t, s.AddUsage(t.Context(), usage.Delta{LastUses: []usage.LastUse{use("new", after(time.Minute)), use("old", epoch)}}))
		noError(t, s.AddUsage(t.Context(), usage.Delta{LastUses: []usage.LastUse{use("new", epoch), use("old", after(time.Second))}}))
		got, err := s.LastUses(t.Context(), []string{"key_a", "key_b"})
		noError(t, err)
		sort.Slice(got, func(i, j int) bool { return got[i].Hint < got[j].Hint })
		if diff := cmp.Diff([]usage.LastUse{use("new", after(time.Minute)), use("old", after(time.Second))}, got); diff != "" {
			t.Error(diff)
		}
	})
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
