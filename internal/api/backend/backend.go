// Package backend is the surface for those who run Keepsake: probes, on a listener of its own.
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

// Probes is what the answers of /livez and /readyz follow from.
type Probes struct {
	// Checks are the parts that must work for the process to be ready.
	Checks []Check
	// Stopping reports that the process is going down; it is then not ready, whatever works. nil: it never is.
	Stopping func() bool
}

// Check is one part of the process.
type Check struct {
	Name string // storage, index, usage
	Err  func(ctx context.Context) error
	// Spare says that requests are served without the part: readiness then tells that it is degraded, and stays.
	Spare bool
}

// New makes the surface. It reads of o what is not its own: Versions, Addresses, Usage, Log, Now and the proxies; the
// operations are the probes, and nobody needs a key for them.
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
	live.ID, live.Path, live.Summary = "livez", "/livez", "Ask whether the process lives"
	endpoint.Add(r, live, func(context.Context, *struct{}) (*liveAnswer, error) {
		out := &liveAnswer{}
		out.Body.Status = "alive"
		return out, nil
	})

	ready := probe
	ready.ID, ready.Path, ready.Summary = "readyz", "/readyz", "Ask whether the process can serve requests"
	ready.Errors = []string{problem.CodeUnavailable}
	endpoint.Add(r, ready, p.ready)
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

// ready asks every part. The names of those that fail are public here, why they fail is for the log.
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
		case c.Spare:
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
