package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/base/trace"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

const (
	parentID    = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + parentID + "-00f067aa0ba902b7-01"
)

// exported keeps spans.
type exported struct {
	mu    sync.Mutex
	spans []*trace.Span
}

func (e *exported) Export(_ context.Context, spans []*trace.Span) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spans = append(e.spans, spans...)
	return nil
}

func tracing(sample float64) (*exported, *trace.Tracer) {
	e := &exported{}
	return e, trace.New(trace.Options{Exporter: e, Sample: sample, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
}

func attributesOf(s *trace.Span) map[string]any {
	all := map[string]any{}
	for _, a := range s.Attributes {
		if a.Is {
			all[a.Key] = a.Int
		} else {
			all[a.Key] = a.Text
		}
	}
	return all
}

func TestRequestIsASpanOfItsCallersTrace(t *testing.T) {
	t.Parallel()
	e, tracer := tracing(0)
	b := setup(t, func(o *api.Options) { o.Tracer = tracer })
	key := b.Key(apitest.Operator, auth.All, nil)
	const requestID = "request-of-the-caller"
	b.do("GET", "/api/v1/notes/canary", "", "X-API-Key", key, "Traceparent", traceparent, "X-Request-Id", requestID).want(t, 404, "not_found")
	b.do("GET", "/api/v1/ping", "", "X-API-Key", key) // tracing.sample decides, and says no
	b.do("CANARY", "/canary?q=canary", "", "X-API-Key", "canary", "Traceparent", traceparent, "Tracestate", "canary=1")
	b.do("GET", "/api/v1/panics", "", "X-API-Key", key, "Traceparent", traceparent).want(t, 500, "internal_error")
	tracer.Flush(t.Context(), time.Second)
	var names []string
	for _, s := range e.spans {
		names = append(names, s.Name)
		if s.Trace.String() != parentID || s.End.Before(s.Start) {
			t.Errorf("the span %+v is of another trace, or ends too early", s)
		}
		for key, value := range attributesOf(s) {
			if text, _ := value.(string); strings.Contains(strings.ToLower(text), "canary") || strings.Contains(text, "kpsk_") || strings.Contains(text, "key_") {
				t.Errorf("%s of %s is %s", key, s.Name, text)
			}
		}
	}
	// The request without a valid credential does not decide that it is recorded.
	want := []string{"charge limits", "GET /api/v1/notes/{id}", "charge limits", "GET /api/v1/panics"}
	if !slices.Equal(names, want) {
		t.Fatalf("spans are %q, want %q", names, want)
	}
	request := e.spans[1]
	if request.Parent.String() != "00f067aa0ba902b7" || request.Kind != trace.Server || request.Failed || e.spans[0].Parent != request.ID {
		t.Errorf("the request's span is %+v, and its step is %+v", request, e.spans[0])
	}
	if got, want := attributesOf(request), (map[string]any{
		"http.request.method": "GET", "http.route": "/api/v1/notes/{id}", "http.response.status_code": int64(404),
		"http.response.body.size": attributesOf(request)["http.response.body.size"], "keepsake.surface": "primary",
		"keepsake.request_id": requestID, "keepsake.api_version": int64(1), "error.type": "not_found",
	}); !maps.Equal(got, want) {
		t.Errorf("attributes are %v, want %v", got, want)
	}
	if failed := e.spans[3]; !failed.Failed || attributesOf(failed)["error.type"] != "internal_error" {
		t.Errorf("the span of a panic is %+v", failed)
	}
}

// The operation's context carries the span, so that the store can add steps.
func TestOperationSeesItsSpan(t *testing.T) {
	t.Parallel()
	for _, sample := range []float64{1, 0} {
		e, tracer := tracing(sample)
		var seen *trace.Span
		b := setup(t, func(o *api.Options) {
			o.Tracer = tracer
			r := endpoint.NewRegistry()
			type out struct{ Body struct{} }
			endpoint.Add(r, endpoint.Operation{
				ID: "look", Method: "GET", Path: "/look", Since: 1, Tag: "notes", Summary: "Test", Credentials: endpoint.Key, Status: 200,
			}, func(ctx context.Context, _ *struct{}) (*out, error) {
				seen = trace.From(ctx)
				seen.Child("step", trace.Client).Finish(false)
				return &out{}, nil
			})
			o.Operations = r
		})
		b.do("GET", "/api/v1/look", "", "X-API-Key", b.Key(apitest.Operator, auth.All, nil)).want(t, 200, "")
		tracer.Flush(t.Context(), time.Second)
		if seen == nil || seen.Recorded() != (sample == 1) || len(e.spans) != 3*int(sample) {
			t.Errorf("sample %v: the operation saw %+v, and there are %d spans", sample, seen, len(e.spans))
		}
	}
}

func TestLogLineJoinsRequestAndTrace(t *testing.T) {
	t.Parallel()
	_, tracer := tracing(0)
	for _, test := range []struct {
		tracer *trace.Tracer
		sent   []string
		want   string // empty: none; any: a new one
	}{
		{nil, nil, ""},
		{nil, []string{"Traceparent", traceparent}, parentID},
		{nil, []string{"Traceparent", "canary"}, ""},
		{tracer, []string{"Traceparent", traceparent}, parentID},
		{tracer, nil, "any"},
	} {
		var line bytes.Buffer
		b := setup(t, func(o *api.Options) {
			o.Tracer, o.LogRequests, o.Log = test.tracer, true, slog.New(slog.NewJSONHandler(&line, nil))
		})
		sent := append([]string{"X-Request-Id", "request-of-the-caller"}, test.sent...)
		b.do("GET", "/api/v1/ping", "", sent...).want(t, 401, "missing_credentials")
		var got struct{ ID, Surface, Code, Trace string }
		if err := json.Unmarshal(line.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v", &line, err)
		}
		if got.ID != "request-of-the-caller" || got.Surface != "primary" || got.Code != "missing_credentials" {
			t.Errorf("the line is %s", &line)
		}
		if test.want == "any" && len(got.Trace) != 32 || test.want != "any" && got.Trace != test.want {
			t.Errorf("with %q the line has the trace %q, want %q", test.sent, got.Trace, test.want)
		}
	}
}

// serving returns a function that serves one request. Its clock is slow enough for the limits.
func serving(tb testing.TB, tracer *trace.Tracer) func() {
	at := (&apitest.Clock{}).Now()
	place := apitest.New(func() time.Time {
		at = at.Add(100 * time.Microsecond)
		return at
	}, apitest.Tiers())
	o := place.Options(operations(&notes{}))
	o.Tracer = tracer
	h := apitest.Surface(o)
	r := request("GET", "/api/v1/ping", "", "X-API-Key", place.Key(apitest.Operator, auth.All, nil))
	w := &nowhere{header: http.Header{}}
	var fresh http.Request
	return func() {
		fresh = *r
		h.ServeHTTP(w, &fresh)
		if w.status != http.StatusOK {
			tb.Fatalf("got %d", w.status)
		}
	}
}

// A request that is not traced allocates nothing for traces. One that is not recorded allocates its span, which has the ID for the
// log. The test is not parallel, because AllocsPerRun counts what other tests allocate.
func TestTracingThatIsOffAllocatesNothing(t *testing.T) {
	_, unrecorded := tracing(0)
	off := testing.AllocsPerRun(500, serving(t, nil))
	on := testing.AllocsPerRun(500, serving(t, unrecorded))
	if on != off+1 {
		t.Errorf("%v allocations without a tracer and %v with one that records nothing, want one more", off, on)
	}
}

// BenchmarkTracing compares requests without a tracer, with one that records nothing, and with one that records everything.
func BenchmarkTracing(b *testing.B) {
	for _, c := range []struct {
		name   string
		tracer func() *trace.Tracer
	}{
		{"Off", func() *trace.Tracer { return nil }},
		{"NotRecorded", func() *trace.Tracer { _, tracer := tracing(0); return tracer }},
		{"Recorded", func() *trace.Tracer { _, tracer := tracing(1); return tracer }},
	} {
		b.Run(c.name, func(b *testing.B) {
			serve := serving(b, c.tracer())
			b.ReportAllocs()
			for b.Loop() {
				serve()
			}
		})
	}
}
