package opensearch_test

import (
	"net/http"
	"slices"
	"testing"

	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/enginetest"
)

func TestWhatAClusterKeepsIsSeen(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	none, err := s.client.Examine(t.Context(), s.prefix)
	if err != nil || none.Indexes != 0 || none.Unknown != nil {
		t.Fatalf("without an index: %+v, %v", none, err)
	}
	create := func(name string) {
		t.Helper()
		if _, err := s.client.Do(t.Context(), http.MethodPut, "/"+name, opensearch.DocumentsIndex(1, 0)); err != nil {
			t.Fatal(err)
		}
	}
	create(s.prefix + "good-1")
	create(s.prefix + "bad-1")
	change := `{"index.translog.durability":"async","index.search.slowlog.threshold.query.warn":"1s"}`
	if _, err := s.client.Do(t.Context(), http.MethodPut, "/"+s.prefix+"bad-1/_settings", []byte(change)); err != nil {
		t.Fatal(err)
	}
	f, err := s.client.Examine(t.Context(), s.prefix)
	if err != nil {
		t.Fatal(err)
	}
	bad := []string{s.prefix + "bad-1"}
	if f.Indexes != 2 || len(f.Red) > 0 || !slices.Equal(f.Asynchronous, bad) || !slices.Equal(f.SlowLogs, bad) || f.QueriesKept {
		t.Errorf("the facts are %+v", f)
	}
}

func TestAClusterThatKeepsQueriesIsSeen(t *testing.T) {
	t.Parallel()
	settings, status := "", 200
	c := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
			answer(200, `{"version":{"distribution":"opensearch","number":"2.19.6"}}`)(w, r)
		case "/_cluster/settings":
			answer(status, settings)(w, r)
		case "/_cat/indices/x-*":
			answer(200, `[{"index":"x-1","health":"red"},{"index":"x-2","health":"green","docs.count":"7","docs.deleted":"1","store.size":"900"}]`)(w, r)
		default:
			answer(200, `{"x-2":{"settings":{},"defaults":{"index.translog.durability":"REQUEST","index.search.slowlog.threshold.query.warn":"-1",
				"index.tiered.storage.slowlog.enabled":"false","index.tiered.storage.slowlog.threshold.fetch.info":"5s"}}}`)(w, r)
		}
	})
	for text, kept := range map[string]bool{
		`{"defaults":{"search.insights.top_queries.latency.enabled":"true"}}`:                                                                      true,
		`{"defaults":{"search.insights.top_queries.latency.enabled":"true"},"persistent":{"search.insights.top_queries.latency.enabled":"false"}}`: false,
		`{"transient":{"cluster.search.request.slowlog.threshold.warn":"5s"}}`:                                                                     true,
		`{"defaults":{"cluster.search.request.slowlog.threshold.warn":"-1","search.insights.top_queries.cpu.enabled":"false"},"persistent":{}}`:    false,
	} {
		settings = text
		f, err := c.Examine(t.Context(), "x-")
		if err != nil || f.QueriesKept != kept || f.Unknown != nil {
			t.Errorf("%s: %+v, %v", text, f, err)
		}
		if f.Indexes != 2 || f.Documents != 7 || f.Deleted != 1 || f.Bytes != 900 || !slices.Equal(f.Red, []string{"x-1"}) || f.SlowLogs != nil || f.Asynchronous != nil {
			t.Errorf("the facts are %+v", f)
		}
	}
	settings, status = `{}`, 403
	if f, err := c.Examine(t.Context(), "x-"); err != nil || f.Unknown == nil {
		t.Errorf("settings that the user may not read: %+v, %v", f, err)
	}
}
