package app

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"keepsake/internal/search/opensearch"
	v1 "keepsake/internal/web/api/v1"
)

const (
	maxShownWorkspaces = 20          // with an index in OpenSearch
	maxAskedWorkspaces = 200         // that other processes follow
	askPatience        = time.Second // with the cluster and the database
)

// openSearchNumbers describes the cluster and the workspaces there; nil: no cluster is set.
func (s *services) openSearchNumbers(ctx context.Context) *v1.OpenSearchNumbers {
	r := s.search.remote
	if r == nil {
		return nil
	}
	n := &v1.OpenSearchNumbers{State: v1.OpenSearchStarting}
	if reached := r.reached.Load(); reached != nil {
		n.State, n.Since, n.Version = string(opensearch.StateOf(reached.err)), &reached.since, reached.version
	}
	progress := r.follower.Progress()
	for _, place := range r.places() {
		if place.Wanted == opensearch.OpenSearch || place.Serving == opensearch.OpenSearch {
			n.Workspaces = append(n.Workspaces, r.described(place, progress[place.ID]))
		}
	}
	if n.State == string(opensearch.Healthy) {
		r.askFor(ctx, n.Workspaces)
	}
	n.Total = len(n.Workspaces)
	slices.SortFunc(n.Workspaces, worseFirst)
	n.Workspaces = n.Workspaces[:min(n.Total, maxShownWorkspaces)]
	return n
}

// described describes a workspace, as far as this process knows.
func (r *remoteSearch) described(place opensearch.Placed, p opensearch.Progress) v1.OpenSearchWorkspace {
	w := v1.OpenSearchWorkspace{ID: place.ID, SearchedIn: string(place.Serving), State: v1.OpenSearchElsewhere}
	if e, ok := r.accounts.Entry(place.ID); ok {
		w.Name = e.Name()
	}
	if place.Wanted != place.Serving {
		w.MovesTo = string(place.Wanted)
	}
	if !p.Here {
		return w
	}
	behind, complete := max(0, p.Last-p.Position), p.Serving
	w.State, w.Since, w.ChangesBehind, w.Complete = string(p.State), &p.Since, &behind, &complete
	if w.MovesTo == string(opensearch.OpenSearch) {
		w.MovePercent = new(opensearch.PercentOf(max(p.Position, p.Filling), p.Last))
	}
	return w
}

// askFor completes the descriptions of workspaces that other processes follow, if the cluster and the database answer in time.
func (r *remoteSearch) askFor(ctx context.Context, list []v1.OpenSearchWorkspace) {
	var ids []string
	for i := range list {
		if list[i].State == v1.OpenSearchElsewhere && len(ids) < maxAskedWorkspaces {
			ids = append(ids, list[i].ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	behind, err := r.follower.Behind(ctx, ids)
	if err != nil {
		return // the state of the cluster says why
	}
	for i := range list {
		if w := &list[i]; slices.Contains(ids, w.ID) {
			changes, complete := behind[w.ID]
			w.Complete = &complete
			if complete {
				w.ChangesBehind = &changes
			}
		}
	}
}

// worseFirst orders workspaces: those whose index is not in order, those without an index that searches can read, and those that are
// further behind.
func worseFirst(a, b v1.OpenSearchWorkspace) int {
	rank := func(w *v1.OpenSearchWorkspace) int {
		switch {
		case w.State != string(opensearch.Healthy) && w.State != v1.OpenSearchElsewhere:
			return 0
		case w.Complete != nil && !*w.Complete:
			return 1
		}
		return 2
	}
	behind := func(w *v1.OpenSearchWorkspace) int64 {
		if w.ChangesBehind == nil {
			return 0
		}
		return *w.ChangesBehind
	}
	return cmp.Or(cmp.Compare(rank(&a), rank(&b)), cmp.Compare(behind(&b), behind(&a)), strings.Compare(a.ID, b.ID))
}
