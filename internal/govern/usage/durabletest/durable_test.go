package durabletest

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/govern/usage"
	"keepsake/internal/testing/testtier"
)

func TestCountersQuotasAndCellsAgree(t *testing.T) { onEachEngine(t, countersQuotasAndCellsAgree) }

func countersQuotasAndCellsAgree(t *testing.T, open opener) {
	s, end := open(t)
	defer end()
	ctx := t.Context()
	last := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		last = last.AddDate(0, 3, 0) // each run uses different days
		now := last
		p, err := newParty(ctx, s.Counters, now)
		if err != nil {
			t.Fatal(err)
		}
		t.Repeat(map[string]func(*rapid.T){
			"call": func(t *rapid.T) {
				status := rapid.SampledFrom([]uint16{200, 201, 404, 500, 503}).Draw(t, "status")
				p.call(now, rapid.IntRange(0, len(keys)-1).Draw(t, "key"), rapid.Int64Range(1, 3).Draw(t, "cost"), status)
			},
			"wait": func(*rapid.T) { now = now.Add(25 * time.Minute) },
			"flush": func(t *rapid.T) {
				if err := p.recorder.Flush(ctx); err != nil {
					t.Fatal(err)
				}
				want := p.inMemory(now)
				if got := inCells(ctx, t, s.Counters, now); !cmp.Equal(got, want) {
					t.Fatalf("at %v the cells say %v, the counters %v", now, got, want)
				}
				got := inQuotas(ctx, t, s.Counters, now)
				if !cmp.Equal(got, want) {
					t.Fatalf("at %v the quotas say %v, the counters %v", now, got, want)
				}
			},
			"restart": func(t *rapid.T) {
				if err := p.recorder.Close(ctx); err != nil {
					t.Fatal(err)
				}
				before := p.inMemory(now)
				if p, err = newParty(ctx, s.Counters, now); err != nil {
					t.Fatal(err)
				}
				if got := p.inMemory(now); !cmp.Equal(got, before) {
					t.Fatalf("after the restart the counters say %v, before %v", got, before)
				}
			},
			"roll up": func(t *rapid.T) {
				// The counts of the last minutes are late if they were not flushed before.
				if err := s.Counters.RollUpUsage(ctx); err != nil {
					t.Fatal(err)
				}
			},
			"prune": func(t *rapid.T) {
				today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
				before := func(label string) time.Time {
					return today.Add(-time.Duration(rapid.IntRange(0, 48).Draw(t, label)) * time.Hour)
				}
				r := usage.Retention{Now: now, Minutes: before("minutes"), Hours: before("hours"), Days: now.AddDate(0, -25, 0)}
				if r.Hours.Month() != now.Month() { // quotas are kept as long as hours, to the month
					return
				}
				if err := s.Counters.PruneUsage(ctx, r); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// At midnight, clocks and goroutines disagree about the day. A charge is recorded on the day that it was charged to.
func TestCountersAndQuotasAgreeAtMidnight(t *testing.T) {
	onEachEngine(t, countersAndQuotasAgreeAtMidnight)
}

func countersAndQuotasAgreeAtMidnight(t *testing.T, open opener) {
	s, end := open(t)
	defer end()
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) // also the end of a month
	p, err := newParty(t.Context(), s.Counters, midnight.Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	const callers, each = 64, 200
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for range each {
				skew := time.Duration(rand.IntN(2_000)-1_000) * time.Millisecond
				status := []uint16{200, 200, 500}[rand.IntN(3)]
				p.call(midnight.Add(skew), rand.IntN(len(keys)), 1, status)
			}
		})
	}
	running.Wait()
	if err := p.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := p.inMemory(midnight)
	if diff := cmp.Diff(want, inQuotas(t.Context(), t, s.Counters, midnight)); diff != "" {
		t.Errorf("quotas of the new day (-counters +quotas):\n%s", diff)
	}
	if diff := cmp.Diff(want, inCells(t.Context(), t, s.Counters, midnight)); diff != "" {
		t.Errorf("cells of the new day (-counters +cells):\n%s", diff)
	}
	if before := inQuotas(t.Context(), t, s.Counters, midnight.Add(-time.Second)); !cmp.Equal(before, inCells(t.Context(), t, s.Counters, midnight.Add(-time.Second))) {
		t.Errorf("quotas of the old day are %v, its cells differ", before)
	}
}

func TestRollUpKeepsSumsAndAddsLateMinutes(t *testing.T) {
	onEachEngine(t, rollUpKeepsSumsAndLateMinutesJoin)
}

func rollUpKeepsSumsAndLateMinutesJoin(t *testing.T, open opener) {
	s, end := open(t)
	defer end()
	ctx, noon := t.Context(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p, err := newParty(ctx, s.Counters, noon)
	if err != nil {
		t.Fatal(err)
	}
	series := func(step time.Duration) []usage.Point {
		t.Helper()
		points, err := s.Counters.KeySeries(ctx, workspace, "key_a", noon, noon.Add(3*time.Hour), step)
		if err != nil {
			t.Fatal(err)
		}
		return points
	}
	for m := range 150 {
		p.call(noon.Add(time.Duration(m)*time.Minute), 0, 1, 200)
	}
	if err := p.recorder.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	minutes, hours, quotas := series(time.Minute), series(time.Hour), inQuotas(ctx, t, s.Counters, noon)
	if len(minutes) != 150 || len(hours) != 3 {
		t.Fatalf("got %d minutes and %d hours", len(minutes), len(hours))
	}
	for range 2 {
		if err := s.Counters.RollUpUsage(ctx); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(hours, series(time.Hour)); diff != "" {
			t.Errorf("hours after the roll-up (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(minutes, series(time.Minute)); diff != "" {
			t.Errorf("minutes after the roll-up (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(quotas, inQuotas(ctx, t, s.Counters, noon)); diff != "" {
		t.Errorf("quotas after the roll-up (-want +got):\n%s", diff)
	}
	if err := s.Counters.PruneUsage(ctx, usage.Retention{Now: noon, Minutes: noon.Add(5 * time.Hour), Hours: noon.AddDate(0, 0, -90), Days: noon.AddDate(-2, 0, 0)}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(hours, series(time.Hour)); diff != "" || len(series(time.Minute)) != 0 {
		t.Errorf("hours after deleting minutes (-want +got):\n%s", diff)
	}

	p.call(noon.Add(30*time.Minute), 0, 1, 404) // from a flush that failed for days
	if err := p.recorder.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Counters.RollUpUsage(ctx); err != nil {
		t.Fatal(err)
	}
	first := series(time.Hour)[0]
	if want := (usage.Point{At: noon, Requests: 61, Errors: 1, Charged: 61}); !cmp.Equal(first, want) {
		t.Errorf("got %+v, want %+v", first, want)
	}

	for _, c := range []struct {
		before time.Time
		want   int
	}{{time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), 2}, {time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), 0}} {
		if err := s.Counters.PruneUsage(ctx, usage.Retention{Now: noon, Minutes: c.before, Hours: c.before, Days: noon.AddDate(-2, 0, 0)}); err != nil {
			t.Fatal(err)
		}
		if got := len(inQuotas(ctx, t, s.Counters, noon)); got != c.want {
			t.Errorf("after pruning before %v: %d owners have quotas of November, want %d", c.before, got, c.want)
		}
	}
}

func TestLargeRollUpKeepsSums(t *testing.T) {
	onEachEngine(t, rollUpOfMoreThanOneTransactionKeepsSums)
}

func rollUpOfMoreThanOneTransactionKeepsSums(t *testing.T, open opener) {
	s, end := open(t)
	defer end()
	ctx, noon := t.Context(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := usage.NewRecorder(s.Counters, time.Now, slog.New(slog.DiscardHandler))
	const minutes = 60
	owners := testtier.Rounds(350, 700) // of 60 cells each; 20,000 are moved by a transaction
	for i := range owners {
		owner := r.Owner(workspace, fmt.Sprintf("key_%d", i))
		for m := range minutes {
			r.Record(usage.Event{Owner: owner, Status: 200, At: noon.Add(time.Duration(m) * time.Minute), Charged: 1})
		}
	}
	if err := r.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Counters.RollUpUsage(ctx); err != nil {
		t.Fatal(err)
	}
	want := []usage.Point{{At: noon, Requests: minutes, Charged: minutes}}
	for i := range owners {
		got, err := s.Counters.KeySeries(ctx, workspace, fmt.Sprintf("key_%d", i), noon, noon.Add(time.Hour), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("key %d by hours after the roll-up (-want +got):\n%s", i, diff)
		}
	}
}

func TestLastUsesSurvive(t *testing.T) { onEachEngine(t, lastUsesSurvive) }

func lastUsesSurvive(t *testing.T, open opener) {
	s, end := open(t)
	defer end()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := usage.NewRecorder(s.Counters, time.Now, slog.New(slog.DiscardHandler))
	older, newer, unused := r.Secret(r.Owner("wsp_a", "key_a"), "kpsk_old1"), r.Secret(r.Owner("wsp_a", "key_a"), "kpsk_new1"), r.Secret(r.Owner("wsp_a", "key_b"), "kpsk_none")
	r.Touch(older, noon)
	r.Touch(newer, noon.Add(1234*time.Millisecond))
	r.Touch(older, noon.Add(-time.Hour))
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := s.Counters.LastUses(t.Context(), []string{"key_a", "key_b"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]time.Time{"kpsk_old1": noon, "kpsk_new1": noon.Add(1234 * time.Millisecond)}
	found := map[string]time.Time{}
	for _, u := range got {
		found[u.Hint] = u.At
	}
	if diff := cmp.Diff(want, found); diff != "" {
		t.Errorf("last uses (-want +got):\n%s", diff)
	}
	if !r.LastUsed(unused).IsZero() {
		t.Errorf("a secret that was never used was last used at %v", r.LastUsed(unused))
	}
}
