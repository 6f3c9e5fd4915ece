package opensearch_test

import (
	"fmt"
	"testing"

	"keepsake/internal/base/text"
	"keepsake/internal/search/index"
	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/enginetest"
)

// Statistics of many documents are counted again when they are no longer right to the third digit, or lack a language.
func TestStatisticsAreUsedForSomeChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	const documents = 10_000 // so that statistics hold for two changes
	for n := range documents {
		s.source.put(fmt.Sprint("d", n), "a text about foxes")
	}
	s.follower(s.url)
	cluster := opensearch.NewCluster(s.client, s.ready, func(string) bool { return true })
	search := func(when string, total, counted int64) {
		t.Helper()
		state, _ := s.source.State(t.Context(), workspace)
		r, err := cluster.Open(t.Context(), workspace, state)
		if err != nil {
			t.Fatal(when, err)
		}
		found, err := r.Search(&index.Query{Any: []index.Word{{Stem: "text", Word: "text"}}, Limit: 1}, nil)
		if err != nil || found.Total != total || found.Statistics.Docs != counted {
			t.Fatalf("%s: %d found of %d counted, %v; want %d of %d", when, found.Total, found.Statistics.Docs, err, total, counted)
		}
	}
	search("at first", documents, documents)
	s.source.put("e1", "one more text")
	search("after a change", documents+1, documents)
	s.source.put("e2", "one more text")
	search("after two", documents+2, documents)
	s.source.put("e3", "one more text")
	search("after three", documents+3, documents+3)
	s.source.putIn(text.German, "f1", "ein text")
	search("with a language more", documents+4, documents+4)
	s.source.remove("e1")
	search("after a deletion", documents+3, documents+4)
}
