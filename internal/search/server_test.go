package search_test

import (
	"fmt"
	"testing"

	"keepsake/internal/await"
	"keepsake/internal/document"
	"keepsake/internal/enginetest"
	"keepsake/internal/problem"
	"keepsake/internal/search"
	"keepsake/internal/testtier"
)

// A search asks the database first: while that is silent or gone it is unavailable, and it goes on when it is back,
// with what was written since.
func TestSearchGoesOnWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "stops a PostgreSQL server three times and waits for its time-outs")
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	url := server.Database(t)
	writer, reader := onPostgres(t, url), onPostgres(t, url)
	written := 0
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
		if got := len(reader.ids("stone")); got != written {
			t.Fatalf("%s: found %d before, want %d", c.name, got, written)
		}
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
		await.Until(t, c.name+": a search succeeds", func() bool {
			answer, err := reader.search.Search(t.Context(), workspace, search.Request{Query: "stone"})
			if err == nil && answer.Total != int64(written) {
				t.Fatalf("%s: found %d after, want %d", c.name, answer.Total, written)
			}
			return err == nil
		})
	}
}
