package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

// A response that could be compressed allocates no more for a client that does not accept it than one that never is, which is
// the response to a cookie. The test is not parallel, because AllocsPerRun counts what other tests allocate.
func TestCompressionCostsNothingWhereItIsNotAccepted(t *testing.T) {
	type long struct {
		Body struct {
			Text string `json:"text"`
		}
	}
	text := strings.Repeat("a", 8<<10)
	b := setup(t, func(o *api.Options) {
		endpoint.Add(o.Operations, endpoint.Operation{
			ID: "long", Method: "GET", Path: "/long", Since: 1, Tag: "notes", Summary: "Test", Status: 200, Credentials: endpoint.Key,
		}, func(context.Context, *struct{}) (*long, error) {
			out := &long{}
			out.Body.Text = text
			return out, nil
		})
	})
	key := b.Key(apitest.Operator, auth.All, nil)
	count := func(encoding string, header ...string) float64 {
		t.Helper()
		r := request("GET", "/api/v1/long", "", append(header, "X-API-Key", key)...)
		w := &nowhere{header: http.Header{}}
		var fresh http.Request
		n := testing.AllocsPerRun(200, func() {
			clear(w.header)
			fresh = *r
			b.handler.ServeHTTP(w, &fresh)
		})
		if got := w.header.Get("Content-Encoding"); w.status != 200 || got != encoding {
			t.Errorf("%q: status %d, encoding %q", header, w.status, got)
		}
		return n
	}
	never := count("", "Cookie", "a=b", "Accept-Encoding", "gzip")
	for _, header := range [][]string{nil, {"Accept-Encoding", "identity"}, {"Accept-Encoding", "br, zstd;q=0.5"}, {"Accept-Encoding", "gzip;q=0, *;q=0.5"}} {
		if n := count("", header...); n > never {
			t.Errorf("%q: %v allocations, and %v where nothing is ever compressed", header, n, never)
		}
	}
	count("gzip", "Accept-Encoding", "gzip")
}
