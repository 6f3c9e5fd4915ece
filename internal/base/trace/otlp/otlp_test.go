package otlp_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/trace"
	"keepsake/internal/base/trace/otlp"
)

func span() *trace.Span {
	start := time.Unix(1_700_000_000, 5).UTC()
	return &trace.Span{
		Trace: trace.ID{0x4b, 15: 0x36}, ID: trace.SpanID{0x01, 7: 0x02}, Parent: trace.SpanID{0x0a, 7: 0x0b}, Name: "GET /notes", Kind: trace.Server,
		Start: start, End: start.Add(1500 * time.Microsecond),
		Attributes: []trace.Attribute{trace.Text("http.route", "/notes"), trace.Int("http.response.status_code", 500)}, Failed: true,
	}
}

func exporter(t *testing.T, url string, header http.Header) *otlp.Exporter {
	t.Helper()
	e, err := otlp.New(otlp.Options{Endpoint: url, Header: header, Release: "v1.2.3", Instance: "one"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The JSON is that of the OTLP specification: trace and span IDs in hexadecimal, 64-bit numbers as text.
func TestSpansAreSentAsTheProtocolSays(t *testing.T) {
	t.Parallel()
	var path, body string
	var header http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		path, body, header = r.URL.Path, string(text), r.Header
		_, _ = io.WriteString(w, `{"partialSuccess":{}}`)
	}))
	defer server.Close()
	sent, err := otlp.ParseHeaders("Authorization=Bearer%20abc, X-Scope-OrgID=1,")
	if err != nil {
		t.Fatal(err)
	}
	if err := exporter(t, server.URL+"/otlp", sent).Export(t.Context(), []*trace.Span{span()}); err != nil {
		t.Fatal(err)
	}
	if path != "/otlp/v1/traces" || header.Get("Content-Type") != "application/json" || header.Get("Authorization") != "Bearer abc" ||
		header.Get("X-Scope-OrgID") != "1" {
		t.Errorf("sent to %s with %v", path, header)
	}
	want := `{"resourceSpans":[{"resource":{"attributes":[
		{"key":"service.name","value":{"stringValue":"keepsake"}},
		{"key":"service.version","value":{"stringValue":"v1.2.3"}},
		{"key":"service.instance.id","value":{"stringValue":"one"}}]},
		"scopeSpans":[{"scope":{"name":"keepsake","version":"v1.2.3"},"spans":[{
			"traceId":"4b000000000000000000000000000036","spanId":"0100000000000002","parentSpanId":"0a0000000000000b",
			"name":"GET /notes","kind":2,"startTimeUnixNano":"1700000000000000005","endTimeUnixNano":"1700000000001500005",
			"attributes":[{"key":"http.route","value":{"stringValue":"/notes"}},{"key":"http.response.status_code","value":{"intValue":"500"}}],
			"status":{"code":2}}]}]}]}`
	if diff := cmp.Diff(decode(t, want), decode(t, body)); diff != "" {
		t.Errorf("the request differs (-want +got):\n%s", diff)
	}
}

func decode(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestSpansAreSentAgainIfTheCollectorIsBusy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		statuses []int
		answer   string
		calls    int64
		fails    bool
	}{
		{[]int{200}, "", 1, false},
		{[]int{503, 200}, "", 2, false},
		{[]int{429, 502, 504, 200}, "", 3, true},
		{[]int{400}, "", 1, true},
		{[]int{307}, "", 1, true}, // a redirect could lead credentials elsewhere
		{[]int{200}, `{"partialSuccess":{"rejectedSpans":"1","errorMessage":"no"}}`, 1, true},
		{[]int{200}, `{"partialSuccess":{"rejectedSpans":0}}`, 1, false},
		{[]int{200}, "not json", 1, false},
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			var calls atomic.Int64
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := calls.Add(1)
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.statuses[n-1])
				_, _ = io.WriteString(w, test.answer)
			}))
			defer server.Close()
			err := exporter(t, server.URL, nil).Export(t.Context(), []*trace.Span{span()})
			if (err != nil) != test.fails || calls.Load() != test.calls {
				t.Errorf("%v: got %v after %d calls, want %d", test.statuses, err, calls.Load(), test.calls)
			}
		})
	}
}

func TestHeadersAreParsedWithoutRevealingThem(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"canary", "a b=canary", "=canary", "a=canary%0d%0ax:y", "a=%zzcanary", "a:=canary"} {
		if h, err := otlp.ParseHeaders(bad); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: got %v, %v", bad, h, err)
		}
	}
	if h, err := otlp.ParseHeaders(""); err != nil || len(h) != 0 {
		t.Errorf("no headers: got %v, %v", h, err)
	}
}

func TestErrorNamesNoSecret(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so that no time passes between the tries
		err := exporter(t, "http://canary:canary@127.0.0.1:1/?key=canary", nil).Export(t.Context(), []*trace.Span{span()})
		if err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("got %v", err)
		}
	})
}
