package opensearch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/search/document"
	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

// watched counts the reads of states, and can fail.
type watched struct {
	*table
	together, single atomic.Int64
	most             atomic.Int64 // workspaces of one read
	failsTogether    atomic.Bool
	fails            atomic.Bool
}

var errAway = errors.New("the database is away")

func (w *watched) States(ctx context.Context, workspaceIDs []string) (map[string]document.State, error) {
	w.together.Add(1)
	w.most.Store(max(w.most.Load(), int64(len(workspaceIDs))))
	if w.fails.Load() || w.failsTogether.Load() {
		return nil, errAway
	}
	return w.table.States(ctx, workspaceIDs)
}

func (w *watched) State(ctx context.Context, workspaceID string) (document.State, error) {
	w.single.Add(1)
	if w.fails.Load() {
		return document.State{}, errAway
	}
	return w.table.State(ctx, workspaceID)
}

func TestStatesOfAllWorkspacesAreReadTogether(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	source := &watched{table: s.source}
	f := opensearch.NewFollower(opensearch.FollowerOptions{
		Client: s.client, Prefix: s.prefix, Owner: "this", Source: source, Log: slog.New(slog.DiscardHandler), Now: time.Now,
		Poll: 50 * time.Millisecond,
	})
	ids := []string{workspace, "wsp_2", "wsp_3", "wsp_4"}
	f.Follow(ids)
	running(t, f.Run)
	followed := func(state opensearch.State) func() bool {
		return func() bool {
			last := s.source.state().Change
			return !slices.ContainsFunc(ids, func(id string) bool {
				p := f.Progress()[id]
				return p.State != state || state == opensearch.Healthy && (!p.Serving || p.Position != last)
			})
		}
	}
	s.source.put("a", "text")
	await.Until(t, "all are followed", followed(opensearch.Healthy))
	before := source.together.Load()
	source.single.Store(0)
	await.Until(t, "states are read", func() bool { return source.together.Load() >= before+40 })
	if most := source.most.Load(); most != int64(len(ids)) {
		t.Errorf("the states of at most %d workspaces are read together, want %d", most, len(ids))
	}
	if n := source.single.Load(); n > int64(len(ids)) {
		t.Errorf("at rest, states are read %d times one by one", n)
	}
	// Each worker looks by itself when they cannot be read together.
	source.failsTogether.Store(true)
	for n := range 3 {
		s.source.put(fmt.Sprint("b", n), "text")
		await.Until(t, "a change is followed", followed(opensearch.Healthy))
	}
	source.fails.Store(true)
	await.Until(t, "each workspace says that the database is away", followed(opensearch.Failed))
	s.source.put("c", "text")
	source.fails.Store(false)
	source.failsTogether.Store(false)
	await.Until(t, "all are followed again", followed(opensearch.Healthy))
	s.same("at the end")
}

// A process that does not follow a workspace can tell how far its index is.
func TestAnotherProcessTellsWhatAnIndexLacks(t *testing.T) {
	t.Parallel()
	s := newSite(t, enginetest.OpenSearch(t))
	s.source.put("a", "text")
	_, stop := s.follower(s.url)
	s.same("at first")
	stop()
	s.source.put("b", "text")
	s.source.put("c", "text")
	other := opensearch.NewFollower(opensearch.FollowerOptions{
		Client: s.client, Prefix: s.prefix, Owner: "this", Source: s.source, Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
	behind, err := other.Behind(t.Context(), []string{"wsp_none", workspace})
	if err != nil || !maps.Equal(behind, map[string]int64{workspace: 2}) {
		t.Errorf("got %v, %v, want two changes of the workspace that has an index", behind, err)
	}
}
