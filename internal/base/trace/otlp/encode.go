package otlp

import (
	"strconv"
	"time"

	"keepsake/internal/base/trace"
)

// The types are the JSON encoding of ExportTraceServiceRequest: IDs in hexadecimal, 64-bit integers as text.

type request struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   resource     `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type resource struct {
	Attributes []attribute `json:"attributes"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []span `json:"spans"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

type span struct {
	TraceID    string      `json:"traceId"`
	SpanID     string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Status     *status     `json:"status,omitempty"`
}

type status struct {
	Code int `json:"code"`
}

const statusError = 2

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

type value struct {
	Text *string `json:"stringValue,omitempty"`
	Int  string  `json:"intValue,omitempty"`
}

func text(key, s string) attribute { return attribute{key, value{Text: &s}} }

func (e *Exporter) request(spans []*trace.Span) request {
	list := make([]span, len(spans))
	for i, s := range spans {
		list[i] = spanOf(s)
	}
	return request{[]resourceSpans{{e.resource, []scopeSpans{{e.scope, list}}}}}
}

func spanOf(s *trace.Span) span {
	out := span{
		TraceID: s.Trace.String(), SpanID: s.ID.String(), Name: s.Name, Kind: int(s.Kind), Start: nanoseconds(s.Start), End: nanoseconds(s.End),
	}
	if s.Parent != (trace.SpanID{}) {
		out.Parent = s.Parent.String()
	}
	for _, a := range s.Attributes {
		if a.Is {
			out.Attributes = append(out.Attributes, attribute{a.Key, value{Int: strconv.FormatInt(a.Int, 10)}})
			continue
		}
		out.Attributes = append(out.Attributes, text(a.Key, a.Text))
	}
	if s.Failed {
		out.Status = &status{statusError}
	}
	return out
}

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
