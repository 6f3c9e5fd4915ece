package usage_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/limit"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/usage"
)

const workspace = "wsp_a"

// keys are the callers of these tests; the empty one is a call without a key.
var keys = [...]string{"key_a", "key_b", ""}

// generous is an allowance whose minute refuses nothing here.
var generous = limit.Allowance{PerMinute: 1_000_000_000, Daily: 1_000_000_000, Monthly: 1_000_000_000}

// party is a workspace with its keys, counted in memory as a running server does.
type party struct {
	recorder  *usage.Recorder
	workspace *limit.Use
	keys      [len(keys)]*limit.Use
	owners    [len(keys)]usage.Owner
	route     usage.Route
}

// newParty starts the counters from what the store knows, at a moment.
func newParty(ctx context.Context, s usage.Store, now time.Time) (*party, error) {
	p := &party{recorder: usage.NewRecorder(s, func() time.Time { return now }, slog.New(slog.DiscardHandler))}
	used, err := p.recorder.Restore(ctx)
	if err != nil {
		return nil, err
	}
	start := func(id string) *limit.Use {
		u := &limit.Use{}
		u.Init(id)
		day, month := used(id)
		u.Restore(now, day, month)
		return u
	}
	p.workspace = start(workspace)
	for i, id := range keys {
		p.keys[i] = start(id)
		p.owners[i] = p.recorder.Owner(workspace, id)
	}
	p.route = p.recorder.Route("GET", "/api/v1/health")
	return p, nil
}

func (p *party) accounts(key int) (ws, own limit.Account) {
	ws = limit.Account{Use: p.workspace, Allowance: generous}
	if keys[key] != "" {
		own = limit.Account{Use: p.keys[key], Allowance: generous}
	}
	return ws, own
}

// call is one request: charged, answered with status, refunded when that is 5xx, recorded.
func (p *party) call(now time.Time, key int, cost int64, status uint16) {
	ws, own := p.accounts(key)
	v, receipt := limit.Charge(now, cost, ws, own)
	e := usage.Event{Owner: p.owners[key], Route: p.route, Version: 1, Status: status, At: receipt.At()}
	switch {
	case !v.Allowed:
		e.Status = 429
	case status >= 500:
		receipt.Refund()
	default:
		e.Charged = cost
	}
	p.recorder.Record(e)
}

// counted is what counters or the store say was used of a day and of a month, by owner.
type counted map[string][2]int64

// inMemory reads the counters at a moment.
func (p *party) inMemory(now time.Time) counted {
	c := counted{}
	read := func(id string, u *limit.Use) {
		v := limit.Peek(now, limit.Account{Use: u, Allowance: generous}, limit.Account{})
		used := [2]int64{generous.Daily - v.DailyRemaining, generous.Monthly - v.MonthlyRemaining}
		if used != [2]int64{} {
			c[id] = used
		}
	}
	read(workspace, p.workspace)
	for i, id := range keys {
		if id != "" {
			read(id, p.keys[i])
		}
	}
	return c
}

// inQuotas reads the durable quotas of the day and month of a moment.
func inQuotas(ctx context.Context, t failer, s usage.Store, now time.Time) counted {
	t.Helper()
	day := now.Format(time.DateOnly)
	list, err := s.Quotas(ctx, []string{day, now.Format("2006-01")})
	if err != nil {
		t.Fatalf("read quotas: %v", err)
	}
	c := counted{}
	for _, q := range list {
		used := c[q.OwnerID]
		if q.Period == day {
			used[0] += q.Charged
		} else {
			used[1] += q.Charged
		}
		c[q.OwnerID] = used
	}
	return c
}

// inCells sums the stored cells of the day and month of a moment.
func inCells(ctx context.Context, t failer, s usage.Store, now time.Time) counted {
	t.Helper()
	c := counted{}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	for i, from := range []time.Time{today, month} {
		to := [...]time.Time{today.AddDate(0, 0, 1), month.AddDate(0, 1, 0)}[i]
		for _, key := range keys {
			points, err := s.KeySeries(ctx, workspace, key, from, to, time.Hour)
			if err != nil {
				t.Fatalf("read cells: %v", err)
			}
			for _, p := range points {
				for _, owner := range []string{workspace, key} {
					if used := c[owner]; owner != "" && p.Charged > 0 {
						used[i] += p.Charged
						c[owner] = used
					}
				}
			}
		}
	}
	return c
}

type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

func open(t testing.TB, dir string) (*store.Store, func()) {
	t.Helper()
	engine, err := sqlite.Open(context.Background(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return store.New(engine), func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestCountersQuotasAndCellsAgree(t *testing.T) {
	t.Parallel()
	s, end := open(t, t.TempDir())
	defer end()
	ctx := t.Context()
	last := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		last = last.AddDate(0, 3, 0) // each run has days of its own
		now := last
		p, err := newParty(ctx, s, now)
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
				if got := inCells(ctx, t, s, now); !cmp.Equal(got, want) {
					t.Fatalf("at %v the cells say %v, the counters %v", now, got, want)
				}
				got := inQuotas(ctx, t, s, now)
				if !cmp.Equal(got, want) {
					t.Fatalf("at %v the quotas say %v, the counters %v", now, got, want)
				}
			},
			"restart": func(t *rapid.T) {
				if err := p.recorder.Close(ctx); err != nil {
					t.Fatal(err)
				}
				before := p.inMemory(now)
				if p, err = newParty(ctx, s, now); err != nil {
					t.Fatal(err)
				}
				if got := p.inMemory(now); !cmp.Equal(got, before) {
					t.Fatalf("after the restart the counters say %v, before %v", got, before)
				}
			},
			"roll up": func(t *rapid.T) {
				if err := s.RollUpUsage(ctx, now.Add(-time.Hour)); err != nil {
					t.Fatal(err)
				}
			},
		})
	})
}

// At midnight clocks and goroutines disagree about the day. Whatever day a charge ends up in, it is recorded in it.
func TestCountersAndQuotasAgreeAtMidnight(t *testing.T) {
	t.Parallel()
	s, end := open(t, t.TempDir())
	defer end()
	midnight := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC) // of a month, too
	p, err := newParty(t.Context(), s, midnight.Add(-time.Hour))
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
	if diff := cmp.Diff(want, inQuotas(t.Context(), t, s, midnight)); diff != "" {
		t.Errorf("quotas of the new day (-counters +quotas):\n%s", diff)
	}
	if diff := cmp.Diff(want, inCells(t.Context(), t, s, midnight)); diff != "" {
		t.Errorf("cells of the new day (-counters +cells):\n%s", diff)
	}
	if before := inQuotas(t.Context(), t, s, midnight.Add(-time.Second)); !cmp.Equal(before, inCells(t.Context(), t, s, midnight.Add(-time.Second))) {
		t.Errorf("quotas of the old day are %v, its cells differ", before)
	}
}

func TestRollUpKeepsSumsAndLateMinutesJoin(t *testing.T) {
	t.Parallel()
	s, end := open(t, t.TempDir())
	defer end()
	ctx, noon := t.Context(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p, err := newParty(ctx, s, noon)
	if err != nil {
		t.Fatal(err)
	}
	series := func(step time.Duration) []usage.Point {
		t.Helper()
		points, err := s.KeySeries(ctx, workspace, "key_a", noon, noon.Add(3*time.Hour), step)
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
	hourly, quotas := series(time.Hour), inQuotas(ctx, t, s, noon)

	for _, before := range []time.Duration{2*time.Hour + 59*time.Minute, 2 * time.Hour} { // the third hour has not ended
		if err := s.RollUpUsage(ctx, noon.Add(before)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(hourly, series(time.Hour)); diff != "" {
			t.Errorf("hours after the roll-up (-want +got):\n%s", diff)
		}
		if got := len(series(time.Minute)); got != 2+30 {
			t.Errorf("got %d steps, want 2 hours and 30 minutes", got)
		}
	}
	if diff := cmp.Diff(quotas, inQuotas(ctx, t, s, noon)); diff != "" {
		t.Errorf("quotas after the roll-up (-want +got):\n%s", diff)
	}

	p.call(noon.Add(30*time.Minute), 0, 1, 404) // a flush that failed for days
	if err := p.recorder.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.RollUpUsage(ctx, noon.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	first := series(time.Hour)[0]
	if want := (usage.Point{At: noon, Requests: 61, Errors: 1, Charged: 61}); !cmp.Equal(first, want) {
		t.Errorf("got %+v, want %+v", first, want)
	}

	if err := s.PruneUsage(ctx, noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := series(time.Hour); !cmp.Equal(got, hourly[1:]) {
		t.Errorf("after pruning the first hour: got %+v, want %+v", got, hourly[1:])
	}
	for _, c := range []struct {
		before time.Time
		want   int
	}{{time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), 2}, {time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), 0}} {
		if err := s.PruneUsage(ctx, c.before); err != nil {
			t.Fatal(err)
		}
		if got := len(inQuotas(ctx, t, s, noon)); got != c.want {
			t.Errorf("after pruning before %v: %d owners have quotas of November, want %d", c.before, got, c.want)
		}
	}
}

func TestLastUsesSurvive(t *testing.T) {
	t.Parallel()
	s, end := open(t, t.TempDir())
	defer end()
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := usage.NewRecorder(s, time.Now, slog.New(slog.DiscardHandler))
	older, newer, unused := r.Secret("key_a", "kpsk_old1"), r.Secret("key_a", "kpsk_new1"), r.Secret("key_b", "kpsk_none")
	r.Touch(older, noon)
	r.Touch(newer, noon.Add(1234*time.Millisecond))
	r.Touch(older, noon.Add(-time.Hour))
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := s.LastUses(t.Context(), []string{"key_a", "key_b"})
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

// childDir is set for the process that is going to be killed.
const childDir = "KEEPSAKE_TEST_USAGE_DIR"

// TestKilledProcessLosesOnlyWhatCameAfterTheLastFlush kills a process that charges, records and flushes, again and again
// on one folder. What it said it had flushed is there, nothing is there that it did not charge, and the quotas are the
// sums of the cells.
func TestKilledProcessLosesOnlyWhatCameAfterTheLastFlush(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if dir := os.Getenv(childDir); dir != "" {
		chargeUntilKilled(t, dir, now)
		return
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for round := range 6 {
		flushed, charged := killedRound(t, dir)
		func() {
			s, end := open(t, dir)
			defer end()
			quotas := inQuotas(t.Context(), t, s, now)
			if diff := cmp.Diff(inCells(t.Context(), t, s, now), quotas); diff != "" {
				t.Fatalf("round %d: (-cells +quotas):\n%s", round, diff)
			}
			if got := quotas[workspace][0]; got < flushed || got > charged {
				t.Fatalf("round %d: %d are stored; %d were flushed and %d charged", round, got, flushed, charged)
			}
			p, err := newParty(t.Context(), s, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(quotas, p.inMemory(now)); diff != "" {
				t.Fatalf("round %d: restored counters (-quotas +counters):\n%s", round, diff)
			}
		}()
	}
}

// killedRound runs the child for a moment and gives the last numbers it told: what its counters had when a flush had
// ended, and when one was about to begin.
func killedRound(t *testing.T, dir string) (flushed, charged int64) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), childDir+"="+dir)
	var fault bytes.Buffer
	child.Stderr = &fault
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var killing *time.Timer
	told := ""
	for lines := bufio.NewScanner(out); lines.Scan(); told += lines.Text() + "\n" {
		word, number, _ := strings.Cut(lines.Text(), " ")
		var n int64
		if _, err := fmt.Sscan(number, &n); err != nil {
			continue
		}
		switch word {
		case "charged":
			charged = n
		case "flushed":
			flushed = n
			if killing == nil {
				killing = time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { _ = child.Process.Kill() })
			}
		}
	}
	if err := child.Wait(); killing == nil {
		t.Fatalf("the child ended by itself: %v\n%s%s", err, told, fault.String())
	}
	killing.Stop()
	return flushed, charged
}

func chargeUntilKilled(t *testing.T, dir string, now time.Time) {
	s, _ := open(t, dir)
	p, err := newParty(t.Context(), s, now)
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		for range 50 {
			p.call(now, rand.IntN(len(keys)), rand.Int64N(3)+1, 200)
		}
		total := p.inMemory(now)[workspace][0]
		fmt.Println("charged", total)
		if err := p.recorder.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		fmt.Println("flushed", total)
		runtime.Gosched()
	}
}

// BenchmarkFlushToDisk is one flush of a busy second: so many combinations of key and minute, each counted before.
func BenchmarkFlushToDisk(b *testing.B) {
	for _, cells := range []int{10, 1_000, 20_000} {
		b.Run(fmt.Sprintf("Cells=%d", cells), func(b *testing.B) {
			s, end := open(b, b.TempDir())
			defer end()
			now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			r := usage.NewRecorder(s, time.Now, slog.New(slog.DiscardHandler))
			owners := make([]usage.Owner, cells)
			for i := range owners {
				owners[i] = r.Owner(workspace, fmt.Sprintf("key_%026d", i))
			}
			for b.Loop() {
				for _, o := range owners {
					r.Record(usage.Event{Owner: o, Status: 200, At: now, Charged: 1})
				}
				if err := r.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRestore is what the start of a server with 100,000 keys used this month spends on their counters.
func BenchmarkRestore(b *testing.B) {
	s, end := open(b, b.TempDir())
	defer end()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := usage.NewRecorder(s, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	const keys = 100_000
	for i := range keys {
		r.Record(usage.Event{Owner: r.Owner(workspace, fmt.Sprintf("key_%026d", i)), Status: 200, At: now, Charged: 1})
	}
	if err := r.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		used, err := r.Restore(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if day, _ := used(workspace); day != keys {
			b.Fatalf("got %d, want %d", day, keys)
		}
	}
}
