package api_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

// ending returns a surface whose only operation calls end.
func ending(t *testing.T, end func(ctx context.Context) error) *bundle {
	t.Helper()
	b := &bundle{t: t, clock: &apitest.Clock{}}
	b.Place = apitest.New(b.clock.Now, apitest.Tiers())
	r := endpoint.NewRegistry()
	type out struct {
		Body struct{}
	}
	for path, class := range map[string]endpoint.Class{"small": endpoint.Small, "batch": endpoint.Batch} {
		op := endpoint.Operation{
			ID: path, Method: "GET", Path: "/" + path, Since: 1, Tag: "t", Summary: "t", Status: 200, Credentials: endpoint.Key, Class: class,
		}
		endpoint.Add(r, op, func(ctx context.Context, _ *struct{}) (*out, error) { return &out{}, end(ctx) })
	}
	b.handler = apitest.Surface(b.Options(r))
	return b
}

func perMinute(n int64) func(*apikey.APIKey) {
	return func(k *apikey.APIKey) { k.RequestsPerMinute = &n }
}

// Of sixty clients that hang up on requests that take long, under a limit of twenty, twenty are served and pay.
func TestAClientThatHangsUpIsCharged(t *testing.T) {
	t.Parallel()
	entered, ended := make(chan struct{}), make(chan struct{}, 1)
	b := ending(t, func(ctx context.Context) error {
		entered <- struct{}{}
		<-ctx.Done()
		return fmt.Errorf("search: %w", ctx.Err())
	})
	served := b.handler
	b.handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		served.ServeHTTP(w, r)
	})
	key := b.Key(apitest.Guest, auth.All, perMinute(20))
	addr := b.listen()
	hungUp := 0
	for range 60 {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /api/v1/small HTTP/1.1\r\nHost: a\r\nX-API-Key: %s\r\n\r\n", key)
		refused := make(chan int, 1)
		go func() {
			if resp, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil {
				refused <- resp.StatusCode
			}
		}()
		select {
		case <-entered:
			hungUp++
		case status := <-refused:
			if status != http.StatusTooManyRequests {
				t.Errorf("got %d, want 429", status)
			}
		}
		_ = conn.Close()
		<-ended
	}
	if hungUp != 20 {
		t.Errorf("%d requests were served under a limit of 20", hungUp)
	}
	b.handler = served
	a := b.do("GET", "/api/v1/nothing", "", "X-API-Key", b.Key(apitest.Guest, auth.All, nil))
	if left := number(t, a, "X-RateLimit-Remaining"); left != 580 {
		t.Errorf("the workspace has %d of 600 requests left, want 580", left)
	}
}

// An operation pays for the time of its class that it used up by itself, and not for waiting for a part of ours.
func TestTimeUsedUpByTheOperationIsCharged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func(err error) error
		cost int64
	}{
		"its own work":            {func(err error) error { return fmt.Errorf("search: %w", err) }, 1},
		"a driver's interruption": {func(error) error { return errors.New("interrupted") }, 1},
		"a wait for the database": {func(err error) error { return fmt.Errorf("write: %w", problem.Busy(err)) }, 0},
	} {
		for path, want := range map[string]time.Duration{"small": 10 * time.Second, "batch": 60 * time.Second} {
			t.Run(name+"/"+path, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					b := ending(t, func(ctx context.Context) error {
						if end, ok := ctx.Deadline(); !ok || time.Until(end) != want {
							t.Errorf("the operation has %s, want %s", time.Until(end), want)
						}
						<-ctx.Done()
						return c.end(ctx.Err())
					})
					key := b.Key(apitest.Guest, auth.All, perMinute(20))
					a := b.do("GET", "/api/v1/"+path, "", "X-API-Key", key).want(t, 503, "unavailable")
					if left := number(t, a, "X-RateLimit-Key-Remaining"); left != 20-c.cost {
						t.Errorf("the key has %d of 20 left, want %d", left, 20-c.cost)
					}
				})
			})
		}
	}
}

func TestAFaultOfOursCostsNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]error{
		"internal":    errors.New("a defect"),
		"unavailable": problem.NotAvailable("The database is away.", time.Second),
		"canceled":    fmt.Errorf("something of ours: %w", context.Canceled),
		"panic":       nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ending(t, func(context.Context) error {
				if fault == nil {
					panic("a defect")
				}
				return fault
			})
			key := b.Key(apitest.Guest, auth.All, perMinute(20))
			a := b.do("GET", "/api/v1/small", "", "X-API-Key", key)
			if left := number(t, a, "X-RateLimit-Key-Remaining"); a.StatusCode < 500 || left != 20 {
				t.Errorf("got %d with %d of 20 left, want 5xx and 20", a.StatusCode, left)
			}
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			a = b.send(request("GET", "/api/v1/small", "", "X-API-Key", key).WithContext(gone))
			if left := number(t, a, "X-RateLimit-Key-Remaining"); left != 19 {
				t.Errorf("a client that had gone left %d of 20, want 19", left)
			}
		})
	}
}
