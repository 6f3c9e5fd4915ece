package backend

import (
	"bytes"
	"context"
	"runtime/pprof"
	"runtime/trace"
	"slices"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/web/endpoint"
)

// AddProfiles declares /debug/pprof/, which `go tool pprof` reads. wait waits until a time has passed or ctx ends.
func AddProfiles(r *endpoint.Registry, wait func(ctx context.Context, d time.Duration) error) {
	op := endpoint.Operation{Method: "GET", Tag: "profiles", Status: 200, Uncharged: true}

	list := op
	list.ID, list.Path, list.Summary = "listProfiles", "/debug/pprof/", "List the profiles of the process"
	endpoint.Add(r, list, func(context.Context, *struct{}) (*profileList, error) {
		out := &profileList{}
		out.Body.Profiles = []string{"profile", "trace"}
		for _, p := range pprof.Profiles() {
			out.Body.Profiles = append(out.Body.Profiles, p.Name())
		}
		slices.Sort(out.Body.Profiles)
		return out, nil
	})

	snapshot := op
	snapshot.ID, snapshot.Path, snapshot.Summary = "getProfile", "/debug/pprof/{name}", "Get a profile of the process"
	snapshot.Errors = []string{problem.CodeNotFound}
	endpoint.Add(r, snapshot, func(_ context.Context, in *profileRequest) (*profile, error) { return in.profile() })

	cpu := op
	cpu.Class = endpoint.Stream // it takes longer than the time of other classes
	cpu.ID, cpu.Path, cpu.Summary = "getCPUProfile", "/debug/pprof/profile", "Record a CPU profile of the process"
	cpu.Errors = []string{problem.CodeConflict}
	endpoint.Add(r, cpu, func(ctx context.Context, in *cpuProfileRequest) (*profile, error) {
		var body bytes.Buffer
		if err := pprof.StartCPUProfile(&body); err != nil {
			return nil, errProfiling
		}
		err := wait(ctx, time.Duration(in.Seconds)*time.Second)
		pprof.StopCPUProfile()
		return &profile{Raw: body.Bytes()}, err
	})

	execution := cpu
	execution.ID, execution.Path, execution.Summary = "getExecutionTrace", "/debug/pprof/trace", "Record an execution trace of the process"
	endpoint.Add(r, execution, func(ctx context.Context, in *traceRequest) (*profile, error) {
		var body bytes.Buffer
		if err := trace.Start(&body); err != nil {
			return nil, errProfiling
		}
		err := wait(ctx, time.Duration(in.Seconds)*time.Second)
		trace.Stop()
		return &profile{Raw: body.Bytes()}, err
	})
}

var errProfiling = problem.New(problem.Conflict, problem.CodeConflict, "A profile of this kind is being recorded; try again when it is done.")

type profileList struct {
	Body struct {
		Profiles []string `json:"profiles"`
	}
}

type profileRequest struct {
	Name  string `path:"name"`
	Debug int    `query:"debug" minimum:"0" maximum:"2" doc:"0 for the format of pprof, 1 for text, 2 for stacks like those of a crash."`
}

type cpuProfileRequest struct {
	Seconds int `query:"seconds" default:"30" minimum:"1" maximum:"300"`
}

type traceRequest struct {
	Seconds int `query:"seconds" default:"1" minimum:"1" maximum:"60"`
}

type profile struct {
	ContentType string `header:"Content-Type"` // if it is text
	Raw         []byte `media:"application/octet-stream"`
}

func (in *profileRequest) profile() (*profile, error) {
	p := pprof.Lookup(in.Name)
	if p == nil {
		return nil, problem.Missing()
	}
	var body bytes.Buffer
	if err := p.WriteTo(&body, in.Debug); err != nil {
		return nil, err
	}
	out := &profile{Raw: body.Bytes()}
	if in.Debug > 0 {
		out.ContentType = "text/plain; charset=utf-8"
	}
	return out, nil
}
