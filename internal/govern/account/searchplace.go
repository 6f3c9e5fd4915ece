package account

import (
	"context"
	"fmt"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
)

// The engines of search indexes.
const (
	SearchLocal      = "local"      // an index in each process
	SearchOpenSearch = "opensearch" // one in an OpenSearch cluster
)

// SearchPlace says where the search index of a workspace is.
type SearchPlace struct {
	Engine string // the engine that it is to have
	Reads  string // the engine that searches read; another one during a move
}

// checkSearch refuses an engine that does not exist, or that cannot be used now.
func (s *Service) checkSearch(ctx context.Context, engine *string) error {
	switch {
	case engine == nil, *engine == SearchLocal:
		return nil
	case *engine != SearchOpenSearch:
		return problem.Validation("searchEngine", problem.NotAllowed, "searchEngine must be local or opensearch.")
	case s.SearchReady == nil:
		return problem.Validation("searchEngine", problem.NotAllowed, "This instance has no OpenSearch: the setting search.opensearch.url is empty.")
	}
	return s.SearchReady(ctx)
}

// SearchMoved records that searches of a workspace read an engine from now on. It does nothing if the workspace is to have another one.
func (s *Service) SearchMoved(ctx context.Context, workspaceID, engine string) error {
	err := s.Units.Run(ctx, func(ctx context.Context) error {
		w, err := s.Workspace(ctx, workspaceID)
		if err != nil {
			return err
		}
		if w.Search.Engine != engine || w.Search.Reads == engine {
			return nil
		}
		w.Search.Reads = engine
		w.Revision++
		if err := s.Store.UpdateWorkspace(ctx, w); err != nil {
			return err
		}
		s.putAfterCommit(ctx, w)
		return s.Audit.Record(ctx, audit.Entry{
			Action: audit.WorkspaceChanged, WorkspaceID: w.ID, Target: w.ID, Details: map[string]string{"searchMoved": engine},
		})
	})
	if err != nil {
		return fmt.Errorf("record the move of a search index: %w", err)
	}
	return nil
}

// SearchPlaces lists where the search indexes of all workspaces are.
func (d *Directory) SearchPlaces() map[string]SearchPlace {
	all := *d.entries.Load()
	places := make(map[string]SearchPlace, len(all))
	for id, e := range all {
		places[id] = e.Search()
	}
	return places
}

// Search says where the workspace's search index is.
func (e *Entry) Search() SearchPlace { return e.snapshot.Load().search }
