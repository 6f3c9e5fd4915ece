package opensearch_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/search/index"
	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

// searches returns a function that returns how many documents a search finds that has no deadline. Each of its questions about the index can take as long as wait.
func (s *site) searches(url string, wait time.Duration) func() (found int64, err error) {
	s.t.Helper()
	client := newClient(s.t, opensearch.ClientOptions{URL: url, Timeout: time.Hour})
	ready := opensearch.NewReadiness(client, s.prefix, s.source.State, wait)
	cluster := opensearch.NewCluster(client, ready, func(string) bool { return true })
	return func() (int64, error) {
		ctx := context.WithoutCancel(s.t.Context())
		reader, err := cluster.Open(ctx, workspace, s.source.state())
		if err != nil {
			return 0, err
		}
		found, err := reader.Search(&index.Query{Any: []index.Word{{Stem: "fox", Word: "fox"}}, Limit: 1}, nil)
		if err != nil {
			return 0, err
		}
		return found.Total, nil
	}
}

// outcome is what came of a search.
type outcome struct {
	found int64
	err   error
}

func begun(search func() (int64, error)) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		found, err := search()
		done <- outcome{found, err}
	}()
	return done
}

// The node stops, with connections that stay open, after a search has learnt that the index has every change.
func TestAHangingNodeIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	node := enginetest.StartOpenSearch(t)
	s := newSite(t, node.URL)
	s.source.put("a", "a text about a fox")
	_, stop := s.follower(s.url)
	s.same("before")
	stop()
	search := s.searches(s.url, time.Second)
	await.Until(t, "a search is answered", func() bool {
		found, err := search()
		return err == nil && found == 1
	})
	node.Pause(t)
	var all []<-chan outcome
	for range 5 {
		all = append(all, begun(search))
	}
	for i, done := range all {
		o := await.Receive(t, "a search ends", done)
		if p, ok := problem.As(o.err); !ok || p.Kind != problem.Unavailable {
			t.Errorf("search %d: %d documents, %v", i, o.found, o.err)
		}
	}
	o := await.Receive(t, "a later search ends", begun(search))
	if p, ok := problem.As(o.err); !ok || p.Kind != problem.Unavailable {
		t.Errorf("a later search: %d documents, %v", o.found, o.err)
	}
	node.Resume(t)
	await.Until(t, "a search is answered again", func() bool {
		found, err := search()
		return err == nil && found == 1
	})
}

// An answer comes after the search has seen twice that the index answers.
func TestASlowNodeIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	s.source.put("a", "a text about a fox")
	s.follower(s.url)
	s.same("before")
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	looked := make(chan struct{}, 100)
	var slow atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case slow.Load() && strings.Contains(r.URL.Path, "position"):
			defer func() { looked <- struct{}{} }()
		case slow.Load():
			for range 2 {
				select {
				case <-looked:
				case <-r.Context().Done():
				}
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	search := s.searches(server.URL, time.Minute)
	for range 2 {
		if found, err := search(); err != nil || found != 1 {
			t.Errorf("%d documents are found, %v", found, err)
		}
		slow.Store(true)
	}
}
