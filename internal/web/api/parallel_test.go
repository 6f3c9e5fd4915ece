package api_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"keepsake/internal/govern/auth"
	"keepsake/internal/testing/await"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

// Exchanges are used again: no answer may show anything of another request.
func TestManyAtOnceSeeOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	scopes := []auth.Scopes{auth.Read, auth.Write, auth.Admin, auth.MemoryRead | auth.Write}
	keys := make([]string, len(scopes))
	for i, s := range scopes {
		keys[i] = b.Key(apitest.Operator, s, nil)
	}
	var running sync.WaitGroup
	for g := range 16 {
		running.Go(func() {
			for i := range 200 {
				id := fmt.Sprintf("request-%d-%d", g, i)
				at := (g + i) % len(scopes)
				path, status := "/api/v1/ping", 200
				switch i % 4 {
				case 1:
					path, status = "/api/v1/panics", 500
				case 2:
					path, status = "/api/v1/nothing", 404
				}
				a := b.do("GET", path, "", "X-API-Key", keys[at], "X-Request-Id", id)
				if a.StatusCode != status || a.Header.Get("X-Request-Id") != id || status != 200 && a.object["requestId"] != id {
					t.Errorf("%s got %d with id %s and %s", id, a.StatusCode, a.Header.Get("X-Request-Id"), a.text)
				}
				if status == 200 && a.object["scopes"] != scopes[at].String() {
					t.Errorf("%s got %s, want the scopes %s", id, a.text, scopes[at])
				}
				if stranger := b.do("GET", "/api/open", ""); stranger.Header.Get("X-RateLimit-Key-Limit") != "" || stranger.Header.Get("Cache-Control") != "" {
					t.Errorf("a stranger got %v", stranger.Header)
				}
			}
		})
	}
	running.Wait()
}

// A driver may keep looking at a context after its request: it must find the same one, and find it ended.
func TestAContextOutlivesItsRequest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var kept context.Context
	type nothing struct{}
	type gone struct{ Body struct{} }
	r := endpoint.NewRegistry()
	endpoint.Add(r, endpoint.Operation{
		ID: "keep", Method: "GET", Path: "/keep", Since: 1, Tag: "notes", Summary: "Test", Credentials: endpoint.Key, Status: 200,
	}, func(ctx context.Context, _ *nothing) (*gone, error) {
		kept = ctx
		return &gone{}, nil
	})
	b.handler = apitest.Surface(b.Options(r))
	connection, closed := context.WithCancel(context.Background())
	first := b.send(request("GET", "/api/v1/keep", "", "X-API-Key", b.Key(apitest.Operator, auth.Read, nil)).WithContext(connection)).want(t, 200, "")
	old := kept
	closed() // as the server does when the answer is out
	b.do("GET", "/api/v1/keep", "", "X-API-Key", b.Key(apitest.Operator, auth.Admin, nil)).want(t, 200, "")
	if got := endpoint.RequestOf(old).RequestID(); got != first.Header.Get("X-Request-Id") {
		t.Errorf("the old context has the id %s, its request had %s", got, first.Header.Get("X-Request-Id"))
	}
	if got := auth.From(old).Scopes; got != auth.Read {
		t.Errorf("the old context has the scopes %s, its request had read", got)
	}
	await.Receive(t, "the old context ends", old.Done())
}
