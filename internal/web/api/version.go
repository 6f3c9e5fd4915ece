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
// returns a problem, x.version is the version of that response.
func (x *requestState) negotiate() *problem.Problem {
	x.snapshot = x.api.o.Versions.Snapshot()
	x.serveWith(x.snapshot.Current())
	if x.api.o.Surface == usage.Primary {
		if number, named := lifecycle.InPath(x.r.URL.Path); named {
			x.inPath = true
			return x.choose(number, errVersionNotFound)
		}
	}
	sent := x.r.Header["Accept-Version"]
	if len(sent) == 0 {
		return nil
	}
	number, ok := lifecycle.ParseAccept(sent[0])
	if !ok || len(sent) > 1 {
		return errAcceptVersion
	}
	return x.choose(number, errAcceptVersion)
}

// choose selects a version by number. unknown is the problem of a version that does not exist, or no longer.
func (x *requestState) choose(number int, unknown *problem.Problem) *problem.Problem {
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

// rehearse refuses a key that tests a migration as if the version were already sunset.
func (x *requestState) rehearse() *problem.Problem {
	v := x.version
	if rt, _ := x.table.find(x.r); rt != nil && rt.op != nil && rt.op.Judging {
		return nil // the key calls another service
	}
	if x.identify(endpoint.Key) == nil && x.principal.Kind == auth.APIKey && x.snapshot.Rehearses(v.Number, x.principal.Key, x.at) && !x.describes(v) {
		x.serveWith(x.snapshot.Current())
		return x.sunset(v)
	}
	x.forget() // the operation decides whether it accepts a key
	return nil
}

// describes reports whether the request is for a version's description, which stays after the version has ended.
func (x *requestState) describes(v *lifecycle.Version) bool {
	return x.inPath && x.r.URL.Path == "/api/v"+strconv.Itoa(v.Number)+"/openapi.json"
}

// serveWith sets the version of the response.
func (x *requestState) serveWith(v *lifecycle.Version) {
	t, err := x.api.table(v.Number)
	if err != nil {
		panic(err) // the code declares conflicting operations
	}
	x.version, x.table, x.number = v, t, v.Number
}

func (x *requestState) sunset(v *lifecycle.Version) *problem.Problem {
	x.gone = v
	return problem.New(problem.Gone, problem.CodeVersionSunset, "Version "+strconv.Itoa(v.Number)+" of the API is no longer served.")
}

// goneBody is the body for a client of a sunset version.
func (x *requestState) goneBody(p *problem.Problem) goneBody {
	b := goneBody{
		Error: p.Code, Message: p.Message, MigrationGuideURL: x.link(x.gone.Guide()),
		SunsetAt: string(wire.Chosen(x.gone.SunsetAt).Append(nil)), RequestID: x.RequestID(),
	}
	if next := x.snapshot.Replacement(x.gone.Number, x.at); next != nil {
		b.ReplacementVersion = strconv.Itoa(next.Number)
		b.Message += " Use version " + b.ReplacementVersion + "; the migration guide says what differs."
	}
	return b
}

// deprecation adds the headers of a deprecated version (§9.6).
func (x *requestState) deprecation(h http.Header) {
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
