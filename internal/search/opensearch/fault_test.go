package opensearch_test

import (
	"fmt"
	"testing"

	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/enginetest"
)

func TestAKilledNodeLosesNothing(t *testing.T) {
	t.Parallel()
	node := enginetest.StartOpenSearch(t)
	s := newSite(t, node.URL)
	f, _ := s.follower(s.url)
	for n := range 100 {
		s.source.put(fmt.Sprint("d", n), "text")
	}
	s.same("before")
	s.source.remove("d1")
	s.source.put("d2", "other text")
	s.same("with a log that was not flushed")
	node.Kill()
	s.source.remove("d3")
	s.source.put("new", "text")
	s.until("it is unreachable", f, func(p opensearch.Progress) bool { return p.State == opensearch.Unreachable })
	node.Start(t)
	s.until("all is in", f, func(p opensearch.Progress) bool { return p.State == opensearch.Healthy && p.Position == p.Last })
	s.same("after the restart")
}
