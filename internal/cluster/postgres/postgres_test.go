package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/cluster"
	"keepsake/internal/cluster/postgres"
	"keepsake/internal/enginetest"
	"keepsake/internal/store"
	engine "keepsake/internal/store/postgres"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// open opens the same database as often as it is called with its URL.
func open(t *testing.T, url string) (*store.Store, *engine.Engine) {
	t.Helper()
	e, err := engine.Open(context.WithoutCancel(t.Context()), engine.Options{
		URL: url, Connections: 4, // and on a busy machine a crowd may wait for long
		Connect: time.Minute, Acquire: time.Minute, Lock: time.Minute, Commit: time.Minute, Answer: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return store.New(e), e
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within thirty seconds", what)
		}
	}
}

func workspace(id string) *account.Workspace {
	return &account.Workspace{ID: id, Name: id, Tier: "free", CreatedAt: time.Now(), Revision: 1}
}

// listener hears workspaces.
type listener struct {
	mu      sync.Mutex
	heard   map[string]int
	reloads int
}

func (l *listener) Hear(_ context.Context, news []cluster.News) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range news {
		l.heard[n.Subject]++
	}
	return nil
}

func (l *listener) HearEverything(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reloads++
	return nil
}

// Two processes tell a thousand things side by side; whoever reads meanwhile hears each of them and sees no gap.
func TestNothingIsMissedWhileTwoTell(t *testing.T) {
	t.Parallel()
	url := enginetest.Postgres(t)
	a, e := open(t, url)
	b, _ := open(t, url)
	board := postgres.NewBoard(e.Connect)
	t.Cleanup(board.Close)
	l := &listener{heard: map[string]int{}}
	r := cluster.NewReader(cluster.ReaderOptions{Source: board, Hearer: l, Patience: time.Minute, Log: slog.New(slog.DiscardHandler)})
	noError(t, r.Begin(t.Context()))

	const writers, each = 8, 60
	var all sync.WaitGroup
	for w := range writers {
		s := []*store.Store{a, b}[w%2]
		all.Go(func() {
			for i := range each {
				if err := s.CreateWorkspace(t.Context(), workspace(fmt.Sprintf("wsp_%d_%d", w, i))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		noError(t, r.Poll(t.Context()))
	}
	if len(l.heard) != writers*each || l.reloads != 0 {
		t.Errorf("heard of %d workspaces with %d reloads, want %d and none", len(l.heard), l.reloads, writers*each)
	}
	if !r.Current() {
		t.Error("not current")
	}
}

func TestOldNewsAreRemoved(t *testing.T) {
	t.Parallel()
	s, e := open(t, enginetest.Postgres(t))
	for i := range 5 {
		noError(t, s.CreateWorkspace(t.Context(), workspace(fmt.Sprint("wsp_", i))))
	}
	noError(t, e.Main().Run(t.Context(), func(ctx context.Context) error {
		_, err := e.Main().In(ctx).Exec(ctx, `UPDATE news SET at = at - 3700000000 WHERE number <= 3`)
		return err
	}))
	board := postgres.NewBoard(e.Connect)
	t.Cleanup(board.Close)
	noError(t, board.Prune(t.Context(), time.Hour))
	page, err := board.From(t.Context(), 0, 100)
	noError(t, err)
	if len(page.News) != 2 || page.News[0].Number != 4 || page.Head != 5 {
		t.Errorf("got %+v", page)
	}
	if page, err = board.From(t.Context(), 0, 0); err != nil || page.Head != 5 || len(page.News) != 0 {
		t.Errorf("the head alone: got %+v, error %v", page, err)
	}
}

func TestMembersInATable(t *testing.T) {
	t.Parallel()
	_, e := open(t, enginetest.Postgres(t))
	ctx := t.Context()
	tab := postgres.NewTable(e.Connect)
	t.Cleanup(tab.Close)

	a := &cluster.Member{ID: "1", Name: "a", Host: "left", Release: "1.0", Split: true}
	epoch, err := tab.Join(ctx, a, true)
	noError(t, err)
	if epoch != 1 {
		t.Errorf("the first join is number %d", epoch)
	}
	if _, err = tab.Join(ctx, &cluster.Member{ID: "2", Name: "b"}, true); err != nil {
		t.Fatal(err)
	}
	m, err := tab.Beat(ctx, "1", 2, true)
	noError(t, err)
	if !m.Known || m.Epoch != 2 || len(m.Members) != 2 || m.At.IsZero() {
		t.Errorf("got %+v", m)
	}
	m, err = tab.Beat(ctx, "2", 2, false)
	noError(t, err)
	first := m.Members[0]
	if first.Name != "a" || first.Host != "left" || first.Release != "1.0" || !first.Split || first.SeenEpoch != 2 ||
		first.JoinedEpoch != 1 || m.At.Before(first.SeenAt) || first.LeftAt != nil {
		t.Errorf("got %+v", first)
	}
	// Started again: its other run is over, and cannot go on without joining.
	if _, err = tab.Join(ctx, &cluster.Member{ID: "3", Name: "a"}, true); err != nil {
		t.Fatal(err)
	}
	m, err = tab.Beat(ctx, "1", 2, true)
	noError(t, err)
	if m.Known || m.Epoch != 3 {
		t.Errorf("got %+v", m)
	}
	noError(t, tab.Leave(ctx, "3"))
	m, err = tab.Beat(ctx, "2", 3, false)
	noError(t, err)
	for _, row := range m.Members {
		if (row.LeftAt != nil) != (row.Name == "a") {
			t.Errorf("got %+v", row)
		}
	}
	noError(t, tab.Forget(ctx, m.Members[:1]))
	conn, err := e.Connect(ctx)
	noError(t, err)
	defer conn.Close(ctx)
	m, err = postgres.ReadMuster(ctx, conn)
	noError(t, err)
	if len(m.Members) != 2 || m.Known {
		t.Errorf("got %+v", m)
	}
}

// kill ends all connections to a database but the one it is sent on.
func kill(t *testing.T, e *engine.Engine) {
	t.Helper()
	ctx := t.Context()
	conn, err := e.Connect(ctx)
	noError(t, err)
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, `
		SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	noError(t, err)
}

func TestALostConnectionIsMadeAgain(t *testing.T) {
	t.Parallel()
	_, e := open(t, enginetest.Postgres(t))
	board, tab := postgres.NewBoard(e.Connect), postgres.NewTable(e.Connect)
	t.Cleanup(board.Close)
	t.Cleanup(tab.Close)
	_, err := tab.Join(t.Context(), &cluster.Member{ID: "1", Name: "a"}, true)
	noError(t, err)
	for range 3 {
		if _, err := board.From(t.Context(), 0, 10); err != nil {
			t.Fatal(err)
		}
		m, err := tab.Beat(t.Context(), "1", 1, true)
		if err != nil || !m.Known {
			t.Fatalf("got %+v, error %v", m, err)
		}
		kill(t, e)
	}
}

func TestBell(t *testing.T) {
	t.Parallel()
	_, e := open(t, enginetest.Postgres(t))
	bell := func() *postgres.Bell { return postgres.NewBell(e.Connect, slog.New(slog.DiscardHandler)) }
	a, b := bell(), bell()
	var mu sync.Mutex
	heard, missed, own := map[string]int{}, 0, 0
	b.On("documents", func(subject string) {
		mu.Lock()
		defer mu.Unlock()
		if subject == "" {
			missed++
			return
		}
		heard[subject]++
	})
	a.On("documents", func(subject string) {
		mu.Lock()
		defer mu.Unlock()
		if subject != "" {
			own++
		}
	})
	count := func(subject string) func() bool {
		return func() bool { mu.Lock(); defer mu.Unlock(); return heard[subject] > 0 }
	}
	listening := func(n int) func() bool {
		return func() bool { mu.Lock(); defer mu.Unlock(); return missed >= n }
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { a.Run(ctx) })
	running.Go(func() { b.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })

	eventually(t, "b listens", listening(1))
	start := time.Now()
	a.Ring("documents", "wsp_a")
	a.Ring("news", "")
	eventually(t, "a ring is heard", count("wsp_a"))
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("a ring took %v", took)
	}

	// Rung as often as anybody likes, it is sent at most each 50 ms, once for a subject.
	rings := func() int { mu.Lock(); defer mu.Unlock(); return heard["wsp_b"] }
	start = time.Now()
	for time.Since(start) < 600*time.Millisecond || rings() < 3 && time.Since(start) < time.Minute {
		a.Ring("documents", "wsp_b")
		time.Sleep(100 * time.Microsecond)
	}
	took := time.Since(start)
	a.Ring("documents", "wsp_c")
	eventually(t, "the last ring is heard", count("wsp_c"))
	// One at once, one after each 50 ms, and one that goes with the last.
	if n, most := rings(), 2+int(took/(50*time.Millisecond)); n < 3 || n > most {
		t.Errorf("heard %d rings in %v, want 3 at least and %d at most", n, took, most)
	}

	kill(t, e)
	eventually(t, "b listens again, and is told that it may have missed a ring", listening(2))
	eventually(t, "a ring is heard after the connections were lost", func() bool {
		a.Ring("documents", "wsp_d")
		return count("wsp_d")()
	})
	mu.Lock()
	defer mu.Unlock()
	if own != 0 {
		t.Errorf("a heard itself %d times", own)
	}
}

// A server that stops answering costs a poll its time-out, and nothing once it answers again.
func TestAServerThatIsPaused(t *testing.T) {
	t.Parallel()
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	_, e := open(t, server.Database(t))
	board := postgres.NewBoard(e.Connect)
	t.Cleanup(board.Close)
	poll := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := board.From(ctx, 0, 10)
		return err
	}
	eventually(t, "a poll goes well", func() bool { return poll() == nil })
	server.Pause(t)
	for range 3 {
		start := time.Now()
		if err := poll(); err == nil || time.Since(start) > 10*time.Second {
			t.Errorf("got error %v after %v", err, time.Since(start))
		}
	}
	server.Resume(t)
	eventually(t, "polls go well again", func() bool { return poll() == nil })
}
