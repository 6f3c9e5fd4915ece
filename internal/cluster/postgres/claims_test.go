package postgres_test

import (
	"context"
	"encoding/binary"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/cluster/postgres"
	"keepsake/internal/enginetest"
)

// process is Claims as one process has them.
type process struct {
	*postgres.Claims
	die func() // ends it at once, with all it holds
}

// forever is how long claims wait for their verdict where that is what a test is about. In life whoever waits for a second
// runs, and on a machine with much to do a second is soon over.
const forever = 5 * time.Minute

func runClaims(t testing.TB, url string) *process {
	t.Helper()
	return runClaimsWith(t, url, forever)
}

func runClaimsWith(t testing.TB, url string, patience time.Duration) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := postgres.NewClaims(func(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, url) }, slog.New(slog.DiscardHandler))
	c.SetPatience(patience)
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	p := &process{c, func() { cancel(); running.Wait() }}
	t.Cleanup(p.die)
	return p
}

func claim(n uint64) (c [32]byte) {
	binary.BigEndian.PutUint64(c[:], n)
	return c
}

func watcher(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// holders are the backends that hold the locks of claims in the database.
func holders(t *testing.T, conn *pgx.Conn) (pids []int32) {
	t.Helper()
	rows, err := conn.Query(t.Context(), `
		SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
	if err == nil {
		pids, err = pgx.CollectRows(rows, pgx.RowTo[int32])
	}
	if err != nil {
		t.Fatal(err)
	}
	return pids
}

// Who comes while the first connection is still being made waits a second and runs. The lock that is then taken for it is
// given back once, also where it was asked for twice.
func TestARequestThatCameBeforeTheConnectionLeavesNoLock(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan struct{})
	c := postgres.NewClaims(func(ctx context.Context) (*pgx.Conn, error) {
		<-asked
		return pgx.Connect(context.WithoutCancel(ctx), url)
	}, slog.New(slog.DiscardHandler))
	if !c.Take(ctx, claim(1)) { // nobody answers yet
		t.Fatal("it is refused by nobody")
	}
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	close(asked)
	conn := watcher(t, url)
	eventually(t, "what runs is locked", func() bool { return len(holders(t, conn)) == 1 })
	c.Release(claim(1), true)
	eventually(t, "no lock is left", func() bool { return len(holders(t, conn)) == 0 })
}

func TestARequestRunsInOneProcess(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	a, b := runClaims(t, url), runClaims(t, url)
	ctx := t.Context()
	conn := watcher(t, url)
	for range 3 {
		if !a.Take(ctx, claim(1)) {
			t.Fatal("the first is refused")
		}
		if b.Take(ctx, claim(1)) {
			t.Error("another process takes what the first runs")
		}
		if !b.Take(ctx, claim(2)) {
			t.Error("another request is refused")
		}
		a.Release(claim(1), true)
		if !b.Take(ctx, claim(1)) {
			t.Error("when it has ended it is refused still")
		}
		b.Release(claim(1), true)
		b.Release(claim(2), true)
	}
	// Whoever comes while the news of the end is under way finds the lock of its own process given back before.
	for range 100 {
		if !a.Take(ctx, claim(3)) {
			t.Fatal("refused by itself")
		}
		a.Release(claim(3), false)
	}
	eventually(t, "no lock is left", func() bool { return len(holders(t, conn)) == 0 })
}

func TestManyRequestsAtOnceRunInOneProcessEach(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	processes := []*process{runClaims(t, url), runClaims(t, url), runClaims(t, url)}
	const claims = 20
	var runs [claims]atomic.Int32 // how many processes run it
	var ran, refused atomic.Int64
	var all sync.WaitGroup
	for _, p := range processes {
		var local [claims]sync.Mutex // a process has one at a time by itself
		for range 20 {
			all.Go(func() {
				for range 30 {
					n := rand.IntN(claims)
					local[n].Lock()
					if p.Take(context.Background(), claim(uint64(n))) {
						if runs[n].Add(1) != 1 {
							t.Errorf("request %d runs in two processes", n)
						}
						ran.Add(1)
						runs[n].Add(-1)
						p.Release(claim(uint64(n)), rand.IntN(2) == 0)
					} else {
						refused.Add(1)
					}
					local[n].Unlock()
				}
			})
		}
	}
	all.Wait()
	if ran.Load() == 0 || refused.Load() == 0 {
		t.Errorf("%d ran and %d were refused; this shows nothing", ran.Load(), refused.Load())
	}
	conn := watcher(t, url)
	eventually(t, "no lock is left", func() bool { return len(holders(t, conn)) == 0 })
}

func TestAProcessThatDiesRunsNothing(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	a, b := runClaims(t, url), runClaims(t, url)
	if !a.Take(t.Context(), claim(1)) || b.Take(t.Context(), claim(1)) {
		t.Fatal("the first does not run alone")
	}
	a.die()
	eventually(t, "another process takes it", func() bool { return b.Take(t.Context(), claim(1)) })
	if !a.Take(t.Context(), claim(1)) {
		t.Error("a process that stops keeps somebody from running")
	}
}

func TestAConnectionThatIsKilledTakesItsLocksAgain(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	a, b := runClaims(t, url), runClaims(t, url)
	conn := watcher(t, url)
	if !a.Take(t.Context(), claim(1)) {
		t.Fatal("the first is refused")
	}
	before := holders(t, conn)
	if _, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend($1)", before[0]); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the lock is held again", func() bool {
		now := holders(t, conn)
		return len(now) == 1 && now[0] != before[0]
	})
	if b.Take(t.Context(), claim(1)) {
		t.Error("another process takes what the first runs")
	}
	if !a.Take(t.Context(), claim(2)) {
		t.Error("another request is refused")
	}
	a.Release(claim(1), true)
	a.Release(claim(2), true)
	if len(holders(t, conn)) != 0 {
		t.Error("a lock is left")
	}
}

func TestWithoutTheDatabaseNobodyIsKeptFromRunning(t *testing.T) {
	t.Parallel()
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	url := server.Database(t)
	a, b := runClaimsWith(t, url, time.Second), runClaimsWith(t, url, time.Second)
	ctx := t.Context()
	if !a.Take(ctx, claim(1)) {
		t.Fatal("the first is refused")
	}
	eventually(t, "the first runs alone", func() bool { // before both have a connection nobody is kept from running
		if b.Take(ctx, claim(1)) {
			b.Release(claim(1), true)
			return false
		}
		return true
	})
	server.StopImmediately(t)
	began := time.Now()
	for n := range uint64(20) {
		if !b.Take(ctx, claim(n)) {
			t.Errorf("%d is refused by nobody", n)
		}
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("20 requests waited %s", took)
	}
	for n := range uint64(20) {
		if n != 5 {
			b.Release(claim(n), true)
		}
	}
	server.Start(t)
	eventually(t, "what runs is locked again", func() bool {
		if a.Take(ctx, claim(5)) {
			a.Release(claim(5), true)
			return false
		}
		return true
	})
	eventually(t, "also by the first", func() bool {
		if b.Take(ctx, claim(1)) {
			b.Release(claim(1), true)
			return false
		}
		return true
	})
	a.Release(claim(1), true)
	b.Release(claim(5), true)

	// It hangs: nobody waits for long, and what comes late is given back.
	server.Pause(t)
	began = time.Now()
	var all sync.WaitGroup
	for n := range uint64(20) {
		all.Go(func() {
			if !a.Take(ctx, claim(100+n)) {
				t.Errorf("%d is refused by nobody", n)
			}
			a.Release(claim(100+n), true)
		})
	}
	all.Wait()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("20 requests at once waited %s", took)
	}
	server.Resume(t)
	conn := watcher(t, url)
	eventually(t, "no lock is left", func() bool { return len(holders(t, conn)) == 0 })
	eventually(t, "locks work again", func() bool {
		first, second := a.Take(ctx, claim(7)), b.Take(ctx, claim(7))
		a.Release(claim(7), true)
		if second {
			b.Release(claim(7), true)
		}
		return first && !second
	})
}

// BenchmarkClaims takes and gives back the claim of a request, alone and for 64 requests at once.
func BenchmarkClaims(b *testing.B) {
	c := runClaims(b, enginetest.Postgres(b))
	var n atomic.Uint64
	one := func() {
		k := claim(n.Add(1))
		c.Take(context.Background(), k)
		c.Release(k, false)
	}
	b.Run("Alone", func(b *testing.B) {
		for b.Loop() {
			one()
		}
	})
	b.Run("64AtOnce", func(b *testing.B) {
		b.SetParallelism(32)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				one()
			}
		})
	})
}
