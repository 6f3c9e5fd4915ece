package opensearch_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/search/index"
	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

// Documents that were deleted in the cluster by hand come back, although nothing is written. What other deletions leave is no difference.
func TestDocumentsThatWereDeletedByHandComeBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	var later, counts atomic.Int64
	f := opensearch.NewFollower(opensearch.FollowerOptions{
		Client: newClient(t, opensearch.ClientOptions{URL: s.url}), Prefix: s.prefix, Owner: "this", Source: s.source,
		Writer: opensearch.NewWriter(index.NewLexicon()), Log: slog.New(slog.DiscardHandler), Poll: 10 * time.Millisecond,
		Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
		Documents: func(context.Context, string) (int64, error) {
			counts.Add(1)
			return int64(len(s.source.live())), nil
		},
	})
	for n := range 10 {
		s.source.put(fmt.Sprint("d", n), "text")
	}
	f.Follow([]string{workspace})
	running(t, f.Run)
	s.source.remove("d3")
	s.same("at first")
	before := s.index()
	counted := func() {
		t.Helper()
		was := counts.Load()
		later.Add(int64(11 * time.Minute))
		await.Until(t, "documents are counted", func() bool { return counts.Load() >= was+2 }) // a look counts them, too
	}
	counted()
	counted()
	if got := s.index(); got != before {
		t.Fatalf("a complete index was replaced by %s", got)
	}
	for _, id := range []string{"d1", "d2"} {
		s.do("DELETE", "/"+before+"/_doc/"+id+"?refresh=true", "")
	}
	if got := s.search(); len(got) != 7 {
		t.Fatalf("after the deletion by hand there are %v", got)
	}
	later.Add(int64(11 * time.Minute))
	await.Until(t, "another index answers", func() bool {
		later.Add(int64(time.Second))
		return s.index() != before
	})
	s.same("after that")
}
