package v1

import (
	"context"
	"strings"
	"time"

	"keepsake/internal/base/page"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/analytics"
	"keepsake/internal/govern/auth"
)

type requestQuery struct {
	analyticsQuery
	pageQuery
	RequestID string `query:"requestId" maxLength:"64" doc:"List only requests with this ID. Without a period, all requests are searched."`
}

type requestList struct {
	NextCursor string `header:"X-Next-Cursor"`
	Body       struct {
		Items      []requestView `json:"items"`
		NextCursor *string       `json:"nextCursor"`
		Sampled    bool          `json:"sampled" doc:"Whether requests of the period were left out of the log, because there were too many in a second."`
	}
	CSV []byte
}

type requestView struct {
	At          wire.Time `json:"at" doc:"The time at which the request arrived."`
	RequestID   string    `json:"requestId"`
	WorkspaceID *string   `json:"workspaceId" doc:"The workspace of the caller. It is null for a caller without a valid credential, which only operators see."`
	KeyID       *string   `json:"keyId" doc:"The ID of the API key. It is null for requests without one."`
	UserID      *string   `json:"userId" doc:"The ID of the signed-in user. It is null for requests without an access token."`
	Route       string    `json:"route" doc:"The template of the path, or none for paths that do not exist."`
	Method      string    `json:"method" doc:"The HTTP method of the request."`
	Status      int       `json:"status" doc:"The HTTP status of the response."`
	Code        *string   `json:"code" doc:"The machine-readable code of the error. It is null for a success."`
	Ms          float64   `json:"ms" doc:"The time from the arrival of the request to the end of its response, in milliseconds."`
	Version     string    `json:"version" doc:"The number of the version of the API, or none for a request without one."`
	Surface     string    `json:"surface" enum:"primary,ai,backend,console" doc:"The surface that got the request: the API, the AI services, the backend service, or the API for the console."`
	Client      *string   `json:"client" doc:"The name of the calling program from User-Agent. It is null if there is none." example:"curl/8.5.0"`
}

// requestPosition is a position in the log of requests.
type requestPosition struct {
	At     int64 `json:"at"` // Unix microseconds
	Number int64 `json:"n,string"`
}

func (in *requestQuery) list(ctx context.Context, s *analytics.Service, cursors *page.Sealer) (*requestList, error) {
	p := auth.From(ctx)
	params := in.params()
	if in.RequestID != "" && in.Window == "" && in.From == nil && in.To == nil {
		since := s.LogSince()
		params.From = &since
	}
	q, err := s.Query(p, in.Workspace, params)
	if err != nil {
		return nil, err
	}
	found, next, err := readPage(in.pageQuery, cursors, in.scope(p), func(after *requestPosition) ([]analytics.Request, *requestPosition, error) {
		var before *analytics.Position
		if after != nil {
			before = &analytics.Position{At: time.UnixMicro(after.At).UTC(), Number: after.Number}
		}
		list, last, err := s.Requests(ctx, q, in.RequestID, before, in.Limit)
		if err != nil || last == nil {
			return list, nil, err
		}
		return list, &requestPosition{last.At.UnixMicro(), last.Number}, nil
	})
	if err != nil {
		return nil, err
	}
	out := &requestList{}
	b := &out.Body
	if b.Sampled, err = s.Sampled(ctx, q); err != nil {
		return nil, err
	}
	b.Items, b.NextCursor = viewsOf(found, viewOfRequest), next
	if in.table() {
		out.CSV = requestTable(b.Items)
		if next != nil {
			out.NextCursor = *next
		}
	}
	return out, nil
}

// scope identifies the list for its cursors.
func (in *requestQuery) scope(p *auth.Principal) string {
	return page.Scope(p.WorkspaceID, "listRequests", p.SubjectID, p.AgentID, in.Workspace, in.Window, timeText(in.From), timeText(in.To),
		strings.Join(in.Filter, "\n"), in.RequestID)
}

func timeText(t *wire.Time) string {
	if t == nil {
		return ""
	}
	return t.String()
}

func viewOfRequest(r *analytics.Request) requestView {
	return requestView{
		At: wire.At(r.At), RequestID: r.ID, WorkspaceID: textOrNull(r.WorkspaceID), KeyID: textOrNull(r.KeyID), UserID: textOrNull(r.UserID),
		Route: r.Of(analytics.Route), Method: r.Method, Status: r.Status, Code: textOrNull(r.Code), Ms: milliseconds(r.Took),
		Version: r.Of(analytics.Version), Surface: r.Surface, Client: textOrNull(r.Client),
	}
}

func requestTable(list []requestView) []byte {
	t := newTable("at", "requestId", "workspaceId", "keyId", "userId", "route", "method", "status", "code", "ms", "version", "surface", "client")
	for i := range list {
		v := &list[i]
		t.row(t.time(v.At.Time), v.RequestID, textOrEmpty(v.WorkspaceID), textOrEmpty(v.KeyID), textOrEmpty(v.UserID), v.Route, v.Method).
			numbers(int64(v.Status)).texts(textOrEmpty(v.Code)).decimals(&v.Ms).texts(v.Version, v.Surface, textOrEmpty(v.Client))
	}
	return t.bytes()
}
