package backend_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"keepsake/internal/api/apitest"
	"keepsake/internal/api/backend"
)

func TestProbesNameFailedPartsWithoutTheCause(t *testing.T) {
	t.Parallel()
	clock := &apitest.Clock{}
	place := apitest.New(clock.Now, apitest.Tiers())
	var storage, index, limits error
	stopping := false
	h, err := backend.New(place.Options(nil), backend.Probes{
		Checks: []backend.Check{
			{Name: "storage", Err: func(context.Context) error { return storage }},
			{Name: "index", Err: func(context.Context) error { return index }},
			{Name: "limits", Err: func(context.Context) error { return limits }, Optional: true},
		},
		Stopping: func() bool { return stopping },
	})
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
	want("/readyz", 200, `{"status":"ready","checks":{"index":"ok","limits":"ok","storage":"ok"}}`)
	limits = errors.New("secret cause")
	want("/readyz", 200, `{"status":"degraded","checks":{"index":"ok","limits":"degraded","storage":"ok"}}`)
	storage, index = errors.New("secret cause"), errors.New("secret cause")
	want("/readyz", 503, "storage, index")
	want("/livez", 200, "alive")
	storage, index, stopping = nil, nil, true
	want("/readyz", 503, "shutting down")

	want("/", 404, "not_found")
	want("/livez/", 404, "not_found")
	want("/api/v1/health", 404, "not_found")
	want("/api/v9/health", 404, "not_found") // a version in a path means nothing here
	want("/livez", 400, "Accept-Version", "Accept-Version", "9")
	want("/livez", 200, "alive", "Accept-Version", "v1")
}
