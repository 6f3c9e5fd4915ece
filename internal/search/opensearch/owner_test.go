package opensearch_test

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

func TestOneInstallationHasAPrefix(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	names := []string{"this", "that", "another"}
	var all sync.WaitGroup
	errs := make([]error, len(names))
	for i, name := range names {
		all.Go(func() { errs[i] = opensearch.NewOwner(s.client, s.prefix, name).Take(t.Context()) })
	}
	all.Wait()
	winner := slices.Index(errs, nil)
	for i, name := range names {
		if i != winner && opensearch.StateOf(errs[i]) != opensearch.Foreign {
			t.Errorf("%s: %v", name, errs[i])
		}
		again := opensearch.NewOwner(s.client, s.prefix, name)
		if err := again.Check(t.Context()); (err == nil) != (i == winner) {
			t.Errorf("%s, checked: %v", name, err)
		}
		if err := again.Take(t.Context()); (err == nil) != (i == winner) {
			t.Errorf("%s, again: %v", name, err)
		}
	}
}

// A second installation touches nothing of the first one, and follows when the prefix is its own.
func TestASecondInstallationWithOnePrefixRefuses(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	s.source.put("a", "text")
	s.follower(s.url)
	s.same("before")
	other := opensearch.NewFollower(opensearch.FollowerOptions{
		Client: s.client, Prefix: s.prefix, Owner: "that", Source: newTable(), Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	stop := running(t, other.Run)
	other.Follow([]string{workspace, "wsp_2"})
	for _, id := range []string{workspace, "wsp_2"} {
		await.Until(t, "the second installation refuses "+id, func() bool { return other.Progress()[id].State == opensearch.Foreign })
	}
	mover := s.mover(other, opensearch.Placed{ID: "wsp_3"})
	await.Until(t, "the second installation has looked for what is left", func() bool { return mover.looked() > 1 })
	s.source.put("b", "text")
	s.same("beside another installation")
	f, err := s.client.Examine(t.Context(), s.prefix)
	if err != nil || f.Owner != "this" || f.Indexes != 2 || len(f.Foreign) > 0 {
		t.Errorf("the facts are %+v, %v", f, err)
	}
	// An operator deletes the index that says whose the prefix is, while the indexes are still the first one's.
	stop()
	s.do(http.MethodDelete, "/"+s.prefix+"owner", "")
	if err := opensearch.NewOwner(s.client, s.prefix, "that").Take(t.Context()); err != nil {
		t.Error(err)
	}
	if f, err = s.client.Examine(t.Context(), s.prefix); err != nil || len(f.Foreign) != 2 {
		t.Errorf("the facts are %+v, %v", f, err)
	}
	third := opensearch.NewFollower(opensearch.FollowerOptions{
		Client: s.client, Prefix: s.prefix, Owner: "that", Source: newTable(), Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	running(t, third.Run)
	third.Follow([]string{workspace})
	await.Until(t, "an index of another installation is left alone", func() bool { return third.Progress()[workspace].State == opensearch.Foreign })
	if got := s.search(); len(got) != 2 {
		t.Errorf("the index has %v", got)
	}
}

// An index goes when its workspace has moved back or is not in the database, also if OpenSearch was away then.
func TestAnIndexThatNoWorkspaceHasIsDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	var ids []string
	for _, id := range []string{workspace, "wsp_2", "wsp_22", "wsp_local"} {
		ids = append(ids, id)
		s.source.put("a", "text")
	}
	f, stop := s.follower(s.url)
	f.Follow(ids)
	for _, id := range ids {
		await.Until(t, id+" has an index", func() bool { p := f.Progress()[id]; return p.Serving && p.Position == p.Last })
	}
	stop()
	s.do(http.MethodPut, "/"+s.prefix+"wsp_other-1", `{"mappings":{"_meta":{"owner":"that"}}}`)
	s.do(http.MethodPut, "/"+s.prefix+"mine-1", `{}`)
	s.mover(f, opensearch.Placed{ID: "wsp_22", Wanted: opensearch.OpenSearch, Serving: opensearch.OpenSearch},
		opensearch.Placed{ID: workspace, Wanted: opensearch.OpenSearch, Serving: opensearch.Local},
		opensearch.Placed{ID: "wsp_local", Wanted: opensearch.Local, Serving: opensearch.Local})
	want := []string{"mine-1", "owner", "wsp_1-1", "wsp_1-1.words", "wsp_22-1", "wsp_22-1.words", "wsp_other-1"}
	await.Until(t, "only indexes of use are left", func() bool { return slices.Equal(s.indexes(), want) })
}

// indexes lists the indexes with the prefix, without it.
func (s *site) indexes() (names []string) {
	s.t.Helper()
	for line := range strings.Lines(string(s.do(http.MethodGet, "/_cat/indices/"+s.prefix+"*?h=index", ""))) {
		names = append(names, strings.TrimPrefix(strings.TrimSpace(line), s.prefix))
	}
	slices.Sort(names)
	return names
}

// mover is one that moves nothing.
type mover struct {
	mu    sync.Mutex
	looks int
}

func (m *mover) looked() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.looks
}

// mover starts one, with workspaces that stay where they are.
func (s *site) mover(f *opensearch.Follower, all ...opensearch.Placed) *mover {
	s.t.Helper()
	m := &mover{}
	run := opensearch.NewMover(opensearch.MoverOptions{
		Client: s.client, Prefix: s.prefix, Follower: f, Source: s.source, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Workspaces: func() []opensearch.Placed {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.looks++
			return nil
		},
		Stored: func(context.Context) ([]opensearch.Placed, error) { return all, nil },
	})
	running(s.t, run.Run)
	return m
}

// running runs something until stop, or the end of the test.
func running(t *testing.T, run func(context.Context) error) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		<-done
	})
	t.Cleanup(stop)
	return stop
}
