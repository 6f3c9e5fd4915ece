package local

import (
	"context"

	"keepsake/internal/base/problem"
	"keepsake/internal/search"
	"keepsake/internal/web/endpoint"
)

// AddReindex declares the rebuild of search indexes.
func AddReindex(r *endpoint.Registry, indexer *search.Indexer) {
	start := operation("startReindex", "POST", "/search/reindex", "Start to rebuild search indexes", problem.CodeConflict, problem.CodeNotFound)
	start.Status = 202
	endpoint.Add(r, start, func(ctx context.Context, in *startReindex) (*reindexing, error) {
		workspaceID := ""
		if in.Body != nil && in.Body.WorkspaceID != nil {
			workspaceID = *in.Body.WorkspaceID
		}
		state, err := indexer.StartRebuild(ctx, workspaceID)
		if err != nil {
			return nil, err
		}
		return viewOfRebuild(state), nil
	})
	endpoint.Add(r, operation("getReindex", "GET", "/search/reindex", "Get the progress of the last rebuild"),
		func(context.Context, *struct{}) (*reindexing, error) {
			return viewOfRebuild(indexer.Rebuilding()), nil
		})
}

type startReindex struct {
	Body *struct {
		WorkspaceID *string `json:"workspaceId" maxLength:"64" doc:"The workspace whose index is rebuilt; all when absent."`
	}
}

type reindexing struct {
	Body struct {
		Running    bool    `json:"running"`
		Workspaces int     `json:"workspaces"`
		Done       int     `json:"done" doc:"Workspaces whose index was replaced."`
		Changes    int64   `json:"changes" doc:"Changes of documents that were indexed."`
		Total      int64   `json:"total" doc:"An estimate of the changes to index."`
		Problem    *string `json:"problem"`
	}
}

func viewOfRebuild(s search.Rebuild) *reindexing {
	out := &reindexing{}
	b := &out.Body
	b.Running, b.Workspaces, b.Done, b.Changes, b.Total = s.Running, s.Workspaces, s.Done, s.Changes, s.Total
	if s.Problem != nil {
		text := s.Problem.Error()
		b.Problem = &text
	}
	return out
}
