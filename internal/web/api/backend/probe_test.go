package backend_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/api/backend"
	"keepsake/internal/web/endpoint"
)

func run(err *error) func(context.Context) (backend.Measured, error) {
	return func(context.Context) (backend.Measured, error) { return backend.Measured{}, *err }
}

func TestProbesNameFailedPartsWithoutTheCause(t *testing.T) {
	t.Parallel()
	clock := &apitest.Clock{}
	place := apitest.New(clock.Now, apitest.Tiers())
	var storage, index, limits error
	stopping := false
	r := endpoint.NewRegistry()
	lag := int64(7)
	var log bytes.Buffer
	backend.AddProbes(r, &backend.Probes{
		Checks: []backend.Check{
			{Name: "storage", Run: run(&storage)},
			{Name: "index", Run: func(context.Context) (backend.Measured, error) { return backend.Measured{ChangesBehind: &lag}, index }},
			{Name: "limits", Run: run(&limits), Optional: true},
			{Name: "redis", Run: func(context.Context) (backend.Measured, error) { return backend.Measured{Off: true}, nil }},
		},
		Log:      slog.New(slog.NewTextHandler(&log, nil)),
		Stopping: func() bool { return stopping },
	})
	h, err := backend.New(place.Options(r))
	if err != nil {
		t.Fatal(err)
	}
	want := func(path string, status int, body string, headers ...string) {
		t.Helper()
		r := httptest.NewRequest("GET", path, nil)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != status || !strings.Contains(w.Body.String(), body) || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: got %d %s, want %d with %s", path, w.Code, w.Body, status, body)
		}
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("%s: %s tells the cause", path, w.Body)
		}
		header := http.Header{}
		for name, values := range w.Result().Header {
			header[http.CanonicalHeaderKey(name)] = values
		}
		if header.Get("X-API-Version") != "1" || header.Get("X-RateLimit-Remaining") != "100000" {
			t.Errorf("%s: headers are %v, want the version and an unspent anonymous budget", path, header)
		}
	}
	want("/livez", 200, `{"status":"alive"}`)
	want("/readyz", 200, `{"status":"ready","checks":{"index":{"status":"ok","changesBehind":7},"limits":{"status":"ok"},"redis":{"status":"off"},"storage":{"status":"ok"}}}`)
	limits = errors.New("secret cause")
	want("/readyz", 200, `{"status":"degraded","checks":{"index":{"status":"ok","changesBehind":7},"limits":{"status":"degraded"},`)
	storage, index = errors.New("secret cause"), errors.New("secret cause")
	want("/readyz", 503, `{"error":"unavailable","message":"Not ready: storage, index.","requestId":"`)
	want("/readyz", 503, `"status":"unavailable","checks":{"index":{"status":"failed","changesBehind":7},"limits":{"status":"degraded"},`)
	want("/livez", 200, "alive")
	storage, index, stopping = nil, nil, true
	want("/readyz", 503, "shutting down")
	stopping = false
	want("/readyz", 200, `{"status":"degraded"`)
	if n := strings.Count(log.String(), "readiness checks failed"); n != 3 || !strings.Contains(log.String(), "secret cause") {
		t.Errorf("logged %d changes of the failed checks, want 3 with their causes: %s", n, log.String())
	}

	want("/", 404, "not_found")
	want("/livez/", 404, "not_found")
	want("/api/v1/health", 404, "not_found")
	want("/api/v9/health", 404, "not_found") // a version in a path means nothing here
	want("/livez", 400, "Accept-Version", "Accept-Version", "9")
	want("/livez", 200, "alive", "Accept-Version", "v1")
}
