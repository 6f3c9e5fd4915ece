package main

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"keepsake/internal/govern/limit"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	v1 "keepsake/internal/web/api/v1"
	"keepsake/internal/web/endpoint"
)

// liveKeys is the number of keys in the directory.
const liveKeys = 100_000

// place returns a place whose limits no measurement reaches.
func place() *apitest.Place {
	tiers := limit.Tiers()
	for i := range tiers {
		tiers[i].RequestsPerMinute, tiers[i].Daily, tiers[i].Monthly = 1e9, 1e10, 1e10
	}
	return apitest.New(time.Now, tiers)
}

// governed returns the health check behind the whole pipeline, and a key.
func governed(p *apitest.Place, change ...func(o *api.Options)) (h http.Handler, key string) {
	r := endpoint.NewRegistry()
	v1.AddHealth(r, &v1.Health{Storage: func(context.Context) error { return nil }})
	o := p.Options(r)
	for _, f := range change {
		f(&o)
	}
	return apitest.Surface(o), p.Fill(liveKeys)
}

// measureHealth compares the health check with a handler that sends the same response from constants, and with one that only
// sends the body.
func measureHealth(c contest) error {
	h, key := governed(place())
	sent := request("GET", "/api/v1/health", "", "X-API-Key: "+key)

	header, body, err := sample(h, "GET", "/api/v1/health", "", key)
	if err != nil {
		return err
	}
	same := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		maps.Copy(w.Header(), header)
		_, _ = w.Write(body)
	})
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) })
	return c.run(fmt.Sprintf("GET /api/v1/health, %d live keys", liveKeys),
		side{name: "keepsake", handler: h, request: sent}, side{name: "same body and headers", handler: same, request: sent}, side{name: "body alone", handler: bare, request: sent})
}

// sample returns a response of a handler, for other handlers to send.
func sample(h http.Handler, method, path, body, key string) (http.Header, []byte, error) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("X-Api-Key", key)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code >= http.StatusBadRequest {
		return nil, nil, fmt.Errorf("status %d: %s", w.Code, w.Body)
	}
	return w.Result().Header, w.Body.Bytes(), nil
}
