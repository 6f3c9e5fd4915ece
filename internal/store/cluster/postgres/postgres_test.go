package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/store"
	"keepsake/internal/store/cluster"
	"keepsake/internal/store/cluster/postgres"
	engine "keepsake/internal/store/postgres"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// migrated is a database with our schemas.
func migrated(t testing.TB) (url string) {
	t.Helper()
	return enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return engine.Migrate(ctx, engine.Options{URL: url})
	})
}

// open opens the same database for each call with its URL. Its time-outs are long, for slow machines.
func open(t *testing.T, url string) (*store.Store, *engine.Engine) {
	t.Helper()
	e, err := engine.Open(context.WithoutCancel(t.Context()), engine.Options{
		URL: url, Connections: 4,
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

func workspace(id string) *account.Workspace {
	return &account.Workspace{ID: id, Name: id, Tier: "free", CreatedAt: time.Now(), Revision: 1}
}

// listener records events about workspaces.
type listener struct {
	mu      sync.Mutex
	heard   map[string]int
	reloads int
}

func (l *listener) Apply(_ context.Context, news []cluster.Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range news {
		l.heard[n.Subject]++
	}
	return nil
}

func (l *listener) ApplyAll(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reloads++
	return nil
}

// Two processes write events concurrently. A process that reads them meanwhile sees each of them and no gap.
func TestConcurrentWritersLeaveNoGap(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	a, e := open(t, url)
	b, _ := open(t, url)
	board := postgres.NewEventReader(e.Connect)
	t.Cleanup(board.Close)
	l := &listener{heard: map[string]int{}}
	r := cluster.NewReader(cluster.ReaderOptions{Source: board, Applier: l, MaxStaleness: time.Minute, Log: slog.New(slog.DiscardHandler)})
	noError(t, r.Begin(t.Context()))

	const writers = 8
	each := testtier.Rounds(15, 60)
	var all sync.WaitGroup
	for w := range writers {
		s := []*store.Store{a, b}[w%2]
		all.Go(func() {
			for i := range each {
				if err := s.Accounts.CreateWorkspace(t.Context(), workspace(fmt.Sprintf("wsp_%d_%d", w, i))); err != nil {
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

func TestOldEventsAreRemoved(t *testing.T) {
	t.Parallel()
	s, e := open(t, migrated(t))
	for i := range 5 {
		noError(t, s.Accounts.CreateWorkspace(t.Context(), workspace(fmt.Sprint("wsp_", i))))
	}
	noError(t, e.Main().Run(t.Context(), func(ctx context.Context) error {
		_, err := e.Main().In(ctx).Exec(ctx, `UPDATE news SET at = at - 3700000000 WHERE number <= 3`)
		return err
	}))
	board := postgres.NewEventReader(e.Connect)
	t.Cleanup(board.Close)
	noError(t, board.Prune(t.Context(), time.Hour))
	page, err := board.From(t.Context(), 0, 100)
	noError(t, err)
	if len(page.Events) != 2 || page.Events[0].Number != 4 || page.Head != 5 {
		t.Errorf("got %+v", page)
	}
	if page, err = board.From(t.Context(), 0, 0); err != nil || page.Head != 5 || len(page.Events) != 0 {
		t.Errorf("the head alone: got %+v, error %v", page, err)
	}
}

func TestMembersInATable(t *testing.T) {
	t.Parallel()
	_, e := open(t, migrated(t))
	ctx := t.Context()
	tab := postgres.NewTable(e.Connect)
	t.Cleanup(tab.Close)

	a := &cluster.Member{ID: "1", Name: "a", Host: "left", Release: "1.0", WithoutRedis: true}
	epoch, err := tab.Join(ctx, a, true)
	noError(t, err)
	if epoch != 1 {
		t.Errorf("the first join is number %d", epoch)
	}
	if _, err = tab.Join(ctx, &cluster.Member{ID: "2", Name: "b"}, true); err != nil {
		t.Fatal(err)
	}
	m, err := tab.Heartbeat(ctx, "1", 2, true)
	noError(t, err)
	if !m.Listed || m.Epoch != 2 || len(m.Members) != 2 || m.At.IsZero() {
		t.Errorf("got %+v", m)
	}
	m, err = tab.Heartbeat(ctx, "2", 2, false)
	noError(t, err)
	first := m.Members[0]
	if first.Name != "a" || first.Host != "left" || first.Release != "1.0" || !first.WithoutRedis || first.SeenEpoch != 2 ||
		first.JoinedEpoch != 1 || m.At.Before(first.SeenAt) || first.LeftAt != nil {
		t.Errorf("got %+v", first)
	}
	// After a restart, the earlier run has ended and must join to continue.
	if _, err = tab.Join(ctx, &cluster.Member{ID: "3", Name: "a"}, true); err != nil {
		t.Fatal(err)
	}
	m, err = tab.Heartbeat(ctx, "1", 2, true)
	noError(t, err)
	if m.Listed || m.Epoch != 3 {
		t.Errorf("got %+v", m)
	}
	noError(t, tab.Leave(ctx, "3"))
	m, err = tab.Heartbeat(ctx, "2", 3, false)
	noError(t, err)
	for _, row := range m.Members {
		if (row.LeftAt != nil) != (row.Name == "a") {
			t.Errorf("got %+v", row)
		}
	}
	noError(t, tab.Forget(ctx, m.Members[:1]))
	m, err = postgres.ReadMembership(ctx, e.Connect)
	noError(t, err)
	if len(m.Members) != 2 || m.Listed {
		t.Errorf("got %+v", m)
	}
}

// kill ends all connections to a database except its own.
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

func TestLostConnectionIsReopened(t *testing.T) {
	t.Parallel()
	_, e := open(t, migrated(t))
	board, tab := postgres.NewEventReader(e.Connect), postgres.NewTable(e.Connect)
	t.Cleanup(board.Close)
	t.Cleanup(tab.Close)
	_, err := tab.Join(t.Context(), &cluster.Member{ID: "1", Name: "a"}, true)
	noError(t, err)
	for range 3 {
		if _, err := board.From(t.Context(), 0, 10); err != nil {
			t.Fatal(err)
		}
		m, err := tab.Heartbeat(t.Context(), "1", 1, true)
		if err != nil || !m.Listed {
			t.Fatalf("got %+v, error %v", m, err)
		}
		kill(t, e)
	}
}

// A poll of a silent database times out. Once the database answers again, so does the next poll.
func TestPollOfASilentDatabaseTimesOut(t *testing.T) {
	t.Parallel()
	_, e := open(t, migrated(t))
	way := newNetwork(t, e.Connect)
	pollWhile(t, way.connect, way.silence, way.unsilence)
}

func TestPollOfAPausedServerTimesOut(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts a server of its own and pauses it")
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	_, e := open(t, server.Database(t))
	pollWhile(t, e.Connect, func() { server.Pause(t) }, func() { server.Resume(t) })
}

// pollWhile polls before, while and after the database is silent.
func pollWhile(t *testing.T, connect postgres.Connect, silence, unsilence func()) {
	t.Helper()
	board := postgres.NewEventReader(connect)
	t.Cleanup(board.Close)
	if _, err := board.From(t.Context(), 0, 10); err != nil {
		t.Fatal(err)
	}
	silence()
	for range 2 { // on a connection that becomes silent, and on a new one
		given := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := board.From(ctx, 0, 10)
			given <- err
		}()
		if err := await.Receive(t, "a poll ends while the database is silent", given); err == nil {
			t.Error("a silent database answered")
		}
	}
	unsilence()
	if _, err := board.From(t.Context(), 0, 10); err != nil {
		t.Errorf("once the database answers again: %v", err)
	}
}
