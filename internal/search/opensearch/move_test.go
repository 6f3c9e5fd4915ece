package opensearch_test

import (
	"log/slog"
	"testing"
	"time"

	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/enginetest"
)

// A process that does not follow a workspace also knows how far its move is.
func TestEachProcessKnowsHowFarAMoveIs(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	percent := func(url string) (int, bool) {
		c := newClient(t, opensearch.ClientOptions{URL: url})
		idle := opensearch.NewFollower(opensearch.FollowerOptions{
			Client: c, Prefix: s.prefix, Owner: "this", Source: s.source, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		})
		m := opensearch.NewMover(opensearch.MoverOptions{Client: c, Prefix: s.prefix, Follower: idle, Source: s.source})
		return m.Percent(t.Context(), opensearch.Placed{ID: workspace, Wanted: opensearch.OpenSearch, Serving: opensearch.Local})
	}
	s.source.put("a", "text")
	if n, ok := percent(s.url); n != 0 || !ok {
		t.Errorf("before there is an index: %d, %v", n, ok)
	}
	_, stop := s.follower(s.url)
	s.same("when it is filled")
	stop()
	if n, ok := percent(s.url); n != 99 || !ok {
		t.Errorf("before searches read it: %d, %v", n, ok)
	}
	s.source.put("b", "text")
	if n, ok := percent(s.url); n != 50 || !ok {
		t.Errorf("with half of the changes: %d, %v", n, ok)
	}
	if _, ok := percent("http://127.0.0.1:1"); ok {
		t.Error("it is known while the cluster is away")
	}
}
