package postgres_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/store"
	"keepsake/internal/store/cluster/postgres"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// member is a process that runs requests once. Their effects are workspaces.
type member struct {
	*idempotency.Service
	store  *store.Store
	claims *process
	cut    atomic.Bool // its claims cannot connect
}

func join(t *testing.T, url string) *member {
	t.Helper()
	s, engine := open(t, url)
	m := &member{store: s}
	ctx, cancel := context.WithCancel(context.Background())
	c := postgres.NewClaims(func(ctx context.Context) (*pgx.Conn, error) {
		if m.cut.Load() {
			return nil, errors.New("cut off")
		}
		return engine.Connect(ctx)
	}, slog.New(slog.DiscardHandler))
	c.SetTimeout(forever)
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	m.claims = &process{c, func() { cancel(); running.Wait() }}
	t.Cleanup(m.claims.die)
	m.Service = idempotency.NewService(m.store.Idempotency, m.store, []byte("secret"), time.Now)
	m.Among(c)
	return m
}

func (m *member) workspaces(t *testing.T) int {
	t.Helper()
	list, err := m.store.Accounts.Workspaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func (m *member) make(ctx context.Context, id string) (idempotency.Outcome, error) {
	err := m.store.Accounts.CreateWorkspace(ctx, &account.Workspace{ID: id, Name: id, Tier: "free", CreatedAt: time.Now()})
	return idempotency.Outcome{Status: 201, Body: []byte(id)}, err
}

func refused(p *problem.Problem) idempotency.Outcome {
	status := map[problem.Kind]int{problem.Conflict: 409, problem.Unavailable: 503}[p.Kind]
	return idempotency.Outcome{Status: status, Body: []byte(p.Code)}
}

var request = idempotency.Request{Credential: "key_1", Method: "POST", Path: "/things", Key: "a-key-of-a-client"}

// sending is how a request is sent: whole, or as a stream.
type sending func(m *member, id string, effect func()) (*idempotency.Answer, error)

var ways = map[string]sending{
	"Whole": func(m *member, id string, effect func()) (*idempotency.Answer, error) {
		body := m.BodyHash()
		io.WriteString(body, "body")
		return m.Do(context.Background(), request, body, idempotency.Work{Run: func(ctx context.Context) (idempotency.Outcome, error) {
			effect()
			return m.make(ctx, id)
		}, Refused: refused})
	},
	"Stream": func(m *member, id string, effect func()) (*idempotency.Answer, error) {
		return m.DoStream(context.Background(), request, strings.NewReader("body"), func(ctx context.Context, body io.Reader) (out idempotency.Outcome, err error) {
			effect()
			// The effect of a stream is harmless to repeat.
			out, err = m.make(ctx, "wsp_stream")
			if is(err, problem.CodeConflict) {
				err = nil
			}
			out.Body = []byte(id)
			return out, err
		}, refused)
	},
}

func is(err error, code string) bool {
	p, ok := problem.As(err)
	return ok && p.Code == code
}

func nothing() {}

func TestRunningRequestIsRefusedElsewhere(t *testing.T) {
	t.Parallel()
	for name, send := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t)
			a, b := join(t, url), join(t, url)
			began, end := make(chan struct{}), make(chan struct{})
			var first sync.WaitGroup
			first.Go(func() {
				if kept, err := send(a, "wsp_1", func() { close(began); <-end }); kept != nil || err != nil {
					t.Errorf("the first request: %v, %v", kept, err)
				}
			})
			<-began
			for range 3 {
				if _, err := send(b, "wsp_2", nothing); !is(err, problem.CodeIdempotencyRunning) {
					t.Errorf("while the first runs on another member: %v", err)
				}
			}
			close(end)
			first.Wait()
			for _, m := range []*member{b, a} {
				kept, err := send(m, "wsp_3", nothing)
				if err != nil || kept == nil || string(kept.Body) != "wsp_1" {
					t.Errorf("after it: %+v, %v, want the first answer", kept, err)
				}
			}
			if n := b.workspaces(t); n != 1 {
				t.Errorf("%d effects, want 1", n)
			}
		})
	}
}

func TestUnstoredResponseCanRunAnywhere(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	members := []*member{join(t, url), join(t, url)}
	passing := problem.NotAvailable("later", time.Second)
	for i := range testtier.Rounds(10, 50) {
		_, err := members[i%2].Do(t.Context(), request, members[i%2].BodyHash(), idempotency.Work{
			Run:     func(context.Context) (idempotency.Outcome, error) { return idempotency.Outcome{}, passing },
			Refused: refused,
		})
		if !errors.Is(err, passing) {
			t.Fatalf("try %d: %v, want it to run", i, err)
		}
	}
}

// The connection for claims is lost and does not return: both members run the request, and one stores its answer.
func TestSecondResponseRepeatsTheFirst(t *testing.T) {
	t.Parallel()
	for name, send := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := migrated(t)
			a, b := join(t, url), join(t, url)
			conn := watcher(t, url)
			var running sync.WaitGroup
			began, killed := make(chan struct{}), make(chan struct{})
			both := make(chan struct{}, 2)
			meet := sync.OnceFunc(func() { close(killed) })
			kept, errs := make([]*idempotency.Answer, 2), make([]error, 2)
			running.Go(func() {
				kept[0], errs[0] = send(a, "wsp_1", func() { close(began); both <- struct{}{}; <-killed })
			})
			<-began
			a.cut.Store(true)
			for _, pid := range holders(t, conn) {
				if _, err := conn.Exec(t.Context(), "SELECT pg_terminate_backend($1)", pid); err != nil {
					t.Fatal(err)
				}
			}
			await.Until(t, "the lock is gone", func() bool { return len(holders(t, conn)) == 0 })
			running.Go(func() {
				kept[1], errs[1] = send(b, "wsp_2", func() { both <- struct{}{}; <-killed })
			})
			await.Until(t, "both run", func() bool { return len(both) == 2 })
			meet()
			running.Wait()
			ran := 0
			for i, err := range errs {
				if err != nil {
					t.Errorf("member %d: %v", i, err)
				}
				if kept[i] == nil {
					ran++
				}
			}
			if n := b.workspaces(t); ran != 1 || n != 1 {
				t.Errorf("%d say that they ran, and there are %d effects; want 1 of each", ran, n)
			}
			again, err := send(b, "wsp_3", nothing)
			if err != nil || again == nil {
				t.Fatalf("the retry: %v, %v", again, err)
			}
			for i, k := range kept {
				if k != nil && string(k.Body) != string(again.Body) {
					t.Errorf("member %d repeats %q and later %q", i, k.Body, again.Body)
				}
			}
		})
	}
}

func TestManyMembersHaveOneEffect(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	members := []*member{join(t, url), join(t, url), join(t, url)}
	rounds := testtier.Rounds(3, 10)
	for round := range rounds {
		r := request
		r.Key = "a-key-of-round-" + string(rune('a'+round))
		var ran, replayed, told atomic.Int64
		var all sync.WaitGroup
		for i := range 60 {
			m := members[i%len(members)]
			all.Go(func() {
				kept, err := m.Do(context.Background(), r, m.BodyHash(), idempotency.Work{
					Run:     func(ctx context.Context) (idempotency.Outcome, error) { return m.make(ctx, "wsp_"+r.Key) },
					Refused: refused,
				})
				switch {
				case is(err, problem.CodeIdempotencyRunning):
					told.Add(1)
				case err != nil:
					t.Error(err)
				case kept != nil:
					replayed.Add(1)
				default:
					ran.Add(1)
				}
			})
		}
		all.Wait()
		if ran.Load() != 1 {
			t.Errorf("round %d: ran %d, replayed %d, told to wait %d", round, ran.Load(), replayed.Load(), told.Load())
		}
	}
	if n := members[0].workspaces(t); n != rounds {
		t.Errorf("%d effects, want %d", n, rounds)
	}
}
