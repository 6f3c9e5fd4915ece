package api

import (
	"net/http"
	"net/url"
	"slices"
	"testing"
)

// A path is taken literally: nothing is cleaned, so a segment that means another path to a proxy finds nothing here.
func TestPathsAreTakenLiterally(t *testing.T) {
	t.Parallel()
	table := &table{prefix: "/api/v1/"}
	table.version = table.root.at(&route{}, "/api/v1")
	for _, template := range []string{"/", "/openapi.json", "/api/v1/health", "/api/v1/documents", "/api/v1/documents/{id}", "/api/v1/documents/{id}/history", "/docs/{name}"} {
		rt := &route{template: template, method: http.MethodGet}
		n := table.root.at(rt, template)
		n.routes = append(n.routes, rt)
	}
	for _, c := range []struct {
		path, template string
		values         []string
	}{
		{"/", "/", nil},
		{"/openapi.json", "/openapi.json", nil},
		{"/api/v1/health", "/api/v1/health", nil},
		{"/api/v1/documents/a", "/api/v1/documents/{id}", []string{"a"}},
		{"/api/v1/documents/a.b", "/api/v1/documents/{id}", []string{"a.b"}},
		{"/api/v1/documents/...", "/api/v1/documents/{id}", []string{"..."}},
		{"/api/v1/documents/..a/history", "/api/v1/documents/{id}/history", []string{"..a"}},

		// Dots as they are, at every place.
		{"/.", "", nil},
		{"/..", "", nil},
		{"/./openapi.json", "", nil},
		{"/../openapi.json", "", nil},
		{"/docs/.", "", nil},
		{"/docs/..", "", nil},
		{"/docs/../openapi.json", "", nil},
		{"/api/v1/.", "", nil},
		{"/api/v1/..", "", nil},
		{"/api/v1/./health", "", nil},
		{"/api/v1/../v1/health", "", nil},
		{"/api/../api/v1/health", "", nil},
		{"/api/v1/health/.", "", nil},
		{"/api/v1/health/..", "", nil},
		{"/api/v1/documents/.", "", nil},
		{"/api/v1/documents/..", "", nil},
		{"/api/v1/documents/../history", "", nil},
		{"/api/v1/documents/./history", "", nil},
		{"/api/v1/documents/a/..", "", nil},
		{"/api/v1/documents/a/../history", "", nil},

		// An escape is part of a name: it ends no segment and goes up nowhere. The operation judges the name.
		{"/api/v1/documents/%2e%2E", "/api/v1/documents/{id}", []string{".."}},
		{"/api/v1/documents/.%2e", "/api/v1/documents/{id}", []string{".."}},
		{"/api/v1/documents/%2e/history", "/api/v1/documents/{id}/history", []string{"."}},
		{"/api/v1/documents/a%2F..%2Fb", "/api/v1/documents/{id}", []string{"a/../b"}},
		{"/api/v1/documents/a%2fhistory", "/api/v1/documents/{id}", []string{"a/history"}},
		{"/api/v1/documents/%252e%252e", "/api/v1/documents/{id}", []string{"%2e%2e"}},
		{"/api/v1/%2e%2e/v1/health", "", nil},
		{"/api/v1/%2e/health", "", nil},
		{"/%2e%2e/openapi.json", "", nil},
		{"/api/v1/he%61lth", "/api/v1/health", nil},
		{"/api%2Fv1/health", "", nil},

		// Slashes that are too many.
		{"//", "", nil},
		{"//openapi.json", "", nil},
		{"/openapi.json/", "", nil},
		{"/api/v1/", "", nil},
		{"/api/v1//health", "", nil},
		{"/api/v1/health/", "", nil},
		{"/api/v1/documents/", "", nil},
		{"/api/v1/documents//history", "", nil},
	} {
		u, err := url.ParseRequestURI(c.path)
		if err != nil {
			t.Errorf("%s: %v", c.path, err)
			continue
		}
		if len(c.path) > 1 && c.path[:2] == "//" {
			u = &url.URL{Path: c.path} // as net/http reads a request line
		}
		rt, values := table.find(&http.Request{Method: http.MethodGet, URL: u})
		got := ""
		if rt != nil {
			got = rt.template
		}
		if got != c.template || !slices.Equal(values, c.values) {
			t.Errorf("%s: got %q with %q, want %q with %q", c.path, got, values, c.template, c.values)
		}
	}
}
