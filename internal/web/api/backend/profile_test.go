package backend_test

import (
	"bytes"
	"context"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/api/backend"
	"keepsake/internal/web/endpoint"
)

func TestProfilesAreServedLikeOtherResponses(t *testing.T) {
	t.Parallel()
	place := apitest.New((&apitest.Clock{}).Now, apitest.Tiers())
	r := endpoint.NewRegistry()
	var waited []time.Duration
	backend.AddProfiles(r, func(_ context.Context, d time.Duration) error {
		waited = append(waited, d)
		return nil
	})
	h, err := backend.New(place.Options(r))
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string, status int, media string) []byte {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if got := w.Header().Get("Content-Type"); w.Code != status || got != media {
			t.Errorf("%s: got %d %s, want %d %s", path, w.Code, got, status, media)
		}
		if !slices.Contains(slices.Collect(maps.Keys(w.Result().Header)), "X-API-Version") {
			t.Errorf("%s: the headers are %v", path, w.Header())
		}
		return w.Body.Bytes()
	}
	const binary, text, json = "application/octet-stream", "text/plain; charset=utf-8", "application/json"
	zipped := []byte{0x1f, 0x8b}
	if list := string(get("/debug/pprof/", 200, json)); !strings.Contains(list, `"goroutine"`) || !strings.Contains(list, `"trace"`) {
		t.Errorf("the list is %s", list)
	}
	if body := get("/debug/pprof/heap", 200, binary); !bytes.HasPrefix(body, zipped) {
		t.Errorf("the heap profile begins with %x", body[:min(len(body), 4)])
	}
	if body := get("/debug/pprof/goroutine?debug=2", 200, text); !bytes.HasPrefix(body, []byte("goroutine ")) {
		t.Errorf("the stacks begin with %s", body[:min(len(body), 20)])
	}
	if body := get("/debug/pprof/profile?seconds=5", 200, binary); !bytes.HasPrefix(body, zipped) {
		t.Errorf("the CPU profile begins with %x", body[:min(len(body), 4)])
	}
	get("/debug/pprof/trace", 200, binary)
	if len(waited) != 2 || waited[0] != 5*time.Second || waited[1] != time.Second {
		t.Errorf("recorded for %v", waited)
	}
	get("/debug/pprof/cmdline", 404, json)
	get("/debug/pprof", 404, json)
	get("/debug/pprof/profile?seconds=999", 400, json)
}
