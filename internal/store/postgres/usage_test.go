package postgres_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"keepsake/internal/enginetest"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/usage"
)

// usageIn sums the requests of all cells by their hour.
func usageIn(t *testing.T, s *store.Store) map[string]int64 {
	t.Helper()
	got := map[string]int64{}
	q := usage.CellQuery{To: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC), Step: time.Hour}
	err := s.EachCell(t.Context(), q, func(c *usage.Cell) error {
		got[c.Start.Format("02 15h")] += c.Requests
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func wantUsage(t *testing.T, s *store.Store, when string, want map[string]int64) {
	t.Helper()
	if diff := cmp.Diff(want, usageIn(t, s)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// rowsByTable lists the partitions that have rows.
func rowsByTable(t *testing.T, url string) map[string]int64 {
	t.Helper()
	rows, err := connect(t, url).Query(t.Context(), `SELECT tableoid::regclass::text, count(*) FROM keepsake_usage.usage_packed_minute GROUP BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	var name string
	var n int64
	if _, err := pgx.ForEachRow(rows, []any{&name, &n}, func() error { got[name] = n; return nil }); err != nil {
		t.Fatal(err)
	}
	return got
}

func partitions(t *testing.T, url string) []string {
	t.Helper()
	rows, err := connect(t, url).Query(t.Context(), `SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'keepsake_usage.usage_packed_minute'::regclass ORDER BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func flush(t *testing.T, s *store.Store, at time.Time, requests int64) {
	t.Helper()
	_, err := s.AddUsage(t.Context(), usage.Delta{Cells: []usage.Cell{{
		Start: at, WorkspaceID: "wsp_a", KeyID: "key_a", Route: "/x", Method: "GET", Status: 200, Surface: "primary", Requests: requests, Charged: requests,
	}}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMinutesOfADayAreAPartitionThatIsDropped(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	s := store.New(open(t, postgres.Options{URL: url, Connections: 2}))
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return noon.AddDate(0, 0, n) }
	prune := func(now, minutes time.Time) {
		t.Helper()
		for range 2 { // the second call deletes what the first marked
			err := s.PruneUsage(t.Context(), usage.Retention{Now: now, Minutes: minutes, Hours: noon.AddDate(0, 0, -90), Days: noon.AddDate(-2, 0, 0)})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	const rest, first, second = "keepsake_usage.usage_packed_minute_rest", "keepsake_usage.usage_packed_minute_20261122", "keepsake_usage.usage_packed_minute_20261123"

	prune(noon, day(-2))
	if diff := cmp.Diff([]string{first, second, rest}, partitions(t, url)); diff != "" {
		t.Errorf("partitions (-want +got):\n%s", diff)
	}
	want := map[string]int64{}
	for n := range 4 { // the first and the last day have no partition
		flush(t, s, day(n), int64(n+1))
		want[day(n).Format("02 15h")] = int64(n + 1)
	}
	if diff := cmp.Diff(map[string]int64{rest: 2, first: 1, second: 1}, rowsByTable(t, url)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	wantUsage(t, s, "before the roll-up", want)

	prune(day(2), day(-2)) // the default partition has rows of the 24th, so that day gets no partition
	if got := partitions(t, url); !slices.Contains(got, "keepsake_usage.usage_packed_minute_20261125") || slices.Contains(got, "keepsake_usage.usage_packed_minute_20261124") {
		t.Errorf("partitions are %q", got)
	}
	if err := s.RollUpUsage(t.Context(), day(4)); err != nil {
		t.Fatal(err)
	}
	prune(day(2), day(1).Add(6*time.Hour)) // within the first partition
	if diff := cmp.Diff(map[string]int64{rest: 1, second: 1}, rowsByTable(t, url)); diff != "" || !slices.Contains(partitions(t, url), first) {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	prune(day(2), day(2))
	if slices.Contains(partitions(t, url), first) {
		t.Errorf("the partition of a day that is over is still there")
	}
	wantUsage(t, s, "after dropping minutes", want)
}

func TestUsageOfAnOlderReleaseIsKept(t *testing.T) {
	t.Parallel()
	for _, newer := range []string{"usage/0004", "usage/0006"} {
		t.Run("before "+newer, func(t *testing.T) {
			t.Parallel()
			usageOfOlderRelease(t, newer)
		})
	}
}

// usageOfOlderRelease migrates a database of a release before a migration.
func usageOfOlderRelease(t *testing.T, newer string) {
	url := enginetest.Postgres(t)
	err := postgres.MigrateSome(t.Context(), patient(postgres.Options{URL: url}), func(path string) bool { return path < newer })
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	row := func(table, column string, number, requests int64) string {
		return fmt.Sprintf(`INSERT INTO keepsake_usage.%s (workspace_id, key_id, %s, route, method, status, version, surface, requests, charged, bytes_in, bytes_out)
			VALUES ('wsp_a', 'key_a', %d, '/x', 'GET', 200, 1, 'primary', %d, %[4]d, 0, 0)`, table, column, number, requests)
	}
	hour := noon.Unix() / 3600
	exec(t, url, row("usage_hour", "hour", hour-72, 1), row("usage_minute", "minute", hour*60-60, 2), row("usage_minute", "minute", hour*60+1, 4))
	s := store.New(open(t, postgres.Options{URL: url, Connections: 2}))
	want := map[string]int64{"18 12h": 1, "21 11h": 2, "21 12h": 4}
	wantUsage(t, s, "after the migration", want)
	flush(t, s, noon, 8)
	want["21 12h"] = 12
	wantUsage(t, s, "after a flush", want)
	if err := s.RollUpUsage(t.Context(), noon.Add(24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	wantUsage(t, s, "after the roll-up", want)
	for range 2 { // the second call deletes what the first marked
		err := s.PruneUsage(t.Context(), usage.Retention{Now: noon, Minutes: noon.Add(24 * time.Hour), Hours: noon.AddDate(0, 0, -90), Days: noon.AddDate(-2, 0, 0)})
		if err != nil {
			t.Fatal(err)
		}
	}
	wantUsage(t, s, "without minutes", want)
}
