package v1

import (
	"context"
	"strconv"
	"strings"

	"keepsake/internal/base/id"
	"keepsake/internal/base/page"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
)

// callerPosition is a position in the list of a version's callers.
type callerPosition struct {
	Workspace string `json:"w"`
	Caller    string `json:"k"`
	Route     string `json:"r"`
	Client    string `json:"c"`
}

func (in *listVersionCallers) list(ctx context.Context, v *Versions, cursors *page.Sealer) (*versionCallerList, error) {
	p := auth.From(ctx)
	q := lifecycle.CallerQuery{Version: in.number(), NoConsole: !in.Console}
	if in.From != nil {
		q.From = *in.From.Moment()
	}
	scope := page.Scope(p.WorkspaceID, "listVersionCallers", in.N, q.From.String(), strconv.FormatBool(in.Console))
	found, next, err := readAhead(in.pageQuery, cursors, scope, func(after *callerPosition, limit int) ([]lifecycle.Caller, error) {
		q.Limit = limit
		if after != nil {
			q.After = &lifecycle.Caller{WorkspaceID: after.Workspace, CallerID: after.Caller, Route: after.Route, Client: after.Client}
		}
		return v.Service.CallersOf(ctx, p, q)
	}, func(c lifecycle.Caller) callerPosition {
		return callerPosition{c.WorkspaceID, c.CallerID, c.Route, c.Client}
	})
	if err != nil {
		return nil, err
	}
	out := &versionCallerList{}
	out.Body.Items, out.Body.NextCursor = viewsOf(found, viewOfCaller), next
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
