package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"keepsake/internal/api"
	"keepsake/internal/api/apitest"
	v1 "keepsake/internal/api/v1"
	"keepsake/internal/endpoint"
	"keepsake/internal/limit"
)

// liveKeys is how many keys the directory holds.
const liveKeys = 100_000

// place is a surface's ground with budgets that no measurement uses up.
func place() *apitest.Place {
	tiers := limit.Tiers()
	for i := range tiers {
		tiers[i].RequestsPerMinute, tiers[i].Daily, tiers[i].Monthly = 1e10, 1e11, 1e11
	}
	return apitest.New(time.Now, tiers)
}

// governed is the health check behind all that a request passes.
func governed() (h http.Handler, key string) {
	p := place()
	r := endpoint.NewRegistry()
	v1.AddHealth(r, &v1.Health{Storage: func(context.Context) error { return nil }})
	return apitest.Surface(p.Options(r)), p.Fill(liveKeys)
}

// measurePart measures the governed part alone: no socket, no log, the request id included.
func measurePart(contest) error {
	h, key := governed()
	ctx, err := connected(h)
	if err != nil {
		return err
	}
	r := httptest.NewRequest("GET", "/api/v1/health", nil).WithContext(ctx)
	r.Header.Set("X-Api-Key", key)
	w := &nowhere{header: http.Header{}}
	var cpu time.Duration
	result := testing.Benchmark(func(b *testing.B) {
		began := cpuTime()
		for b.Loop() {
			h.ServeHTTP(w, r)
		}
		cpu = (cpuTime() - began) / time.Duration(b.N)
	})
	if w.status != http.StatusOK {
		return fmt.Errorf("status %d", w.status)
	}
	fmt.Printf("\ngoverned GET /api/v1/health without the socket, %d live keys: %s CPU, %d allocations, %d bytes\n",
		liveKeys, cpu, result.AllocsPerOp(), result.AllocedBytesPerOp())
	return nil
}

// connected is the context of requests on a connection as the program accepts them; nothing is sent over it.
func connected(h http.Handler) (context.Context, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	if _, err := net.Dial("tcp", l.Addr().String()); err != nil {
		return nil, err
	}
	conn, err := api.LimitConnections(l, 1).Accept()
	if err != nil {
		return nil, err
	}
	return api.NewServer(h, slog.New(slog.DiscardHandler)).ConnContext(context.Background(), conn), nil
}

// nowhere is a ResponseWriter whose header map lives on.
type nowhere struct {
	header http.Header
	status int
}

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (w *nowhere) WriteHeader(status int)      { w.status = status }

// measureHealth compares with a handler that sends the same answer from constants, and with one that sends the body
// alone.
func measureHealth(c contest) error {
	h, key := governed()
	sent := request("GET", "/api/v1/health", "", "X-API-Key: "+key)

	header, body, err := sample(h, "GET", "/api/v1/health", "", key)
	if err != nil {
		return err
	}
	same := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		_, _ = w.Write(body)
	})
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	return c.run(fmt.Sprintf("GET /api/v1/health, %d live keys", liveKeys),
		side{"keepsake", h, sent}, side{"same body and headers", same, sent}, side{"body alone", bare, sent})
}

// sample is one answer of a handler, for others to send too.
func sample(h http.Handler, method, path, body, key string) (http.Header, []byte, error) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-Api-Key", key)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code >= http.StatusBadRequest {
		return nil, nil, fmt.Errorf("status %d: %s", w.Code, w.Body)
	}
	return w.Result().Header, w.Body.Bytes(), nil
}
