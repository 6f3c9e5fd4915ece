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

	"keepsake/internal/store/cluster/postgres"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// process is the Claims of one process.
type process struct {
	*postgres.Claims
	die func() // ends it at once, including its connection
}

// forever is how long claims wait for an answer in tests of the answer. The program waits for a second and then runs
// the request.
const forever = time.Hour

// to connects to a database by its URL.
func to(url string) postgres.Connect {
	return func(ctx context.Context) (*pgx.Conn, error) { return pgx.Connect(ctx, url) }
}

func runClaims(t testing.TB, connect postgres.Connect) *process {
	t.Helper()
	return runClaimsWith(t, connect, forever)
}

func runClaimsWith(t testing.TB, connect postgres.Connect, patience time.Duration) *process {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	c := postgres.NewClaims(connect, slog.New(slog.DiscardHandler))
	c.SetTimeout(patience)
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

// holders returns the backends that hold the locks of claims.
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

// A request that arrives during the first connection attempt waits a second and runs, or less if its own time ends
// earlier, as here. The lock that is granted later is released once, even if it was requested twice.
func TestEarlyRequestLeavesNoLock(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	ctx, cancel := context.WithCancel(context.Background())
	asked := make(chan struct{})
	c := postgres.NewClaims(func(ctx context.Context) (*pgx.Conn, error) {
		<-asked
		return pgx.Connect(context.WithoutCancel(ctx), url)
	}, slog.New(slog.DiscardHandler))
	c.SetTimeout(forever)
	over, end := context.WithCancel(t.Context())
	end()
	if !c.Take(over, claim(1)) {
		t.Fatal("it is refused, though no connection has answered")
	}
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	close(asked)
	conn := watcher(t, url)
	await.Until(t, "what runs is locked", func() bool { return len(holders(t, conn)) == 1 })
	c.Release(claim(1), true)
	await.Until(t, "no lock is left", func() bool { return len(holders(t, conn)) == 0 })
}

func TestRequestRunsInOneProcess(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	a, b := runClaims(t, to(url)), runClaims(t, to(url))
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
	// A later request finds the lock released, because the process handles both in order.
	for range 100 {
		if !a.Take(ctx, claim(3)) {
			t.Fatal("refused by itself")
		}
		a.Release(claim(3), false)
	}
	await.Until(t, "no lock is left", func() bool { return len(holders(t, conn)) == 0 })
}

func TestManyRequestsAtOnceRunInOneProcessEach(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	processes := []*process{runClaims(t, to(url)), runClaims(t, to(url)), runClaims(t, to(url))}
	const claims = 20
	var runs [claims]atomic.Int32 // how many processes run each
	var ran, refused atomic.Int64
	var all sync.WaitGroup
	if !processes[0].Take(t.Context(), claim(claims)) { // which runs all the time
		t.Fatal("the first is refused")
	}
	for _, p := range processes[1:] {
		all.Go(func() {
			for range 30 {
				if p.Take(context.Background(), claim(claims)) {
					t.Error("a request runs in two processes")
				}
			}
		})
	}
	for _, p := range processes {
		var local [claims]sync.Mutex // a process runs only one at a time
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
	if ran.Load() == 0 {
		t.Errorf("none ran, and %d were refused", refused.Load())
	}
	processes[0].Release(claim(claims), true)
	conn := watcher(t, url)
	await.Until(t, "no lock is left", func() bool { return len(holders(t, conn)) == 0 })
}

func TestDeadProcessHoldsNoLock(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	a, b := runClaims(t, to(url)), runClaims(t, to(url))
	if !a.Take(t.Context(), claim(1)) || b.Take(t.Context(), claim(1)) {
		t.Fatal("the first does not run alone")
	}
	a.die()
	await.Until(t, "another process takes it", func() bool { return b.Take(t.Context(), claim(1)) })
	if !a.Take(t.Context(), claim(1)) {
		t.Error("a process that stops keeps somebody from running")
	}
}

func TestLocksAreTakenAgainAfterAReconnect(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	a, b := runClaims(t, to(url)), runClaims(t, to(url))
	conn := watcher(t, url)
	if !a.Take(t.Context(), claim(1)) {
		t.Fatal("the first is refused")
	}
	before := holders(t, conn)
	if _, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend($1)", before[0]); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the lock is held again", func() bool {
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

// Requests run while the database is down, and get their locks once it is back.
func TestRequestsRunWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	t.Run("TheNetworkIsCut", func(t *testing.T) {
		t.Parallel()
		url := enginetest.Postgres(t)
		way := newNetwork(t, to(url))
		runWithout(t, way.connect, url, way.cut, way.mend)
	})
	t.Run("TheServerIsStopped", func(t *testing.T) {
		t.Parallel()
		testtier.Long(t, "starts a server of its own, stops it and starts it again")
		server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
		url := server.Database(t)
		runWithout(t, to(url), url, func() { server.StopImmediately(t) }, func() { server.Start(t) })
	})
}

func runWithout(t *testing.T, connect postgres.Connect, url string, lose, restore func()) {
	t.Helper()
	a, b := runClaims(t, connect), runClaims(t, connect)
	ctx := t.Context()
	if !a.Take(ctx, claim(1)) || b.Take(ctx, claim(1)) {
		t.Fatal("the first does not run alone")
	}
	lose()
	ran := make(chan bool, 20)
	go func() {
		for n := range uint64(20) {
			ran <- b.Take(ctx, claim(n))
		}
	}()
	for n := range 20 {
		if !await.Receive(t, "a request gets its verdict without the database", ran) {
			t.Errorf("request %d is refused without the database", n)
		}
	}
	for n := range uint64(20) {
		if n != 5 {
			b.Release(claim(n), true)
		}
	}
	restore()
	conn := watcher(t, url)
	await.Until(t, "what runs in both processes is locked again", func() bool { return len(holders(t, conn)) == 2 })
	await.Until(t, "the first is refused what the second runs", func() bool { return refuses(ctx, a, claim(5)) })
	await.Until(t, "the second is refused what the first runs", func() bool { return refuses(ctx, b, claim(1)) })
	a.Release(claim(1), true)
	b.Release(claim(5), true)
	await.Until(t, "no lock is left", func() bool { return len(holders(t, conn)) == 0 })
}

// refuses reports whether a process is refused a claim. It releases the claim.
func refuses(ctx context.Context, p *process, c [32]byte) bool {
	if p.Take(ctx, c) {
		p.Release(c, true)
		return false
	}
	return true
}

// Requests run while the database does not answer. A lock that is granted late is released.
func TestRequestsRunWhileTheDatabaseIsSilent(t *testing.T) {
	t.Parallel()
	t.Run("TheNetworkIsSilent", func(t *testing.T) {
		t.Parallel()
		url := enginetest.Postgres(t)
		way := newNetwork(t, to(url))
		runWhileSilent(t, way.connect, url, way.silence, way.unsilence)
	})
	t.Run("TheServerIsPaused", func(t *testing.T) {
		t.Parallel()
		testtier.Long(t, "starts a server of its own and pauses it")
		server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
		url := server.Database(t)
		runWhileSilent(t, to(url), url, func() { server.Pause(t) }, func() { server.Resume(t) })
	})
}

func runWhileSilent(t *testing.T, connect postgres.Connect, url string, silence, unsilence func()) {
	t.Helper()
	// Without a time-out, the requests below would wait until the test ends.
	p, other := runClaimsWith(t, connect, 200*time.Millisecond), runClaims(t, to(url))
	ctx, conn := t.Context(), watcher(t, url)
	if !p.Take(ctx, claim(1)) {
		t.Fatal("the first is refused")
	}
	await.Until(t, "the first is locked", func() bool { return len(holders(t, conn)) == 1 })
	silence()
	ran := make(chan bool, 20)
	for n := range uint64(20) {
		go func() {
			ran <- p.Take(ctx, claim(100+n))
			p.Release(claim(100+n), true)
		}()
	}
	for range 20 {
		if !await.Receive(t, "a request gets its verdict while the database is silent", ran) {
			t.Error("a request is refused while the database is silent")
		}
	}
	unsilence()
	p.Release(claim(1), true)
	await.Until(t, "no lock is left", func() bool { return len(holders(t, conn)) == 0 })
	await.Until(t, "locks work again", func() bool {
		first, second := p.Take(ctx, claim(7)), other.Take(ctx, claim(7))
		p.Release(claim(7), true)
		if second {
			other.Release(claim(7), true)
		}
		return first && !second
	})
}

// BenchmarkClaims takes and releases the claim of a request, alone and for 64 concurrent requests.
func BenchmarkClaims(b *testing.B) {
	c := runClaims(b, to(enginetest.Postgres(b)))
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
