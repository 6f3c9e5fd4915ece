package api_test

import (
	"context"
	"testing"

	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

type areaAnswer struct {
	Body struct {
		Op   string `json:"op"`
		Name string `json:"name"`
	}
}

// TestANameWinsOverAWildcard declares paths that Go's mux alone cannot hold beside each other.
func TestANameWinsOverAWildcard(t *testing.T) {
	t.Parallel()
	clock := &apitest.Clock{}
	place := apitest.New(clock.Now, apitest.Tiers())
	r := endpoint.NewRegistry()
	add := func(id, method, path string) {
		op := endpoint.Operation{
			ID: id, Method: method, Path: path, Since: 1, Tag: "notes", Summary: "Test", Credentials: endpoint.Key, Scope: auth.Read, Status: 200,
		}
		endpoint.Add(r, op, func(_ context.Context, in *struct {
			ID string `path:"id"`
		},
		) (*areaAnswer, error) {
			out := &areaAnswer{}
			out.Body.Op, out.Body.Name = id, in.ID
			return out, nil
		})
	}
	add("note", "GET", "/notes/{id}")
	add("dropNote", "DELETE", "/notes/{id}")
	add("history", "GET", "/notes/{id}/history")
	add("shelf", "GET", "/notes/shelves/{id}")
	add("labels", "GET", "/notes/shelves/{id}/labels")
	add("label", "GET", "/notes/shelves/labels/{id}")
	h := apitest.Surface(place.Options(r))
	b := &bundle{Place: place, t: t, clock: clock, handler: h}
	key := b.Key(apitest.Operator, auth.All, nil)
	for path, want := range map[string][2]string{
		"/notes/a": {"note", "a"}, "/notes/shelves": {"note", "shelves"}, "/notes/a/history": {"history", "a"},
		"/notes/shelves/a": {"shelf", "a"}, "/notes/shelves/history": {"shelf", "history"}, "/notes/shelves/a/labels": {"labels", "a"},
		"/notes/shelves/labels": {"shelf", "labels"}, "/notes/shelves/labels/labels": {"label", "labels"}, "/notes/a%2Fb": {"note", "a/b"},
		"/notes/shelves%2Fa": {"note", "shelves/a"}, "/notes/shelves%2Fa/history": {"history", "shelves/a"},
	} {
		a := b.do("GET", "/api/v1"+path, "", "X-API-Key", key).want(t, 200, "")
		if a.object["op"] != want[0] || a.object["name"] != want[1] {
			t.Errorf("%s: got %s, want %v", path, a.text, want)
		}
	}
	for path, allow := range map[string]string{
		"/notes/a": "DELETE, GET, HEAD, OPTIONS", "/notes/shelves/a": "GET, HEAD, OPTIONS", "/notes/a/history": "GET, HEAD, OPTIONS",
	} {
		if a := b.do("POST", "/api/v1"+path, "", "X-API-Key", key).want(t, 405, "method_not_allowed"); a.Header.Get("Allow") != allow {
			t.Errorf("POST %s: Allow is %q, want %q", path, a.Header.Get("Allow"), allow)
		}
	}
	for _, path := range []string{"/notes/a/b", "/notes/shelves/a/b", "/notes/shelves/labels/a/b", "/notes/shelves/"} {
		b.do("GET", "/api/v1"+path, "", "X-API-Key", key).want(t, 404, "not_found")
	}
}
