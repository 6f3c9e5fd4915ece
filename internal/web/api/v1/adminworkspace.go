package v1

import (
	"cmp"
	"context"

	"keepsake/internal/base/page"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// AddAdminWorkspaces declares the operations on workspaces. They concern the whole instance.
//
// move describes the move of a search index; nil: there is none.
func AddAdminWorkspaces(
	r *endpoint.Registry, people *account.Service, cursors *page.Sealer, move func(ctx context.Context, w *account.Workspace) *SearchMove,
) {
	op := func(id, method, path, summary string, errors ...string) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: method, Path: "/admin/workspaces" + path, Since: 1, Tag: "admin", Summary: summary,
			Description: "Only credentials of the operator workspace can call this operation.",
			Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Admin, Operator: true, Status: 200, Vital: true, Errors: errors,
		}
	}

	create := op("createWorkspace", "POST", "", "Create a workspace")
	create.Status, create.Idempotent = 201, true
	endpoint.Add(r, create, func(ctx context.Context, in *createWorkspace) (*oneWorkspace, error) {
		w, err := people.CreateWorkspace(ctx, auth.From(ctx), account.NewWorkspace{Name: in.Body.Name, Tier: in.Body.Tier})
		if err != nil {
			return nil, err
		}
		out := answerWorkspace(w, move(ctx, w))
		out.Location = "/admin/workspaces/" + w.ID
		return out, nil
	})

	endpoint.Add(r, op("listWorkspaces", "GET", "", "List workspaces, newest first"),
		func(ctx context.Context, in *listWorkspaces) (*workspaceList, error) {
			return in.list(ctx, people, cursors, move)
		})

	endpoint.Add(r, op("getWorkspace", "GET", "/{id}", "Get a workspace", problem.CodeNotFound),
		func(ctx context.Context, in *namedWorkspace) (*oneWorkspace, error) {
			w, err := people.Workspace(ctx, in.ID)
			if err != nil {
				return nil, err
			}
			return answerWorkspace(w, move(ctx, w)), nil
		})

	change := op("changeWorkspace", "PATCH", "/{id}", "Change a workspace",
		problem.CodeNotFound, problem.CodeConflict, problem.CodeRevisionMismatch)
	change.Description += " Fields that are omitted do not change. All later requests with credentials of a suspended workspace are refused with " +
		"403 workspace_suspended. Changing the tier does not reset usage."
	endpoint.Add(r, change, func(ctx context.Context, in *changeWorkspace) (*oneWorkspace, error) {
		w, err := people.ChangeWorkspace(ctx, auth.From(ctx), in.ID, in.IfMatch.Revisions(), account.WorkspaceChange{
			Name: in.Body.Name.Pointer(), Tier: in.Body.Tier.Pointer(), Suspended: in.Body.Suspended.Pointer(),
			Embeddings: in.Body.Embeddings.Pointer(), SearchEngine: in.Body.SearchEngine.Pointer(),
		})
		if err != nil {
			return nil, err
		}
		return answerWorkspace(w, move(ctx, w)), nil
	})
}

type createWorkspace struct {
	Body struct {
		Name string `json:"name" maxLength:"120" doc:"The display name." example:"Ärztehaus Mitte"`
		Tier string `json:"tier" default:"free" maxLength:"64" doc:"The name of a tier." example:"pro"`
	}
}

type changeWorkspace struct {
	ID      string           `path:"id" doc:"The ID of the workspace."`
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    struct {
		Name       wire.Optional[string] `json:"name" nullable:"false" maxLength:"120" doc:"The display name of the workspace."`
		Tier       wire.Optional[string] `json:"tier" nullable:"false" maxLength:"64" doc:"The name of the workspace's new tier, whose limits apply at once."`
		Suspended  wire.Optional[bool]   `json:"suspended" nullable:"false" doc:"Whether the workspace is suspended, so that all requests with its credentials are refused."`
		Embeddings wire.Optional[bool]   `json:"embeddings" nullable:"false" doc:"Whether texts of memories, and of questions about them, are sent to the embeddings endpoint that is set for the instance. They then leave the machine. Without an endpoint it has no effect."`

		SearchEngine wire.Optional[string] `json:"searchEngine" nullable:"false" maxLength:"64" doc:"The place for the search index: local, in each process, or opensearch, in the cluster that is set for the instance, which then stores the words, tags and metadata of the documents. The index is moved in the background, and the old one answers meanwhile."`
	}
}

type namedWorkspace struct {
	ID string `path:"id" doc:"The ID of the workspace."`
}

type listWorkspaces struct{ pageQuery }

type oneWorkspace struct {
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     workspaceRecord
}

type workspaceList struct {
	Body struct {
		Items      []workspaceRecord `json:"items"`
		NextCursor *string           `json:"nextCursor"`
	}
}

type workspaceRecord struct {
	ID         string `json:"id" doc:"The ID of the workspace, which begins with wsp_." example:"wsp_01kakakakafkhvayayayayayay"`
	Name       string `json:"name" doc:"The display name of the workspace."`
	Tier       string `json:"tier" doc:"The name of the workspace's tier, which sets its limits." example:"pro"`
	Operator   bool   `json:"operator" doc:"Whether this is the operator workspace, which was created at the first start. Its admins administer the whole instance."`
	Suspended  bool   `json:"suspended" doc:"Whether the workspace is suspended, so that all requests with its credentials are refused."`
	Embeddings bool   `json:"embeddings" doc:"Whether texts of memories, and of questions about them, are sent to the embeddings endpoint."`

	SearchEngine string      `json:"searchEngine" doc:"The place of the search index, or the one to which it is moved: local or opensearch."`
	SearchMove   *SearchMove `json:"searchMove" doc:"The move of the search index; null: none is going on."`

	CreatedAt wire.Time `json:"createdAt"`
	Revision  int64     `json:"revision"`
}

// SearchMove is the move of a search index. The old one answers until the new one is complete.
type SearchMove struct {
	From    string `json:"from" doc:"The engine that answers searches now: local or opensearch."`
	Percent *int   `json:"percent" doc:"How much of the new index is built, in percent; null: the cluster does not answer." example:"41"`
}

func (in *listWorkspaces) list(
	ctx context.Context, people *account.Service, cursors *page.Sealer, move func(ctx context.Context, w *account.Workspace) *SearchMove,
) (*workspaceList, error) {
	scope := page.Scope(auth.From(ctx).WorkspaceID, "listWorkspaces")
	found, next, err := readAhead(in.pageQuery, cursors, scope, func(after *idPosition, limit int) ([]account.Workspace, error) {
		if after == nil {
			after = &idPosition{}
		}
		return people.ListWorkspaces(ctx, after.ID, limit)
	}, func(w account.Workspace) idPosition { return idPosition{w.ID} })
	if err != nil {
		return nil, err
	}
	out := &workspaceList{}
	out.Body.Items, out.Body.NextCursor = viewsOf(found, func(w *account.Workspace) workspaceRecord {
		return viewOfWorkspaceRecord(w, move(ctx, w))
	}), next
	return out, nil
}

func answerWorkspace(w *account.Workspace, move *SearchMove) *oneWorkspace {
	return &oneWorkspace{ETag: endpoint.ETag(w.Revision), Body: viewOfWorkspaceRecord(w, move)}
}

func viewOfWorkspaceRecord(w *account.Workspace, move *SearchMove) workspaceRecord {
	return workspaceRecord{
		ID: w.ID, Name: w.Name, Tier: w.Tier, Operator: w.Operator, Suspended: w.Suspended, Embeddings: w.Embeddings,
		SearchEngine: cmp.Or(w.Search.Engine, account.SearchLocal), SearchMove: move,
		CreatedAt: wire.At(w.CreatedAt), Revision: w.Revision,
	}
}
