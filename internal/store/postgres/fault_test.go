package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

var at = time.Date(2026, 11, 21, 10, 30, 0, 0, time.UTC)

func workspace(id string) *account.Workspace {
	return &account.Workspace{ID: id, Name: id, Tier: "free", CreatedAt: at, Revision: 1}
}

func wantUnavailable(t *testing.T, err error) {
	t.Helper()
	if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable || p.RetryAfter <= 0 {
		t.Errorf("got %v, want a 503 with a Retry-After", err)
	}
}

func wantWorkspaces(t *testing.T, s *store.Store, want ...string) {
	t.Helper()
	list, err := s.Accounts.Workspaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range list {
		got = append(got, w.ID)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("workspaces: got %v, want %v", got, want)
	}
}

// backend is the server process of a transaction.
func backend(t *testing.T, ctx context.Context, e *postgres.Engine) (pid int) {
	t.Helper()
	if err := e.Main().In(ctx).QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		t.Error(err)
	}
	return pid
}

func TestKilledBackendRefusesItsTransaction(t *testing.T) {
	t.Parallel()
	e := open(t, postgres.Options{URL: migrated(t), Connections: 1})
	s := store.New(e)
	ran, after := 0, 0
	err := s.Run(t.Context(), func(ctx context.Context) error {
		ran++
		unit.AfterCommit(ctx, func() { after++ })
		if err := s.Accounts.CreateWorkspace(ctx, workspace("wsp_a")); err != nil {
			return err
		}
		enginetest.SharedPostgres(t).Exec(t, fmt.Sprintf("SELECT pg_terminate_backend(%d, 60000)", backend(t, ctx, e)))
		return s.Accounts.CreateWorkspace(ctx, workspace("wsp_b"))
	})
	wantUnavailable(t, err)
	if ran != 1 || after != 0 {
		t.Errorf("it ran %d times with %d hooks, want once and none", ran, after)
	}
	wantWorkspaces(t, s)
	if err := s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_c")); err != nil {
		t.Error(err)
	}
}

func TestDeadIdleConnectionsAreReplaced(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	s := store.New(open(t, postgres.Options{URL: url, Connections: 4}))
	var all sync.WaitGroup
	for i := range 8 { // opens all connections
		all.Go(func() {
			err := s.Run(t.Context(), func(ctx context.Context) error {
				_, err := s.Accounts.Workspaces(context.WithoutCancel(t.Context()))
				return errors.Join(err, s.Accounts.CreateWorkspace(ctx, workspace(fmt.Sprintf("wsp_%d", i))))
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	exec(t, url, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	for range 4 {
		if _, err := s.Accounts.Workspaces(t.Context()); err != nil {
			t.Error(err)
		}
	}
	exec(t, url, "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	if err := s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_x")); err != nil {
		t.Error(err)
	}
}

func TestDeadlockedTransactionsRunAgain(t *testing.T) {
	t.Parallel()
	s := store.New(open(t, postgres.Options{URL: migrated(t)}))
	for _, id := range []string{"wsp_a", "wsp_b"} {
		if err := s.Accounts.CreateWorkspace(t.Context(), workspace(id)); err != nil {
			t.Fatal(err)
		}
	}
	var met sync.WaitGroup
	met.Add(2)
	var ran atomic.Int64
	change := func(first, second string) error {
		var once sync.Once
		return s.Run(t.Context(), func(ctx context.Context) error {
			ran.Add(1)
			for i, id := range []string{first, second} {
				w, err := s.Accounts.Workspace(ctx, id)
				if err != nil {
					return err
				}
				w.Revision++
				if err := s.Accounts.UpdateWorkspace(ctx, w); err != nil {
					return err
				}
				if i == 0 {
					once.Do(func() { // the first time, both hold the row that the other waits for
						met.Done()
						met.Wait()
					})
				}
			}
			return nil
		})
	}
	var all sync.WaitGroup
	for _, ids := range [][2]string{{"wsp_a", "wsp_b"}, {"wsp_b", "wsp_a"}} {
		all.Go(func() {
			if err := change(ids[0], ids[1]); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if ran.Load() < 3 {
		t.Errorf("the units ran %d times, so they did not block each other", ran.Load())
	}
	for _, id := range []string{"wsp_a", "wsp_b"} {
		if w, err := s.Accounts.Workspace(t.Context(), id); err != nil || w.Revision != 3 {
			t.Errorf("%s has the revision %d, error %v", id, w.Revision, err)
		}
	}
}

func TestWaitForAConnectionTimesOut(t *testing.T) {
	t.Parallel()
	e := open(t, postgres.Options{URL: migrated(t), Connections: 1})
	s := store.New(e)
	err := s.Run(t.Context(), func(ctx context.Context) error {
		outside := context.WithoutCancel(t.Context())
		// Reads continue while transactions wait.
		if _, err := s.Accounts.Workspaces(outside); err != nil {
			t.Error(err)
		}
		postgres.SetAcquire(e, 20*time.Millisecond)
		err := s.Accounts.CreateWorkspace(outside, workspace("wsp_b"))
		wantUnavailable(t, err)
		if !errors.Is(err, postgres.ErrTurn) {
			t.Errorf("got %v, want the error of a pool without a free connection", err)
		}
		postgres.SetAcquire(e, time.Minute)
		gone, cancel := context.WithCancel(outside)
		cancel()
		if err := s.Accounts.CreateWorkspace(gone, workspace("wsp_b")); !errors.Is(err, context.Canceled) {
			t.Errorf("a client that left got %v", err)
		}
		return s.Accounts.CreateWorkspace(ctx, workspace("wsp_a"))
	})
	if err != nil {
		t.Fatal(err)
	}
	wantWorkspaces(t, s, "wsp_a")
}

func TestWaitForARowTimesOut(t *testing.T) {
	t.Parallel()
	s := store.New(open(t, postgres.Options{URL: migrated(t), Lock: 50 * time.Millisecond}))
	if err := s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_a")); err != nil {
		t.Fatal(err)
	}
	err := s.Run(t.Context(), func(ctx context.Context) error {
		if _, _, err := s.Accounts.CountUsers(ctx, "wsp_a"); err != nil {
			return err
		}
		outside := context.WithoutCancel(t.Context())
		wantUnavailable(t, s.Run(outside, func(ctx context.Context) error {
			_, _, err := s.Accounts.CountUsers(ctx, "wsp_a")
			return err
		}))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSlowStatementEndsItsTransaction(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	e := open(t, postgres.Options{URL: url, Statement: 200 * time.Millisecond})
	wantUnavailable(t, e.Main().Run(t.Context(), func(ctx context.Context) error {
		_, err := e.Main().In(ctx).Exec(ctx, "SELECT pg_sleep(3600)")
		return err
	}))
	_, err := e.Main().In(t.Context()).Exec(t.Context(), "SELECT pg_sleep(3600)")
	wantUnavailable(t, err)
	others := connect(t, url)
	await.Until(t, "the server has ended the statements", func() bool {
		var running int
		err := others.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`).Scan(&running)
		if err != nil {
			t.Fatal(err)
		}
		return running == 0
	})
}

func TestIdleTransactionIsEndedByTheServer(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	e := open(t, postgres.Options{URL: url, Statement: 500 * time.Millisecond})
	s, others := store.New(e), store.New(open(t, postgres.Options{URL: url}))
	conn := connect(t, url)
	wantUnavailable(t, s.Run(t.Context(), func(ctx context.Context) error {
		if err := s.Accounts.CreateWorkspace(ctx, workspace("wsp_a")); err != nil {
			return err
		}
		await.Until(t, "the server has ended the unit", func() (over bool) {
			if err := conn.QueryRow(t.Context(), `SELECT NOT EXISTS (SELECT 1 FROM pg_stat_activity
				WHERE datname = current_database() AND state LIKE 'idle in transaction%')`).Scan(&over); err != nil {
				t.Fatal(err)
			}
			return over
		})
		return nil
	}))
	wantWorkspaces(t, others)
}

// proxied is a migrated database behind a proxy.
func proxied(t *testing.T) (proxy *enginetest.Proxy, proxiedURL string) {
	t.Helper()
	u, err := url.Parse(migrated(t))
	if err != nil {
		t.Fatal(err)
	}
	server := enginetest.SharedPostgres(t)
	proxy = enginetest.StartProxy(t, server.Socket())
	return proxy, server.TCPURL(proxy.Address(), strings.TrimPrefix(u.Path, "/"))
}

// A statement outside a transaction, whose answer is lost, returns a StaleError: the caller can look and run it again.
func TestSingleStatementWithoutAnAnswerIsStale(t *testing.T) {
	t.Parallel()
	proxy, url := proxied(t)
	e := open(t, postgres.Options{URL: url, Connections: 1})
	add := func(id string) error {
		n, err := e.Main().Once(t.Context(), "INSERT INTO kept_answer_subject (workspace_id, subject, claim, expires_at) VALUES ($1, $2, $3, 0)",
			id, []byte{1}, []byte{1})
		if err == nil && n != 1 {
			t.Errorf("%d rows", n)
		}
		return err
	}
	there := func(id string) (is bool) {
		t.Helper()
		err := e.Main().In(t.Context()).QueryRow(t.Context(), "SELECT EXISTS (SELECT 1 FROM kept_answer_subject WHERE workspace_id = $1)", id).Scan(&is)
		if err != nil {
			t.Error(err)
		}
		return is
	}
	if err := add("wsp_first"); err != nil || !there("wsp_first") {
		t.Fatal(err)
	}
	for id, cut := range map[string]func(string) <-chan struct{}{"wsp_before": proxy.CutBefore, "wsp_after": proxy.CutAfter} {
		done := cut(id)
		err := add(id)
		<-done
		if _, stale := errors.AsType[*unit.StaleError](err); !stale {
			t.Errorf("%s: got %v, want a StaleError", id, err)
		}
		wantUnavailable(t, err)
		if is := there(id); is != (id == "wsp_after") {
			t.Errorf("%s: there: %v", id, is)
		}
	}
	if err := add("wsp_first"); err == nil {
		t.Error("a row twice")
	} else if _, stale := errors.AsType[*unit.StaleError](err); stale {
		t.Errorf("a row twice is the statement's own fault: %v", err)
	}
	if err := add("wsp_last"); err != nil {
		t.Error(err)
	}
	err := e.Main().Run(t.Context(), func(ctx context.Context) error {
		_, err := e.Main().Once(ctx, "DELETE FROM kept_answer_subject")
		return errors.Join(err, errors.New("no"))
	})
	if err == nil || !there("wsp_last") {
		t.Errorf("in a transaction, it is rolled back with it: %v", err)
	}
}

func TestReadsOutsideTransactionsCannotWrite(t *testing.T) {
	t.Parallel()
	e := open(t, postgres.Options{URL: migrated(t)})
	if _, err := e.Main().In(t.Context()).Exec(t.Context(), "DELETE FROM workspace"); err == nil {
		t.Error("it wrote")
	}
}

func TestPanicReleasesTheConnection(t *testing.T) {
	t.Parallel()
	s := store.New(open(t, postgres.Options{URL: migrated(t), Connections: 1}))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was lost")
			}
		}()
		_ = s.Run(t.Context(), func(ctx context.Context) error {
			_ = s.Accounts.CreateWorkspace(ctx, workspace("wsp_a"))
			panic("no")
		})
	}()
	if err := s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_b")); err != nil {
		t.Error(err)
	}
	wantWorkspaces(t, s, "wsp_b")
}

func TestClosedEngineRefusesCalls(t *testing.T) {
	t.Parallel()
	e := open(t, postgres.Options{URL: migrated(t)})
	s := store.New(e)
	begun, goOn := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- s.Run(context.WithoutCancel(t.Context()), func(ctx context.Context) error {
			close(begun)
			<-goOn
			return s.Accounts.CreateWorkspace(ctx, workspace("wsp_a"))
		})
	}()
	<-begun
	closed := make(chan error)
	go func() { closed <- e.Close() }()
	await.Until(t, "it is being closed", func() bool {
		_, err := s.Accounts.Workspaces(t.Context())
		if err != nil {
			wantUnavailable(t, err)
		}
		return err != nil
	})
	close(goOn)
	if err := <-done; err != nil {
		t.Errorf("a unit that had begun: %v", err)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	wantUnavailable(t, s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_b")))
}

// The stored response shows whether the transaction was committed.
func TestCommitWithoutAnAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	for name, happened := range map[string]bool{"AfterItWasCarriedOut": true, "BeforeTheServerHeardOfIt": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, url := proxied(t)
			s := store.New(open(t, postgres.Options{URL: url}))
			answer := &idempotency.Answer{Claim: [32]byte{1}, Status: 201, CreatedAt: at, ExpiresAt: at.Add(time.Hour)}
			ran, after := 0, 0
			create := func() error {
				return s.Run(t.Context(), func(ctx context.Context) error {
					ran++
					unit.AfterCommit(ctx, func() { after++ })
					if err := s.Accounts.CreateWorkspace(ctx, workspace(fmt.Sprintf("wsp_%d", ran))); err != nil {
						return err
					}
					return s.Idempotency.KeepAnswer(ctx, answer)
				})
			}
			cut := proxy.CutBefore("COMMIT\x00")
			if happened {
				cut = proxy.CutAfter("COMMIT\x00")
			}
			wantUnavailable(t, create())
			<-cut
			if ran != 1 || after != 0 {
				t.Errorf("it ran %d times with %d hooks, want once and none", ran, after)
			}
			kept, err := s.Idempotency.KeptAnswer(t.Context(), answer.Claim, at)
			if err != nil || (kept != nil) != happened {
				t.Fatalf("the kept answer: %v, error %v", kept, err)
			}
			// The client repeats its request.
			if err := create(); happened && !errors.Is(err, idempotency.ErrAnswered) || !happened && err != nil {
				t.Errorf("the retry returned %v", err)
			}
			want := []string{"wsp_2"}
			if happened {
				want = []string{"wsp_1"}
			}
			wantWorkspaces(t, s, want...)
		})
	}
}

// ledger records which writes of concurrent writers were acknowledged.
type ledger struct {
	mu        sync.Mutex
	kept      map[string]bool // acknowledged
	refused   map[string]bool // nothing was promised
	succeeded chan struct{}   // receives after each acknowledged write
	all       sync.WaitGroup
	stop      context.CancelFunc
}

func write(t *testing.T, s *store.Store, writers int) *ledger {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	l := &ledger{kept: map[string]bool{}, refused: map[string]bool{}, succeeded: make(chan struct{}, 1), stop: stop}
	t.Cleanup(func() { stop(); l.all.Wait() })
	for w := range writers {
		l.all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("wsp_%d_%d", w, i)
				err := s.Accounts.CreateWorkspace(context.WithoutCancel(ctx), workspace(id))
				l.note(t, id, err)
				if err != nil {
					time.Sleep(5 * time.Millisecond) // as a client would
				}
			}
		})
	}
	return l
}

func (l *ledger) note(t *testing.T, id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		wantUnavailable(t, err)
		l.refused[id] = true
		return
	}
	l.kept[id] = true
	select {
	case l.succeeded <- struct{}{}:
	default:
	}
}

// goesOn waits until a write is acknowledged that began after the call.
func (l *ledger) goesOn(t *testing.T) {
	t.Helper()
	for range 20 { // the first write may have begun before
		await.Receive(t, "a write is acknowledged", l.succeeded)
	}
}

// check stops the writers and compares.
func (l *ledger) check(t *testing.T, s *store.Store) {
	t.Helper()
	l.stop()
	l.all.Wait()
	list, err := s.Accounts.Workspaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for _, w := range list {
		there[w.ID] = true
		if !l.kept[w.ID] && !l.refused[w.ID] {
			t.Errorf("%s exists, but was not written", w.ID)
		}
	}
	for id := range l.kept {
		if !there[id] {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	if len(l.kept) == 0 || len(l.refused) == 0 {
		t.Errorf("%d acknowledged, %d refused: the fault was not met", len(l.kept), len(l.refused))
	}
	t.Logf("%d acknowledged, %d refused or undecided", len(l.kept), len(l.refused))
}

func TestRestartedServerLosesNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{Fsync: true})
	s := store.New(open(t, postgres.Options{URL: server.Database(t)}))
	l := write(t, s, 16)
	stops := []func(testing.TB){server.StopImmediately, server.Stop, server.StopImmediately}
	for _, stop := range stops[:testtier.Rounds(1, len(stops))] {
		l.goesOn(t)
		stop(t)
		if err := s.Ready(t.Context()); err == nil {
			t.Error("it is ready without a server")
		}
		server.Start(t)
		l.goesOn(t)
	}
	l.check(t, s)
}

func TestStandbyIsRefusedUntilItIsPromoted(t *testing.T) {
	testtier.Long(t, "starts a server of its own three times")
	t.Parallel()
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	url := server.Database(t)
	s := store.New(open(t, postgres.Options{URL: url}))
	if err := s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_a")); err != nil {
		t.Fatal(err)
	}
	server.Stop(t)
	server.StartAsStandby(t)
	wantRefused(t, postgres.Options{URL: url}, "standby", "name the primary")
	wantUnavailable(t, s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_b")))
	_, err := s.Accounts.Workspaces(t.Context()) // the connections may be older
	wantUnavailable(t, err)
	server.Exec(t, "SELECT pg_promote()")
	if err := s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_c")); err != nil {
		t.Error(err)
	}
	wantWorkspaces(t, s, "wsp_a", "wsp_c")
}

func TestSilentServerRefusesRequestsAtOnce(t *testing.T) {
	testtier.Long(t, "pauses a server of its own; TestSilentServerReleasesWaiters is quicker")
	t.Parallel()
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	e := open(t, postgres.Options{URL: server.Database(t), Answer: time.Second, Connections: 4})
	s := store.New(e)
	l := write(t, s, 16)
	l.goesOn(t)
	server.Pause(t)
	await.Until(t, "the engine notices it", func() bool { return postgres.Down(e) })
	l.stop()
	l.all.Wait() // all waiters return
	before := postgres.Acquisitions(e)
	for range 100 {
		err := s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_never"))
		wantUnavailable(t, err)
		if !errors.Is(err, postgres.ErrDown) {
			t.Fatalf("got %v, want the error of a server that is down", err)
		}
	}
	if n := postgres.Acquisitions(e) - before; n > 0 {
		t.Errorf("%d of 100 units waited for a connection", n)
	}
	if err := s.Ready(t.Context()); err == nil {
		t.Error("it is ready with a silent server")
	}
	server.Resume(t)
	await.Until(t, "writes are taken again", func() bool { return s.Run(t.Context(), nothing) == nil })
	l.check(t, s)
}

func nothing(context.Context) error { return nil }

// No new request comes that would detect the silence. Waiters return all the same: in a transaction, in a read and for
// a connection.
func TestSilentServerReleasesWaiters(t *testing.T) {
	t.Parallel()
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	s := store.New(open(t, postgres.Options{
		URL: server.Database(t), Answer: time.Second, Connections: 2,
		Acquire: time.Hour, Statement: time.Hour, Unit: time.Hour, Commit: time.Hour,
	}))
	if err := s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_a")); err != nil {
		t.Fatal(err)
	}
	committing := make(chan struct{})
	paused := sync.OnceFunc(func() { close(committing) })
	var all sync.WaitGroup
	all.Go(func() {
		defer paused() // also if the transaction is refused before
		wantUnavailable(t, s.Run(t.Context(), func(ctx context.Context) error {
			if err := s.Accounts.CreateWorkspace(ctx, workspace("wsp_b")); err != nil {
				return err
			}
			server.Pause(t)
			paused()
			return nil
		}))
	})
	<-committing
	for i := range 6 {
		all.Go(func() {
			wantUnavailable(t, s.Accounts.CreateWorkspace(t.Context(), workspace(fmt.Sprintf("wsp_c%d", i))))
		})
		all.Go(func() {
			_, err := s.Accounts.Workspaces(t.Context())
			wantUnavailable(t, err)
		})
	}
	gone := make(chan struct{})
	go func() { all.Wait(); close(gone) }()
	await.Receive(t, "all who wait are let go while the server is silent", gone)
	server.Resume(t)
	await.Until(t, "writes are taken again", func() bool {
		return s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_d")) == nil
	})
}
