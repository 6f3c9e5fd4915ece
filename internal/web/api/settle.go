package api

import (
	"log/slog"
	"net/http"
	"time"

	"keepsake/internal/base/trace"
	"keepsake/internal/govern/analytics"
	"keepsake/internal/govern/usage"
)

// settle ends a request: it releases its slot, records its usage and logs it.
func (x *requestState) settle() {
	x.leave()
	if x.roomSize > 0 {
		x.api.room.give(x.roomOf, x.roomSize)
	}
	x.stop()
	took := x.api.o.Now().Sub(x.at)
	if !isShown(x.parent) { // the visit that shows it is recorded
		x.recordUse(took)
	}
	if x.api.o.LogRequests {
		x.log(took)
	}
	if x.span != nil {
		x.finishSpan(took)
	}
}

// recordUse records the request for those who read usage, callers of versions and single requests.
func (x *requestState) recordUse(took time.Duration) {
	event := usage.Event{
		Owner: x.caller.live.Usage, Route: x.route.usage, Surface: x.api.o.Surface, Version: uint8(x.version.Number), Status: uint16(x.status),
		At: x.at, Took: took, BytesIn: max(0, x.r.ContentLength), BytesOut: int64(x.size),
	}
	if x.body != nil {
		event.BytesIn = x.body.read
	}
	if x.paid {
		event.At, event.Charged = x.receipt.At(), x.receipt.Cost()
	}
	x.api.o.Usage.Record(event)
	if x.known && x.api.o.Callers != nil && x.judging == nil { // a credential that was judged calls another service
		x.note()
	}
	if x.api.o.Requests != nil && (x.known || x.api.o.Surface != usage.Backend) { // not the probes, which come each second
		x.record(took)
	}
}

// note records who used which version. It includes requests for a sunset version, which the operator needs to know most.
func (x *requestState) note() {
	version, rt := x.number, x.route
	if x.gone != nil {
		version, rt = x.gone.Number, x.routeOf(x.gone.Number)
	}
	x.api.o.Callers.Note(version, &x.principal, rt.name, x.agent(), x.at)
}

// agent is the header User-Agent.
func (x *requestState) agent() string {
	if sent := x.r.Header["User-Agent"]; len(sent) > 0 {
		return sent[0]
	}
	return ""
}

// record adds the request to the log of requests.
func (x *requestState) record(took time.Duration) {
	x.api.o.Requests.Add(&analytics.Event{
		At: x.at, Took: took, UUID: x.uuid, CallerID: x.callerID,
		WorkspaceID: x.principal.WorkspaceID, Key: x.principal.Key, UserID: x.principal.UserID,
		Route: x.route.template, Method: knownMethod(x.r.Method), Status: x.status, Code: x.code,
		Version: x.version.Number, Surface: x.api.o.Surface.String(), Agent: x.agent(),
	})
}

// routeOf returns the route that the request would have in another version.
func (x *requestState) routeOf(version int) *route {
	if t, err := x.api.table(version); err == nil {
		if rt, _ := t.find(x.r); rt != nil {
			return rt
		}
	}
	return &noRoute
}

// log logs the request with the route's template instead of its path, and nothing that a client chooses freely.
func (x *requestState) log(took time.Duration) {
	route := x.route.template
	if route == "" {
		route = "none"
	}
	attributes := append(
		make([]slog.Attr, 0, 11),
		slog.String("id", x.RequestID()),
		slog.String("surface", x.api.o.Surface.String()),
		slog.String("method", knownMethod(x.r.Method)),
		slog.String("route", route),
		slog.Int("status", x.status),
		slog.Float64("ms", float64(took.Microseconds())/1000),
		slog.Int("bytes", x.size),
		slog.String("key", x.principal.Actor()),
		slog.String("client", x.clientText()),
	)
	if x.code != "" {
		attributes = append(attributes, slog.String("code", x.code))
	}
	if id := x.traceID(); id != (trace.ID{}) {
		attributes = append(attributes, slog.String("trace", id.String()))
	}
	x.api.o.Log.LogAttrs(x.parent, slog.LevelInfo, "request", attributes...)
}

func (x *requestState) clientText() string {
	if client := x.Client(); client.IsValid() {
		return client.String()
	}
	return "local"
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
