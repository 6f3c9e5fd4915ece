package api

import (
	"net/http"
	"time"

	"keepsake/internal/base/trace"
)

// beginSpan begins the span of the request, and continues the trace of its caller. Only a trusted proxy and, once it is known, a
// caller with a credential decide that the trace is recorded; else everyone could fill the collector.
func (x *received) beginSpan() {
	parent, _ := x.sentParent()
	if peer, ok := x.ctx.peer(); ok && within(peer, x.api.o.TrustedProxies) {
		x.ctx.span = x.api.o.Tracer.Request(parent, x.at)
		return
	}
	x.ctx.span = x.api.o.Tracer.RequestOf(parent, x.at)
}

// recordSpan has the request recorded if its caller, who has a valid credential, sent that.
func (x *received) recordSpan() {
	if x.ctx.span == nil {
		return
	}
	if parent, ok := x.sentParent(); ok && parent.Sampled {
		x.ctx.span.Record()
	}
}

// sentParent reads the header traceparent. More than one is none (W3C Trace Context).
func (x *received) sentParent() (trace.Parent, bool) {
	sent := x.r.Header["Traceparent"]
	if len(sent) != 1 {
		return trace.Parent{}, false
	}
	return trace.Parse(sent[0])
}

// traceID is the ID of the request's trace, also if only the caller traces; zero if there is none.
func (x *received) traceID() trace.ID {
	if x.ctx.span != nil {
		return x.ctx.span.Trace
	}
	parent, _ := x.sentParent()
	return parent.Trace
}

// finishSpan ends the span of the request. The request ID joins it with the log; no other attribute is chosen by the client.
func (e *exchange) finishSpan(took time.Duration) {
	x, a, span := &e.routed, &e.answered, e.received.ctx.span
	if !span.Recorded() {
		return
	}
	method := knownMethod(x.r.Method)
	span.Name = method
	span.Set(
		trace.Text("http.request.method", method),
		trace.Int("http.response.status_code", int64(a.status)),
		trace.Int("http.response.body.size", int64(a.size)),
		trace.Text("keepsake.surface", x.surface().String()),
		trace.Text("keepsake.request_id", x.ctx.RequestID()),
	)
	if x.route.template != "" {
		span.Name += " " + x.route.template
		span.Set(trace.Text("http.route", x.route.template))
	}
	if x.version != nil {
		span.Set(trace.Int("keepsake.api_version", int64(x.version.Number)))
	}
	if a.code != "" {
		span.Set(trace.Text("error.type", a.code))
	}
	span.FinishAt(x.at.Add(took), a.status >= http.StatusInternalServerError || a.status == 0)
}

// step begins a step of the request; nil if the request is not recorded.
func (x *received) step(name string, kind trace.Kind) *trace.Span {
	if x.ctx.span == nil {
		return nil
	}
	return x.ctx.span.Child(name, kind)
}
