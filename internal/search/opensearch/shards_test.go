package opensearch_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

func TestAnIndexThatOutgrowsItsShardsGetsMore(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	f := opensearch.NewFollower(opensearch.FollowerOptions{
		Client: s.client, Prefix: s.prefix, Owner: "this", Source: s.source, ShardBytes: 16 << 10, Log: slog.New(slog.DiscardHandler),
		Now: time.Now, Poll: 20 * time.Millisecond,
	})
	f.Follow([]string{workspace})
	running(t, f.Run)
	s.source.put("first", "text")
	s.same("with one document")
	first := s.index()
	shards := func() string {
		return strings.TrimSpace(string(s.do("GET", "/_cat/indices/"+s.index()+"?h=pri", "")))
	}
	if n := shards(); n != "1" {
		t.Errorf("an empty workspace has %s shards", n)
	}
	for n := range 1_000 {
		s.source.put(fmt.Sprint("d", n), fmt.Sprint("a text about foxes, number ", n, " of many that are like each other"))
	}
	s.same("before it is replaced")
	s.source.setLabel("") // looks at the indexes
	await.Until(t, "another index answers", func() bool {
		s.same("while it is replaced")
		return s.index() != first
	})
	if n := shards(); n == "1" {
		t.Error("it still has one shard")
	}
	s.source.remove("d1")
	s.source.put("d2", "another text")
	s.same("in several shards")
	if err := s.client.Probe(t.Context(), s.prefix); err != nil {
		t.Error(err)
	}
}
