// Package backend is the surface of the backend listener: probes.
package backend

import (
	"context"
	"strings"
	"time"

	"keepsake/internal/api"
	"keepsake/internal/endpoint"
	"keepsake/internal/problem"
	"keepsake/internal/usage"
)

// Probes is what /livez and /readyz report.
type Probes struct {
	// Checks are the parts that must work for the process to be ready.
	Checks []Check
	// Stopping reports that the process is shutting down, and so not ready. Can be nil.
	Stopping func() bool
	// Metrics returns what /metrics serves. Can be nil.
	Metrics func(ctx context.Context) []byte
}

// Check is a part of the process that can fail.
type Check struct {
	Name string // storage, index, usage
	Err  func(ctx context.Context) error
	// Optional means that requests are served without the part. Readiness then reports degraded.
	Optional bool
}

// New returns the surface. It ignores the options of the API's operations, because probes need no credential.
func New(o api.Options, p Probes) (*api.API, error) {
	o.Surface = usage.Backend
	o.Operations = p.operations()
	o.Document, o.Keys, o.Operator, o.Replays, o.Origins = nil, nil, nil, nil, nil
	return api.New(o)
}

func (p *Probes) operations() *endpoint.Registry {
	r := endpoint.NewRegistry()
	probe := endpoint.Operation{Method: "GET", Tag: "probes", Status: 200, Uncharged: true, Vital: true}

	live := probe
	live.ID, live.Path, live.Summary = "livez", "/livez", "Check whether the process is alive"
	endpoint.Add(r, live, func(context.Context, *struct{}) (*liveAnswer, error) {
		out := &liveAnswer{}
		out.Body.Status = "alive"
		return out, nil
	})

	ready := probe
	ready.ID, ready.Path, ready.Summary = "readyz", "/readyz", "Check whether the process can serve requests"
	ready.Errors = []string{problem.CodeUnavailable}
	endpoint.Add(r, ready, p.ready)
	if p.Metrics != nil {
		AddMetrics(r, p.Metrics)
	}
	return r
}

type liveAnswer struct {
	Body struct {
		Status string `json:"status"`
	}
}

type readyAnswer struct {
	Body struct {
		Status string            `json:"status"`
		Checks map[string]string `json:"checks"`
	}
}

// ready runs every check. The response names checks that failed; the log says why.
func (p *Probes) ready(ctx context.Context, _ *struct{}) (*readyAnswer, error) {
	if p.Stopping != nil && p.Stopping() {
		return nil, problem.NotAvailable("The process is shutting down.", time.Second)
	}
	out := &readyAnswer{}
	out.Body.Status, out.Body.Checks = "ready", map[string]string{}
	var failed []string
	var cause error
	for _, c := range p.Checks {
		err := c.Err(ctx)
		switch {
		case err == nil:
			out.Body.Checks[c.Name] = "ok"
		case c.Optional:
			out.Body.Checks[c.Name], out.Body.Status = "degraded", "degraded"
		default:
			failed, cause = append(failed, c.Name), err
		}
	}
	if failed != nil {
		return nil, problem.NotAvailable("Not ready: "+strings.Join(failed, ", ")+".", time.Second).Because(cause)
	}
	return out, nil
}
