package v1

import (
	"context"
	"strings"

	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/lifecycle"
	"keepsake/internal/page"
	"keepsake/internal/wire"
)

// callerPosition is the content of a cursor of the list of a version's callers: the last one before.
type callerPosition struct {
	Workspace string `json:"w"`
	Caller    string `json:"k"`
	Route     string `json:"r"`
	Client    string `json:"c"`
}

func (in *listVersionCallers) list(ctx context.Context, v *Versions, cursors *page.Sealer) (*versionCallerList, error) {
	p := auth.From(ctx)
	q := lifecycle.CallerQuery{Version: in.number(), Limit: in.Limit + 1}
	if in.From != nil {
		q.From = *in.From.Moment()
	}
	scope := page.Scope(p.WorkspaceID, "listVersionCallers", in.N, q.From.String())
	if in.Cursor != "" {
		var at callerPosition
		if err := cursors.Open(scope, in.Cursor, &at); err != nil {
			return nil, err
		}
		q.After = &lifecycle.Caller{WorkspaceID: at.Workspace, CallerID: at.Caller, Route: at.Route, Client: at.Client}
	}
	found, err := v.Service.CallersOf(ctx, p, q)
	if err != nil {
		return nil, err
	}
	out := &versionCallerList{}
	if len(found) > in.Limit {
		found = found[:in.Limit]
		last := &found[in.Limit-1]
		next := cursors.Seal(scope, callerPosition{last.WorkspaceID, last.CallerID, last.Route, last.Client})
		out.Body.NextCursor = &next
	}
	out.Body.Items = make([]versionCallerView, len(found))
	for i := range found {
		out.Body.Items[i] = viewOfCaller(&found[i])
	}
	return out, nil
}

func viewOfCaller(c *lifecycle.Caller) versionCallerView {
	view := versionCallerView{WorkspaceID: c.WorkspaceID, LastAt: wire.At(c.LastAt)}
	if _, isKey := id.Parse(id.APIKey, c.CallerID); isKey {
		view.KeyID = &c.CallerID
	} else {
		view.UserID = &c.CallerID
	}
	if method, route, ok := strings.Cut(c.Route, " "); ok {
		view.Method, view.Route = &method, &route
	}
	if c.Client != "" {
		view.Client = &c.Client
	}
	return view
}
