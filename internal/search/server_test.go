package search_test

import (
	"fmt"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// A search asks the database first: while that is silent or gone it is unavailable, and it goes on when it is back,
// with what was written since.
func TestSearchGoesOnWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "pauses and stops a PostgreSQL server")
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	url := server.Database(t)
	writer, reader := onPostgres(t, url, time.Minute), onPostgres(t, url, 300*time.Millisecond)
	written := 0
	find := func(what string) {
		t.Helper()
		await.Until(t, what, func() bool {
			answer, err := reader.search.Search(t.Context(), workspace, search.Request{Query: "stone"})
			if err == nil && answer.Total != int64(written) {
				t.Fatalf("%s: found %d, want %d", what, answer.Total, written)
			}
			return err == nil
		})
	}
	for _, c := range []struct {
		name      string
		off, back func(testing.TB)
	}{
		{"silent", server.Pause, server.Resume},
		{"stopped", server.StopImmediately, server.Start},
		{"restarted", server.Stop, server.Start},
	} {
		written++
		writer.text(fmt.Sprint("d", written), "stone")
		find(c.name + ": a search succeeds before")
		c.off(t)
		_, err := reader.search.Search(t.Context(), workspace, search.Request{Query: "stone"})
		if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable {
			t.Errorf("%s: got %v, want unavailable", c.name, err)
		}
		c.back(t)
		written++
		await.Until(t, c.name+": a write succeeds", func() bool {
			_, _, err := writer.documents.Put(t.Context(), workspace, fmt.Sprint("d", written), document.Fields{Text: "stone"}, document.Condition{})
			return err == nil
		})
		find(c.name + ": a search succeeds after")
	}
}
