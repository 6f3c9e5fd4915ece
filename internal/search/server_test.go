package search_test

import (
	"fmt"
	"testing"
	"time"

	"keepsake/internal/document"
	"keepsake/internal/enginetest"
	"keepsake/internal/problem"
	"keepsake/internal/search"
)

// A search asks the database first: while that is silent or gone it is unavailable, soon, and goes on when it is back,
// with what was written since.
func TestSearchGoesOnWhenTheServerIsBack(t *testing.T) {
	t.Parallel()
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
		began := time.Now()
		_, err := reader.search.Search(t.Context(), workspace, search.Request{Query: "stone"})
		if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable {
			t.Errorf("%s: got %v, want unavailable", c.name, err)
		}
		if took := time.Since(began); took > 20*time.Second { // 2 s where the machine is not busy
			t.Errorf("%s: it took %v to say so", c.name, took)
		}
		c.back(t)
		back := time.Now()
		again := func(what string, try func() error) {
			t.Helper()
			for err := try(); err != nil; err = try() {
				if time.Since(back) > time.Minute {
					t.Fatalf("%s: %s: %v", c.name, what, err)
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
		written++
		again("write", func() error {
			_, _, err := writer.documents.Put(t.Context(), workspace, fmt.Sprint("d", written), document.Fields{Text: "stone"}, document.Condition{})
			return err
		})
		again("search", func() error {
			answer, err := reader.search.Search(t.Context(), workspace, search.Request{Query: "stone"})
			if err == nil && answer.Total != int64(written) {
				t.Fatalf("%s: found %d after, want %d", c.name, answer.Total, written)
			}
			return err
		})
		t.Logf("%s: back after %v", c.name, time.Since(back).Round(time.Millisecond))
	}
}
