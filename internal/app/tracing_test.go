package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"keepsake/internal/app"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
)

// collector is a server that takes spans as OTLP with JSON.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []collected
	text  strings.Builder // everything that was sent
}

type collected struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	Attributes                          []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var sent struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []collected } }
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &sent)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Authorization") != "Bearer of the collector" {
			t.Errorf("%s %v: %v", r.URL.Path, r.Header, err)
		}
		c.text.Write(body)
		for _, resource := range sent.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				c.spans = append(c.spans, scope.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// The program exports what is left when it stops, so the spans of all requests are there after it.
func TestRequestsAndTheirStatementsAreTraced(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	const sent = "4bf92f3577b34da6a3ce929d0e0e4736"
	var log apptest.Buffer
	var p *apptest.Running
	var person string
	t.Run("run", func(t *testing.T) {
		p = apptest.Start(t, apptest.Log(&log), apptest.With(func(cfg *config.Config) {
			cfg.Tracing.Endpoint, cfg.Tracing.Headers, cfg.Tracing.Sample = c.URL, "Authorization=Bearer%20of%20the%20collector", 0
		}))
		n := &tenant{t: t, base: p.URL, key: p.Key}
		person = "person-canary"
		n.make("POST", "/api/v1/documents", `{"text":"canary of a document"}`) // not recorded
		headers := []string{"X-API-Key", p.Key, "Traceparent", "00-" + sent + "-00f067aa0ba902b7-01", "X-Request-Id", "request-of-caller"}
		hit(t, p.URL+"/api/v1/documents?collection=canary", headers...)
		hit(t, p.URL+"/api/v1/memories/subjects/"+person, headers...)
		hit(t, p.BackendURL+"/livez", headers...)
		post(t, p.URL+"/ai/recall", `{"subjectId":"`+person+`","query":"canary"}`, headers...)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	byID, names := map[string]collected{}, map[string]int{}
	for _, s := range c.spans {
		byID[s.SpanID] = s
		names[s.Name]++
		if s.TraceID != sent {
			t.Errorf("the span %s belongs to the trace %s", s.Name, s.TraceID)
		}
	}
	for _, want := range []string{"GET /api/v1/documents", "GET /api/v1/memories/subjects/{subjectId}", "POST /ai/recall", "SELECT document"} {
		if names[want] != 1 {
			t.Errorf("%d spans %s, want 1; all are %v", names[want], want, names)
		}
	}
	if n := names["GET /livez"]; n != 0 {
		t.Errorf("%d spans of a probe, which checks no credential", n)
	}
	for _, s := range c.spans {
		root := s
		for byID[root.ParentSpanID].SpanID != "" {
			root = byID[root.ParentSpanID]
		}
		if root.ParentSpanID != "00f067aa0ba902b7" || root.Kind != 2 {
			t.Errorf("the span %s is below %s, which is no request", s.Name, root.Name)
		}
	}
	for _, secret := range []string{"canary", p.Key, p.Workspace, "key_"} {
		if strings.Contains(c.text.String(), secret) {
			t.Errorf("a span contains %q", secret)
		}
	}
	var surfaces []string
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, `"id":"request-of-caller"`) {
			var entry struct{ Surface string }
			if err := json.Unmarshal([]byte(line), &entry); err != nil {
				t.Fatal(err)
			}
			surfaces = append(surfaces, entry.Surface)
			if !strings.Contains(line, `"trace":"`+sent+`"`) {
				t.Errorf("the line lacks the trace: %s", line)
			}
		}
	}
	if want := []string{"primary", "primary", "backend", "ai"}; !slices.Equal(surfaces, want) {
		t.Errorf("the caller's request ID is in lines of %q, want %q:\n%s", surfaces, want, log.String())
	}
}

// A client without a credential does not decide that a request is traced, unless a trusted proxy passes that on.
func TestTrustedProxyDecidesThatAProbeIsTraced(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{false, true} {
		c := newCollector(t)
		t.Run(fmt.Sprintf("trusted %v", trusted), func(t *testing.T) {
			p := apptest.Start(t, apptest.With(func(cfg *config.Config) {
				cfg.Tracing.Endpoint, cfg.Tracing.Headers, cfg.Tracing.Sample = c.URL, "Authorization=Bearer%20of%20the%20collector", 0
				if trusted {
					cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
				}
			}))
			hit(t, p.BackendURL+"/livez", "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
			hit(t, p.BackendURL+"/livez", "Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-00")
		})
		var traces []string // the program has stopped, so all are there
		c.mu.Lock()
		for _, s := range c.spans {
			if s.Name == "GET /livez" {
				traces = append(traces, s.TraceID)
			}
		}
		c.mu.Unlock()
		var want []string
		if trusted {
			want = []string{"4bf92f3577b34da6a3ce929d0e0e4736"}
		}
		if !slices.Equal(traces, want) {
			t.Errorf("trusted %v: the traces %q are exported, want %q", trusted, traces, want)
		}
	}
}

// post sends a body, and ignores what is answered.
func post(t *testing.T, url, body string, headers ...string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode >= 300 {
		t.Errorf("POST %s: %s", url, res.Status)
	}
}

func TestWrongTracingHeadersCreateNothing(t *testing.T) {
	t.Parallel()
	cfg := apptest.Local(t, filepath.Join(t.TempDir(), "d"))
	cfg.Tracing.Endpoint, cfg.Tracing.Headers = "http://localhost:4318", "canary"
	_, err := app.New(t.Context(), cfg, silent())
	if setting, ok := errors.AsType[*config.Error](err); !ok || setting.Setting != "tracing.headers" || strings.Contains(err.Error(), "canary") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(cfg.Data); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a first start went before it: %v", err)
	}
}
