package api

import (
	"net/http"
	"net/url"
	"strconv"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/usage"
	"keepsake/internal/web/endpoint"
)

// negotiate finds the version that serves the request: the path's, else that of Accept-Version, else the current one. If it
// returns a problem, the version is that of its response.
func (x *received) negotiate() (*routed, *problem.Problem) {
	rt := &x.exchange.routed
	rt.received, rt.route, rt.snapshot = x, &noRoute, x.api.o.Versions.Snapshot()
	rt.serveWith(rt.snapshot.Current())
	if x.api.o.Surface == usage.Primary {
		if number, named := lifecycle.InPath(x.r.URL.Path); named {
			rt.inPath = true
			return rt, rt.choose(number, errVersionNotFound)
		}
	}
	sent := x.r.Header["Accept-Version"]
	if len(sent) == 0 {
		return rt, nil
	}
	number, ok := lifecycle.ParseAccept(sent[0])
	if !ok || len(sent) > 1 {
		return rt, errAcceptVersion
	}
	return rt, rt.choose(number, errAcceptVersion)
}

// choose selects a version by number. unknown is the problem of a version that does not exist, or no longer.
func (x *routed) choose(number int, unknown *problem.Problem) *problem.Problem {
	v := x.snapshot.Version(number)
	if v == nil {
		return unknown
	}
	if v == x.version && v.Live(x.at) {
		return nil
	}
	if !v.Live(x.at) {
		if v.At(x.at) == lifecycle.Retired {
			return unknown
		}
		if !x.describes(v) {
			return x.sunset(v)
		}
	}
	x.serveWith(v)
	return nil
}

// rehearse refuses a key that tests a migration as if the version were already sunset. It returns the key with the problem. If
// there is no problem, the operation decides whether it accepts a key.
func (x *routed) rehearse() (*caller, *problem.Problem) {
	v := x.version
	if rt, _ := x.table.find(x.r); rt != nil && rt.op != nil && rt.op.Judging {
		return nil, nil // the key calls another service
	}
	who, err := x.identify(endpoint.Key)
	if err != nil || who.live.Principal.Kind != auth.APIKey || !x.snapshot.Rehearses(v.Number, who.live.Principal.Key, x.at) || x.describes(v) {
		return nil, nil
	}
	x.serveWith(x.snapshot.Current())
	return who, x.sunset(v)
}

// describes reports whether the request is for a version's description, which stays after the version has ended.
func (x *routed) describes(v *lifecycle.Version) bool {
	return x.inPath && x.r.URL.Path == "/api/v"+strconv.Itoa(v.Number)+"/openapi.json"
}

// serveWith sets the version of the response.
func (x *routed) serveWith(v *lifecycle.Version) {
	t, err := x.api.table(v.Number)
	if err != nil {
		panic(err) // the code declares conflicting operations
	}
	x.version, x.table, x.ctx.number = v, t, v.Number
}

func (x *routed) sunset(v *lifecycle.Version) *problem.Problem {
	x.gone = v
	return problem.New(problem.Gone, problem.CodeVersionSunset, "Version "+strconv.Itoa(v.Number)+" of the API is no longer served.")
}

// goneBody is the body for a client of a sunset version.
func (x *routed) goneBody(p *problem.Problem) goneBody {
	b := goneBody{
		Error: p.Code, Message: p.Message, MigrationGuideURL: x.link(x.gone.Guide()),
		SunsetAt: string(wire.Chosen(x.gone.SunsetAt).Append(nil)), RequestID: x.ctx.RequestID(),
	}
	if next := x.snapshot.Replacement(x.gone.Number, x.at); next != nil {
		b.ReplacementVersion = strconv.Itoa(next.Number)
		b.Message += " Use version " + b.ReplacementVersion + "; the migration guide says what differs."
	}
	return b
}

// deprecation adds the headers of a deprecated version (§9.6).
func (x *routed) deprecation(h http.Header) {
	v := x.version
	if v.AnnouncedAt.IsZero() || v.At(x.at) != lifecycle.Deprecated {
		return
	}
	h["Deprecation"] = []string{"true"}
	h["Sunset"] = []string{v.SunsetAt.UTC().Format(http.TimeFormat)}
	links := []string{"<" + x.link(v.Guide()) + `>; rel="deprecation"`}
	if next := x.snapshot.Replacement(v.Number, x.at); next != nil {
		h["X-API-Replacement-Version"] = []string{strconv.Itoa(next.Number)}
		successor := url.URL{Path: x.r.URL.Path}
		if x.inPath {
			successor.Path = "/api/v" + strconv.Itoa(next.Number) + successor.Path[len("/api/v"+strconv.Itoa(v.Number)):]
		}
		target := successor.EscapedPath()
		if x.api.o.Surface == usage.Primary {
			target = x.link(target) // publicUrl is the address of the primary surface
		} else {
			target = x.api.base.Path(target)
		}
		links = append(links, "<"+target+`>; rel="successor-version"`)
	}
	h["Link"] = append(links, h["Link"]...)
}
