package opensearch_test

import (
	"net/http"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/index"
	"keepsake/internal/search/opensearch"
)

// A search whose cluster does not answer can be tried again; one that the cluster refuses is a fault of the program.
func TestASearchWithoutAnAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{http.StatusTooManyRequests: true, http.StatusServiceUnavailable: true, http.StatusNotFound: true, http.StatusBadRequest: false} {
		c := clientOf(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		r := opensearch.NewReader(t.Context(), c, "documents", "words", opensearch.NewAnswers())
		_, err := r.Search(&index.Query{Any: []index.Word{{Stem: "red", Word: "red"}}, Limit: 1}, nil)
		p, ok := problem.As(err)
		if unavailable := ok && p.Kind == problem.Unavailable; err == nil || unavailable != want {
			t.Errorf("%d: %v", status, err)
		}
	}
}
