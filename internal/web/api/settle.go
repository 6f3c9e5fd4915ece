package api

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"keepsake/internal/base/trace"
	"keepsake/internal/govern/analytics"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/usage"
)

// settle ends a request, whatever stage it reached: it gives back what the request has taken, records its usage and logs it.
func (e *exchange) settle() {
	x := &e.received
	if a := &e.admitted; a.received != nil {
		a.leave()
	}
	x.ctx.stop()
	took := x.api.o.Now().Sub(x.at)
	if !isUncounted(x.ctx.parent) { // the visit that it is for is counted
		e.recordUse(took)
	}
	if x.api.o.LogRequests {
		e.log(took)
	}
	if x.ctx.span != nil {
		e.finishSpan(took)
	}
}

// recordUse records the request for those who read usage, callers of versions and single requests.
func (e *exchange) recordUse(took time.Duration) {
	x, who := &e.routed, e.identified.caller
	use := usage.Event{
		Route: x.route.usage, Surface: x.surface(), Version: uint8(x.version.Number), Status: uint16(e.answered.status),
		At: x.at, Took: took, BytesIn: max(0, x.r.ContentLength), BytesOut: int64(e.answered.size),
	}
	if x.stream != nil {
		use.BytesIn = x.stream.read
	}
	if who != nil {
		use.Owner = who.live.Usage
		if receipt := &e.charged.receipt; receipt.Cost() > 0 {
			use.At, use.Charged = receipt.At(), receipt.Cost()
		}
	}
	x.api.o.Usage.Record(use)
	if who != nil && x.api.o.Callers != nil && e.identified.kind != judging { // a credential that was judged calls another service
		x.note(&who.live.Principal)
	}
	if x.api.o.Requests != nil && (who != nil || x.api.o.Surface != usage.Backend) { // not the probes, which come each second
		e.record(took)
	}
}

// note records who used which version. It includes requests for a sunset version, which the operator needs to know most.
func (x *routed) note(p *auth.Principal) {
	version, rt := x.version.Number, x.route
	if x.gone != nil {
		version, rt = x.gone.Number, x.routeOf(x.gone.Number)
	}
	agent := x.agent()
	if strings.HasPrefix(agent, lifecycle.Console) && !isVisit(x.ctx.parent) {
		agent = "" // no other program has this name
	}
	x.api.o.Callers.Note(version, p, rt.name, agent, x.at)
}

// surface returns the surface that the request is recorded with. A page of the console sends its requests to the primary
// surface.
func (x *received) surface() usage.Surface {
	if isVisit(x.ctx.parent) {
		return usage.Console
	}
	return x.api.o.Surface
}

// record adds the request to the log of requests.
func (e *exchange) record(took time.Duration) {
	x, p := &e.routed, &e.received.ctx.principal
	x.api.o.Requests.Add(&analytics.Event{
		At: x.at, Took: took, UUID: x.ctx.uuid, CallerID: x.ctx.callerID,
		WorkspaceID: p.WorkspaceID, Key: p.Key, UserID: p.UserID,
		Route: x.route.template, Method: knownMethod(x.r.Method), Status: e.answered.status, Code: e.answered.code,
		Version: x.version.Number, Surface: x.surface().String(), Agent: x.agent(),
	})
}

// routeOf returns the route that the request would have in another version.
func (x *routed) routeOf(version int) *route {
	if t, err := x.api.table(version); err == nil {
		if rt, _ := t.find(x.r); rt != nil {
			return rt
		}
	}
	return &noRoute
}

// log logs the request with the route's template instead of its path, and nothing that a client chooses freely.
func (e *exchange) log(took time.Duration) {
	x := &e.routed
	route := x.route.template
	if route == "" {
		route = "none"
	}
	attributes := append(
		make([]slog.Attr, 0, 11),
		slog.String("id", x.ctx.RequestID()),
		slog.String("surface", x.surface().String()),
		slog.String("method", knownMethod(x.r.Method)),
		slog.String("route", route),
		slog.Int("status", e.answered.status),
		slog.Float64("ms", float64(took.Microseconds())/1000),
		slog.Int("bytes", e.answered.size),
		slog.String("key", x.ctx.principal.Actor()),
		slog.String("client", x.ctx.clientText()),
	)
	if code := e.answered.code; code != "" {
		attributes = append(attributes, slog.String("code", code))
	}
	if id := x.traceID(); id != (trace.ID{}) {
		attributes = append(attributes, slog.String("trace", id.String()))
	}
	x.api.o.Log.LogAttrs(x.ctx.parent, slog.LevelInfo, "request", attributes...)
}

// knownMethod replaces methods that a client invents.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}
