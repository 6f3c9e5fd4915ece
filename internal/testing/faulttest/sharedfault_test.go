package faulttest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// faultRounds is how often each fault strikes: KEEPSAKE_FAULT_ROUNDS=10 measures.
func faultRounds(t testing.TB) int {
	text := os.Getenv("KEEPSAKE_FAULT_ROUNDS")
	if text == "" {
		return 1
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("KEEPSAKE_FAULT_ROUNDS: %v", err)
	}
	return n
}

// pausedFor is for how long PostgreSQL stands still: KEEPSAKE_FAULT_PAUSE=30s measures.
func pausedFor(t testing.TB) time.Duration {
	text := os.Getenv("KEEPSAKE_FAULT_PAUSE")
	if text == "" {
		return 7 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("KEEPSAKE_FAULT_PAUSE: %v", err)
	}
	return d
}

// fault is something that happens to a fleet under load.
type fault struct {
	name     string
	strike   func(f *fleet)
	lasts    time.Duration
	during   func(r *strikeRound) // what must hold while it lasts, and takes its time
	end      func(f *fleet)       // what was lost is there again when it returns
	kills    bool                 // a process, so that connections to it are lost
	uncounts bool                 // Redis, so that counting is lost
}

// lostCounting is how much counting the loss of Redis can lose (docs/spec/limits.md). The simulations of internal/govern/limit
// hold the narrower bounds of the implementation, which a machine without a free core does not keep.
const lostCounting = 5 * time.Second

// waits are the longest that requests took: those that memory answers and those that need the database. They are only
// reported.
type waits struct{ memory, database time.Duration }

// figures are what all rounds of a fault come to.
type figures struct {
	account
	rounds          int
	back            time.Duration // slowest
	over            [2]int64      // most
	waits           waits         // longest
	answers, before string
}

// strikeRound is one strike of a fault.
type strikeRound struct {
	t       *testing.T
	f       *fleet
	fault   *fault
	number  int
	revoked []string // keys that both refuse
}

// rounds are numbered over all tests, so that their writes differ.
var rounds struct {
	sync.Mutex
	last int
}

func nextRound() int {
	rounds.Lock()
	defer rounds.Unlock()
	rounds.last++
	return rounds.last
}

func (f *fleet) suffers(faults ...fault) {
	for _, fault := range faults {
		f.t.Run(fault.name, func(t *testing.T) {
			f.asIn(t, func() {
				var all figures
				for range faultRounds(t) {
					r := &strikeRound{t: t, f: f, fault: &fault, number: nextRound()}
					r.run(&all)
					if t.Failed() {
						t.Fatalf("round %d\n%s\n%s", all.rounds, f.member(0).Log.Tail(), f.member(1).Log.Tail())
					}
				}
				t.Logf("%s: %d rounds, %d acknowledged, %d undecided, %d lost, %d twice, %d refused early; back after %s; over 150 a minute by %d, over 300 a day by %d; longest wait %s, for the database %s; answers before %s, meanwhile %s",
					fault.name, all.rounds, all.acked, all.undecided, all.lost, all.twice, all.early, all.back.Round(time.Millisecond), all.over[0], all.over[1],
					all.waits.memory.Round(time.Millisecond), all.waits.database.Round(time.Millisecond), all.before, all.answers)
			})
		})
	}
}

// asIn lets a fleet report to a test within the one that started it.
func (f *fleet) asIn(t *testing.T, do func()) {
	outer := f.t
	set := func(t *testing.T) {
		f.t = t
		for _, s := range f.both() {
			s.t = t
		}
	}
	set(t)
	defer set(outer)
	do()
}

func (r *strikeRound) run(all *figures) {
	t, f := r.t, r.f
	l := newLoad(f, r.number, r.fault.kills)
	f.member(0).Must(http.StatusCreated, http.MethodPut, "/api/v1/documents/"+l.taken(), document(r.number, textOf(r.number, "taken")))
	minutes := perMinute(f, fmt.Sprintf("minute%d", r.number), 150)
	days := perDay(f, fmt.Sprintf("day%d", r.number), 300)
	minutes.kills, days.kills = r.fault.kills, r.fault.kills

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var loads sync.WaitGroup
	loads.Go(func() { l.run(ctx) })
	// Of both budgets about half is used when the fault strikes.
	loads.Go(func() { minutes.run(ctx, 60*time.Millisecond) })
	loads.Go(func() { days.run(ctx, 30*time.Millisecond) })
	calm := time.Now()
	time.Sleep(1500 * time.Millisecond)

	stored := [2]int64{}
	if r.fault.kills {
		for i, h := range []*hammered{minutes, days} {
			stored[i] = h.total()
			await.Until(t, "what was admitted is stored", func() bool { return f.member(0).charged(h.id) >= stored[i] })
		}
	}
	struck := time.Now()
	r.fault.strike(f)
	done := time.Now()
	if r.fault.during != nil {
		r.fault.during(r)
	}
	time.Sleep(r.fault.lasts - time.Since(struck))
	r.fault.end(f)
	back := time.Now()
	worked := f.works()
	time.Sleep(time.Second)
	ended := time.Now()
	stop()
	loads.Wait()

	for _, key := range r.revoked {
		for i, s := range f.both() {
			if a := s.ask(t.Context(), key, http.MethodGet, "/api/v1/developer/whoami", nil); a.code() != "api_key_revoked" {
				t.Errorf("process %d answers a revoked key: %d %s", i, a.status, a.text)
			}
		}
	}
	light := slices.Concat(minutes.samples, days.samples)
	was := waits{longest(light, struck, ended), longest(l.samples, struck, ended)}
	sum := l.check(t)
	var over [2]int64
	for i, h := range []*hammered{minutes, days} {
		var lost, uncounted int64
		if r.fault.uncounts {
			uncounted = h.admittedBefore(done) - h.admittedBefore(struck.Add(-lostCounting))
		}
		over[i] = h.check(t, uncounted)
		if r.fault.kills {
			lost = h.admittedBefore(done) - stored[i] // what was stored is not lost
		}
		h.checkCounted(t, lost)
	}
	for _, s := range f.both() {
		s.MustLive()
	}

	if sum.acked == 0 || days.total() == 0 {
		t.Error("there was no load")
	}
	all.add(sum, worked.Sub(back), over, was)
	all.before = statuses(l.samples, calm, struck)
	all.answers = statuses(l.samples, struck, back)
}

func (f *figures) add(sum account, back time.Duration, over [2]int64, w waits) {
	if f.rounds == 0 {
		f.over = over
	}
	f.rounds++
	f.acked += sum.acked
	f.undecided += sum.undecided
	f.lost += sum.lost
	f.twice += sum.twice
	f.early += sum.early
	f.back = max(f.back, back)
	f.over = [2]int64{max(f.over[0], over[0]), max(f.over[1], over[1])}
	f.waits = waits{max(f.waits.memory, w.memory), max(f.waits.database, w.database)}
}

// TestPostgreSQLIsLostUnderLoad holds T33 and parts of T34: every acknowledged write is there once, requests during the
// outage soon get a 503, limits hold, and service resumes without help.
func TestPostgreSQLIsLostUnderLoad(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "loses PostgreSQL under load")
	f := startFleet(t, nil)
	f.suffers(fault{
		name:   "stopped immediately",
		strike: func(f *fleet) { f.postgres.StopImmediately(f.t) },
		lasts:  2 * time.Second,
		end:    func(f *fleet) { f.postgres.Start(f.t) },
	}, fault{
		name: "backends killed",
		strike: func(f *fleet) {
			f.postgres.Exec(f.t, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
		},
		end: func(*fleet) {},
	}, fault{
		name:   "paused",
		strike: func(f *fleet) { f.postgres.Pause(f.t) },
		lasts:  pausedFor(t),
		during: (*strikeRound).refusesSoon,
		end:    func(f *fleet) { f.postgres.Resume(f.t) },
	})
}

// refusesSoon looks that requests are refused while the database is silent: they do not wait for it.
func (r *strikeRound) refusesSoon() {
	for i, s := range r.f.both() {
		await.Until(r.t, fmt.Sprintf("process %d says that it is not ready", i), func() bool {
			status, _ := s.readiness()
			return status != "ready"
		})
		if a := s.ask(r.t.Context(), r.f.key, http.MethodGet, "/api/v1/documents?limit=1", nil); a.status != http.StatusServiceUnavailable {
			r.t.Errorf("process %d, while the database is silent: %d %s", i, a.status, a.text)
		}
	}
}

// TestRedisIsLostUnderLoad holds T35 and parts of T36 and T37: clients notice only how much of a limit is left.
func TestRedisIsLostUnderLoad(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "loses Redis under load")
	f := startFleet(t, enginetest.StartNetwork(t))
	start := func(f *fleet) { f.redis.Start(f.t) }
	lost := func(name string, strike, end func(f *fleet)) fault {
		return fault{name: name, strike: strike, end: end, lasts: 2 * time.Second, during: (*strikeRound).withoutRedis, uncounts: true}
	}
	f.suffers(
		lost("killed", func(f *fleet) { f.redis.Kill(f.t) }, start),
		lost("stopped", func(f *fleet) { f.redis.Stop(f.t) }, start),
		lost("paused", func(f *fleet) { f.redis.Pause(f.t) }, func(f *fleet) { f.redis.Resume(f.t) }),
		lost("cut off", func(f *fleet) { f.network.Cut(f.t) }, func(f *fleet) { f.network.Mend(f.t) }),
		fault{name: "emptied", strike: func(f *fleet) { f.redis.Flush(f.t) }, end: func(*fleet) {}, uncounts: true},
	)
}

// withoutRedis looks at what must hold without Redis: both processes say that they are degraded and serve all the same,
// what is revoked at one is refused by both, and wrong passwords are counted together.
func (r *strikeRound) withoutRedis() {
	t, f := r.t, r.f
	for i, s := range f.both() {
		await.Until(t, fmt.Sprintf("process %d says that it is degraded", i), func() bool {
			status, degraded := s.readiness()
			return status == "degraded" && degraded == "limits, redis" && s.limiterDegraded()
		})
	}
	for i, here := range f.both() {
		_, key, id, err := here.newKey(t.Context(), fmt.Sprintf("revoked%d-%d", r.number, i))
		if err != nil {
			t.Error(err)
			return
		}
		there := f.member(1 - i)
		if a := there.ask(t.Context(), key, http.MethodGet, "/api/v1/developer/whoami", nil); a.status != http.StatusOK {
			t.Errorf("process %d answers a key that was made just now: %d %s", 1-i, a.status, a.text)
		}
		here.Must(http.StatusOK, http.MethodPost, "/api/v1/developer/api-keys/"+id+"/revoke", map[string]any{})
		await.Until(t, fmt.Sprintf("process %d refuses a revoked key", 1-i), func() bool {
			return there.ask(t.Context(), key, http.MethodGet, "/api/v1/developer/whoami", nil).code() == "api_key_revoked"
		})
		r.revoked = append(r.revoked, key)
	}
	wrong, refused := 0, 0
	for i := range 13 {
		switch a := f.member(i%2).at(r.number).login(fmt.Sprintf("guessed%d@example.org", r.number), "not the password"); a.code() {
		case "invalid_credentials":
			wrong++
		case "rate_limit_exceeded":
			refused++
		default:
			t.Errorf("a login: %d %s", a.status, a.text)
		}
	}
	if wrong != 10 || refused != 3 {
		t.Errorf("of 13 wrong passwords %d were looked at and %d refused, want 10 and 3", wrong, refused)
	}
}

// TestAProcessIsLostUnderLoad kills one of two processes with allowances in hand, and starts it again.
func TestAProcessIsLostUnderLoad(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "loses a process under load")
	f := startFleet(t, nil)
	f.suffers(fault{
		name:   "killed",
		kills:  true,
		strike: func(f *fleet) { f.member(1).Kill() },
		during: (*strikeRound).goesOn,
		lasts:  1500 * time.Millisecond,
		end:    func(f *fleet) { f.begin(1) },
	})
}

// goesOn looks that the other process does not notice.
func (r *strikeRound) goesOn() {
	s := r.f.member(0)
	for i := range 20 {
		name := fmt.Sprintf("alone%d-%d", r.number, i)
		if a := s.ask(r.t.Context(), r.f.key, http.MethodPut, "/api/v1/documents/"+name, document(0, name)); a.status != http.StatusCreated {
			r.t.Errorf("the process that is left: %d %s", a.status, a.text)
		}
		// Redis can be slow beside other tests.
		if status, degraded := s.readiness(); status != "ready" && !slices.Contains([]string{"limits", "redis", "limits, redis"}, degraded) {
			r.t.Errorf("the process that is left says %s %s", status, degraded)
		}
	}
}
