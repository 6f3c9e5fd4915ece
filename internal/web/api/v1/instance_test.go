package v1_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/web/api/apitest"
	v1 "keepsake/internal/web/api/v1"
	"keepsake/internal/web/endpoint"
)

// instanceFixture is a surface with the operations about the instance itself, and their sources.
type instanceFixture struct {
	*apitest.Place
	clock    *apitest.Clock
	handler  http.Handler
	storage  error
	part     error
	asked    int // how often the storage was asked
	degraded bool
}

func newInstance() *instanceFixture {
	i := &instanceFixture{clock: &apitest.Clock{}}
	i.Place = apitest.New(i.clock.Now, apitest.Tiers())
	r := endpoint.NewRegistry()
	v1.AddHealth(r, &v1.Health{
		Storage: func(context.Context) error { i.asked++; return i.storage },
		Parts:   []func(context.Context) error{func(context.Context) error { return i.part }},
	})
	v1.AddCacheStats(r, &v1.CacheStats{
		Caches: []v1.Cache{
			{Name: "keys", Stats: func() v1.CacheNumbers {
				return v1.CacheNumbers{Entries: 1, Capacity: 2, Bytes: 3, Hits: 3, Misses: 1, Evictions: 4}
			}},
			{Name: "unused", Stats: func() v1.CacheNumbers { return v1.CacheNumbers{} }},
		},
		Indexes: func() v1.IndexNumbers {
			return v1.IndexNumbers{Documents: 5, LagChanges: 6, Merges: 7, Held: 8, BuildingAll: 9}
		},
		OpenSearch: func(context.Context) *v1.OpenSearchNumbers {
			return &v1.OpenSearchNumbers{State: "ok", Version: "2.19.6", Total: 3, Workspaces: []v1.OpenSearchWorkspace{{ID: "wsp_1", State: "full"}}}
		},
		Embeddings: func(context.Context) v1.EmbeddingNumbers {
			return v1.EmbeddingNumbers{State: "paused", Progress: &v1.EmbeddingProgress{Memories: 8, WaitingMemories: 9}, DailyTexts: 10}
		},
		Parts: func(context.Context) []v1.Part {
			return []v1.Part{{Name: "disk", Status: "degraded", FreeBytes: new(int64(8))}, {Name: "redis", Status: "off"}}
		},
		Members: func() int { return 9 }, Shared: true,
		Mode: "local", Degraded: func() bool { return i.degraded }, Started: i.clock.Now(), Now: i.clock.Now,
	})
	v1.AddVersions(r, &v1.Versions{Registry: i.Versions, PublicURL: "https://keepsake.example", Now: i.clock.Now})
	i.handler = apitest.Surface(i.Options(r))
	return i
}

func (i *instanceFixture) get(path, key string) (int, string) {
	r := httptest.NewRequest("GET", path, nil)
	if key != "" {
		r.Header.Set("X-Api-Key", key)
	}
	w := httptest.NewRecorder()
	i.handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestHealthFollowsTheParts(t *testing.T) {
	t.Parallel()
	i := newInstance()
	key := i.Key(apitest.Guest, auth.None, nil)
	want := func(status int, body string) {
		t.Helper()
		if code, text := i.get("/api/v1/health", key); code != status || !strings.Contains(text, body) {
			t.Errorf("got %d %s, want %d with %s", code, text, status, body)
		}
	}
	want(200, `{"status":"healthy","version":"1","timestamp":"2026-11-21T12:00:00.000Z"}`)
	i.part = errors.New("the index lags")
	want(200, `"status":"healthy"`) // what was found is good for a second
	i.clock.Move(time.Second)
	want(200, `"status":"degraded"`)
	i.storage = errors.New("the disk is gone")
	i.clock.Move(time.Second)
	want(503, `"error":"unavailable"`)
	i.storage, i.part = nil, nil
	i.clock.Move(-time.Hour) // a clock that steps back keeps no old finding alive
	want(200, `"status":"healthy"`)
	if i.asked != 4 {
		t.Errorf("the storage was asked %d times, want once a second at most: 4", i.asked)
	}
}

func TestCacheStatsAreForTheOperator(t *testing.T) {
	t.Parallel()
	i := newInstance()
	if code, text := i.get("/api/v1/admin/cache-stats", i.Key(apitest.Guest, auth.All, nil)); code != 403 || !strings.Contains(text, "insufficient_scope") {
		t.Errorf("an admin of another workspace got %d %s", code, text)
	}
	i.degraded = true
	i.clock.Move(90 * time.Second)
	code, text := i.get("/api/v1/admin/cache-stats", i.Key(apitest.Operator, auth.Admin, nil))
	var body struct {
		Caches []struct {
			Evictions int64
			HitRatio  float64
		}
		SearchIndexes map[string]int64
		Embeddings    struct {
			State      string
			Progress   map[string]int64
			DailyTexts int64
		}
		OpenSearch struct {
			Version        string
			WorkspaceCount int
			Workspaces     []map[string]any
		}
		Limiter struct {
			Mode     string
			Degraded bool
		}
		UptimeSeconds int64
		RequestID     string
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil || code != 200 {
		t.Fatalf("got %d %s: %v", code, text, err)
	}
	if o := body.OpenSearch; o.Version != "2.19.6" || o.WorkspaceCount != 3 || len(o.Workspaces) != 1 || o.Workspaces[0]["state"] != "full" || o.Workspaces[0]["changesBehind"] != nil {
		t.Errorf("the indexes in OpenSearch are %+v", o)
	}
	if len(body.Caches) != 2 || body.Caches[0].HitRatio != 0.75 || body.Caches[1].HitRatio != 0 || body.Caches[0].Evictions != 4 {
		t.Errorf("caches are %+v", body.Caches)
	}
	for _, want := range []string{`"database":"shared"`, `"members":9`, `{"name":"disk","status":"degraded","freeBytes":8}`, `{"name":"redis","status":"off","freeBytes":null}`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %s", text, want)
		}
	}
	if n := body.SearchIndexes; n["documents"] != 5 || n["lagChanges"] != 6 || n["merges"] != 7 || n["held"] != 8 || n["buildingTotal"] != 9 || len(n) != 18 {
		t.Errorf("search indexes are %v", n)
	}
	if e := body.Embeddings; e.State != "paused" || e.Progress["memories"] != 8 || e.Progress["waitingMemories"] != 9 || e.DailyTexts != 10 {
		t.Errorf("embeddings are %+v", e)
	}
	if body.Limiter.Mode != "local" || !body.Limiter.Degraded || body.UptimeSeconds != 90 || !strings.HasPrefix(body.RequestID, "req_") {
		t.Errorf("got %s", text)
	}
}

func TestVersionsAreListedForAnybody(t *testing.T) {
	t.Parallel()
	i := newInstance()
	if code, text := i.get("/api/versions", ""); code != 200 || text != `{"items":[{"version":"1","state":"active","since":"2026-07-01T00:00:00.000Z",`+
		`"announcedAt":null,"sunsetAt":null,"replacementVersion":null,"migrationGuideUrl":null}]}`+"\n" {
		t.Errorf("got %d %s", code, text)
	}
	one := lifecycle.First()
	one.AnnouncedAt, one.SunsetAt = i.clock.Now(), i.clock.Now().Add(200*24*time.Hour)
	if err := i.Versions.Replace([]lifecycle.Version{one, {Number: 2, Since: i.clock.Now()}}); err != nil {
		t.Fatal(err)
	}
	_, text := i.get("/api/versions", "")
	for _, want := range []string{
		`"version":"1","state":"deprecated"`, `"announcedAt":"2026-11-21T12:00:00Z"`, `"sunsetAt":"2027-06-09T12:00:00Z"`,
		`"replacementVersion":"2"`, `"migrationGuideUrl":"https://keepsake.example/docs/api/migration/v1-to-v2"`, `"version":"2","state":"active"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s, want %s in it", text, want)
		}
	}
}
