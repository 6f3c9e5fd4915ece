package api_test

import (
	"context"
	"net/http"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/api/apitest"
	v1 "keepsake/internal/api/v1"
	"keepsake/internal/endpoint"
	"keepsake/internal/limit"
)

// nowhere is a ResponseWriter whose header map lives on, as a connection's buffers do.
type nowhere struct {
	header http.Header
	status int
}

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (w *nowhere) WriteHeader(status int)      { w.status = status }

// cpuTime is what this process has used of a processor: unlike the clock, it does not tell what else a machine is doing.
func cpuTime() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// The governed part of a request without the socket: with 100,000 live keys, request id included, logging off.
func BenchmarkGovernedHealth(b *testing.B) {
	tiers := limit.Tiers()
	tiers[4].RequestsPerMinute, tiers[4].Daily, tiers[4].Monthly = 1e10, 1e11, 1e11 // more than a benchmark can use
	p := apitest.New(time.Now, tiers)
	key := p.Fill(100_000)
	r := endpoint.NewRegistry()
	v1.AddHealth(r, &v1.Health{Storage: func(context.Context) error { return nil }})
	h := apitest.Surface(p.Options(r))
	request, _ := http.NewRequest("GET", "/api/v1/health", http.NoBody)
	request.RemoteAddr = "127.0.0.1:40000"
	request.Header.Set("X-Api-Key", key)
	w := &nowhere{header: http.Header{}}
	b.ReportAllocs()
	before := cpuTime()
	for b.Loop() {
		h.ServeHTTP(w, request)
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
	if w.status != http.StatusOK {
		b.Fatalf("status %d, want 200", w.status)
	}
}
