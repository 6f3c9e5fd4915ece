package api

import (
	"log/slog"
	"net/http"

	"keepsake/internal/usage"
)

// settle closes a request: its slot is free, its use recorded, its line written.
func (x *exchange) settle() {
	if x.counted {
		x.api.inFlight.Add(-1)
	}
	x.stop()
	event := usage.Event{
		Owner: x.caller.live.Usage, Route: x.route.usage, Surface: x.api.o.Surface, Version: uint8(x.version.Number), Status: uint16(x.status),
		At: x.at, BytesIn: max(0, x.r.ContentLength), BytesOut: int64(x.size),
	}
	if x.body != nil {
		event.BytesIn = x.body.read
	}
	if x.paid {
		event.At, event.Charged = x.receipt.At(), 1
	}
	x.api.o.Usage.Record(event)
	if x.api.o.LogRequests {
		x.log()
	}
}

// log writes the request's line: the route's template, never the path, and nothing a caller may write freely.
func (x *exchange) log() {
	route := x.route.template
	if route == "" {
		route = "none"
	}
	x.api.o.Log.LogAttrs(x.parent, slog.LevelInfo, "request",
		slog.String("id", x.RequestID()),
		slog.String("method", knownMethod(x.r.Method)),
		slog.String("route", route),
		slog.Int("status", x.status),
		slog.Float64("ms", float64(x.api.o.Now().Sub(x.at).Microseconds())/1000),
		slog.Int("bytes", x.size),
		slog.String("key", x.principal.Actor()),
		slog.String("client", x.clientText()),
	)
}

func (x *exchange) clientText() string {
	if client := x.Client(); client.IsValid() {
		return client.String()
	}
	return "local"
}

// knownMethod keeps what a client invents out of the log.
func knownMethod(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}
