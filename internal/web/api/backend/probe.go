package backend

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"keepsake/internal/base/problem"
	"keepsake/internal/web/endpoint"
)

// Probes is what /livez and /readyz report.
type Probes struct {
	// Checks are the parts that must work for the process to be ready.
	Checks []Check
	// Stopping reports that the process is shutting down, and so not ready. Can be nil.
	Stopping func() bool
	Log      *slog.Logger

	mu     sync.Mutex
	logged string // the failed checks that were logged last
}

// Check is a part of the process that can fail.
type Check struct {
	Name string // storage, index, usage
	Run  func(ctx context.Context) (Measured, error)
	// Optional means that requests are served without the part. Readiness then reports degraded.
	Optional bool
}

// Measured are the numbers of a check. Those that it did not measure are nil.
type Measured struct {
	Off bool `json:"-"` // the instance does not have the part

	Milliseconds     *float64 `json:"ms,omitzero" doc:"The time in milliseconds that the part took to answer."`                                                            // that the part took to answer
	ChangesBehind    *int64   `json:"changesBehind,omitzero" doc:"The number of changes of documents that indexes do not contain yet."`                                    // changes of documents that indexes do not have yet
	MaxChangesBehind *int64   `json:"maxChangesBehind,omitzero" doc:"The number of changes behind from which the check fails."`                                            // from which the check fails
	IndexesBuilding  *int64   `json:"indexesBuilding,omitzero" doc:"The number of indexes that are being built. Nothing but searches of their workspaces waits for them."` // indexes that are being built
	DatabaseOffsetMs *int64   `json:"databaseOffsetMs,omitzero" doc:"The clock of this machine minus the database's, in milliseconds."`                                    // the clock of this machine minus the database's
	RedisOffsetMs    *int64   `json:"redisOffsetMs,omitzero" doc:"The clock of this machine minus that of Redis, in milliseconds."`                                        // the same for Redis
	MaxOffsetMs      *int64   `json:"maxOffsetMs,omitzero" doc:"The offset in milliseconds, in either direction, from which the check fails."`                             // from which the check fails
	FreeBytes        *int64   `json:"freeBytes,omitzero" doc:"The free space in bytes of the disk with the data folder."`                                                  // of the disk with the data folder
	MinFreeBytes     *int64   `json:"minFreeBytes,omitzero" doc:"The free space in bytes below which the check fails."`                                                    // below which the check fails
	WALBytes         *int64   `json:"walBytes,omitzero" doc:"The size in bytes of the largest write-ahead log of a SQLite file."`                                          // size of the largest write-ahead log of a SQLite file
	MaxWALBytes      *int64   `json:"maxWalBytes,omitzero" doc:"The size in bytes of the write-ahead log above which the check fails."`                                    // above which the check fails
}

// AddProbes declares /livez and /readyz.
func AddProbes(r *endpoint.Registry, p *Probes) {
	probe := endpoint.Operation{Method: "GET", Tag: "probes", Status: 200, Uncharged: true, Probe: true, Vital: true}

	live := probe
	live.ID, live.Path, live.Summary = "livez", "/livez", "Check whether the process is alive"
	live.Description = "The process answers as long as it runs, whatever the state of its parts. If it does not answer, restart it."
	endpoint.Add(r, live, func(context.Context, *struct{}) (*liveAnswer, error) {
		out := &liveAnswer{}
		out.Body.Status = "alive"
		return out, nil
	})

	ready := probe
	ready.ID, ready.Path, ready.Summary = "readyz", "/readyz", "Check whether the process can serve requests"
	ready.Description = "If a part that requests need does not work, or the process is shutting down, the response is 503."
	ready.Errors = []string{problem.CodeUnavailable}
	endpoint.Add(r, ready, p.ready)
}

type liveAnswer struct {
	Body struct {
		Status string `json:"status" doc:"The value is always alive."`
	}
}

type readyAnswer struct {
	Status     int    `enum:"200,503"`
	RetryAfter string `header:"Retry-After"`
	Body       readiness
}

// readiness is also an error body if the process is not ready.
type readiness struct {
	Error     string               `json:"error,omitzero" doc:"The machine-readable code of the error. It is absent unless the process is not ready."`
	Message   string               `json:"message,omitzero" doc:"The message for people, which names the parts that failed. It is absent unless the process is not ready."`
	RequestID string               `json:"requestId,omitzero" doc:"The ID of the request, as in X-Request-Id. It is absent unless the process is not ready."`
	Status    string               `json:"status" enum:"ready,degraded,unavailable" doc:"Whether the process is ready. It is degraded if requests are served without a part."`
	Checks    map[string]probeView `json:"checks" doc:"The parts of the process by name, each with the numbers that its check measured. It is empty while the process shuts down."`
}

type probeView struct {
	Status string `json:"status" enum:"ok,degraded,failed,off" doc:"The state of the part. Requests are served without a part that is degraded. A part that failed makes the process not ready. The instance does not have a part that is off."`
	Measured
}

// The results of a check.
const (
	statusOK       = "ok"
	statusDegraded = "degraded"
	statusFailed   = "failed"
	statusOff      = "off"
)

// status runs the check.
func (c *Check) status(ctx context.Context) (status string, m Measured, err error) {
	m, err = c.Run(ctx)
	switch {
	case err == nil && m.Off:
		return statusOff, m, nil
	case err == nil:
		return statusOK, m, nil
	case c.Optional:
		return statusDegraded, m, err
	default:
		return statusFailed, m, err
	}
}

// Status runs the check, and returns ok, degraded, failed or off.
func (c *Check) Status(ctx context.Context) (status string, m Measured) {
	status, m, _ = c.status(ctx)
	return status, m
}

// ready runs every check. The response names checks that failed; the log says why.
func (p *Probes) ready(ctx context.Context, _ *struct{}) (*readyAnswer, error) {
	out := &readyAnswer{}
	out.Body.Status, out.Body.Checks = "ready", map[string]probeView{}
	if p.Stopping != nil && p.Stopping() {
		out.unavailable(ctx, "The process is shutting down.")
		return out, nil
	}
	failed := map[string]error{}
	var required []string
	for _, c := range p.Checks {
		status, measured, err := c.status(ctx)
		switch status {
		case statusDegraded:
			out.Body.Status, failed[c.Name] = statusDegraded, err
		case statusFailed:
			failed[c.Name] = err
			required = append(required, c.Name)
		}
		out.Body.Checks[c.Name] = probeView{status, measured}
	}
	p.note(ctx, failed)
	if required != nil {
		out.unavailable(ctx, "Not ready: "+strings.Join(required, ", ")+".")
	}
	return out, nil
}

// unavailable makes the response an error.
func (a *readyAnswer) unavailable(ctx context.Context, message string) {
	a.Status, a.RetryAfter = 503, strconv.Itoa(1)
	a.Body.Status, a.Body.Error, a.Body.Message = "unavailable", problem.CodeUnavailable, message
	a.Body.RequestID = endpoint.RequestOf(ctx).RequestID()
}

// note logs the failed checks, unless the same ones failed the last time: probes come each second.
func (p *Probes) note(ctx context.Context, failed map[string]error) {
	names := slices.Sorted(maps.Keys(failed))
	text := strings.Join(names, ", ")
	p.mu.Lock()
	changed := text != p.logged
	p.logged = text
	p.mu.Unlock()
	switch {
	case !changed || p.Log == nil:
	case text == "":
		p.Log.InfoContext(ctx, "readiness checks succeeded again")
	default:
		attributes := make([]any, 0, len(names))
		for _, name := range names {
			attributes = append(attributes, slog.String(name, failed[name].Error()))
		}
		p.Log.WarnContext(ctx, "readiness checks failed", attributes...)
	}
}
