package v1

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/web/endpoint"
)

// Health checks parts of the process. A result is reused for a second, so that frequent checks are cheap.
type Health struct {
	Storage func(ctx context.Context) error   // if it fails, nothing works
	Parts   []func(ctx context.Context) error // if one fails, the service is degraded

	last     atomic.Pointer[finding]
	checking sync.Mutex
}

type finding struct {
	at       time.Time
	degraded bool
	down     error
}

// AddHealth declares the health check.
func AddHealth(r *endpoint.Registry, h *Health) {
	endpoint.Add(r, endpoint.Operation{
		ID: "health", Method: "GET", Path: "/health", Since: 1, Tag: "health", Summary: "Check the health of the service",
		Description: "The status is `degraded` if a part is missing, such as free disk space, but requests are still handled.",
		Credentials: endpoint.Key, Status: 200, Errors: []string{problem.CodeUnavailable}, Vital: true,
	}, func(ctx context.Context, _ *struct{}) (*healthAnswer, error) {
		request := endpoint.RequestOf(ctx)
		f := h.look(ctx, request.At())
		if f.down != nil {
			return nil, problem.NotAvailable("The database does not answer.", time.Second).Because(f.down)
		}
		status := "healthy"
		if f.degraded {
			status = "degraded"
		}
		return &healthAnswer{healthView{status, strconv.Itoa(request.APIVersion()), wire.At(request.At())}}, nil
	})
}

type healthAnswer struct{ Body healthView }

type healthView struct {
	Status    string    `json:"status" enum:"healthy,degraded" doc:"The state of the service. It is degraded if a part is missing but requests are still handled."`
	Version   string    `json:"version" doc:"The version of the API that handled the request." example:"1"`
	Timestamp wire.Time `json:"timestamp" doc:"The time at which the request arrived."`
}

// look returns the last result, or a new one if that is too old. One request checks; others do not wait.
func (h *Health) look(ctx context.Context, now time.Time) *finding {
	last := h.last.Load()
	if last != nil {
		age := now.Sub(last.at)
		if age >= 0 && age < time.Second || !h.checking.TryLock() {
			return last
		}
	} else {
		h.checking.Lock()
	}
	defer h.checking.Unlock()
	f := &finding{at: now, down: h.Storage(ctx)}
	for _, part := range h.Parts {
		if part(ctx) != nil {
			f.degraded = true
		}
	}
	if ctx.Err() == nil { // a cancelled check has no result
		h.last.Store(f)
	}
	return f
}
