package endpoint_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

// The fixture's operations have one of everything an operation can declare.

type colour string

type noteFields struct {
	Title string `json:"title" maxLength:"10" doc:"What it is about."`
	Text  string `json:"text" required:"false" maxBytes:"12"`
}

type place struct {
	Street string `json:"street" minLength:"2"`
	Number int64  `json:"number" minimum:"1" maximum:"99"`
}

type noteBody struct {
	noteFields
	Kind      string           `json:"kind" enum:"plain,rich" default:"plain"`
	Colour    colour           `json:"colour" required:"false" pattern:"^[a-z]+$"`
	Weight    int64            `json:"weight"`
	Ratio     *float64         `json:"ratio" minimum:"0" maximum:"1"`
	Pinned    bool             `json:"pinned" required:"false"`
	Tags      []string         `json:"tags" required:"false" maxItems:"3" minLength:"1" maxLength:"5"`
	Where     *place           `json:"where"`
	Places    []place          `json:"places" required:"false" maxItems:"2"`
	ByName    map[string]place `json:"byName" required:"false" maxProperties:"2"`
	ExpiresAt *wire.Time       `json:"expiresAt"`
	Metadata  wire.Metadata    `json:"metadata" required:"false" maxProperties:"2"`
	Link      *string          `json:"link" format:"uri"`
	Later     wire.Value       `json:"later" unsupported:"true"`
}

type createNote struct {
	Body noteBody
}

type changeNote struct {
	ID      string           `path:"id" pattern:"^[a-z0-9]{1,8}$"`
	IfMatch endpoint.IfMatch `header:"If-Match"`
	Body    struct {
		Title  wire.Optional[string]   `json:"title" nullable:"false" maxLength:"10"`
		Weight wire.Optional[int64]    `json:"weight" minimum:"-5"`
		Where  wire.Optional[place]    `json:"where"`
		Tags   wire.Optional[[]string] `json:"tags" nullable:"false" maxItems:"2"`
	}
}

type paging struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor string `query:"cursor"`
}

type listNotes struct {
	paging
	Q      string     `query:"q" required:"true" maxLength:"8"`
	State  string     `query:"state" enum:"open,done"`
	Tags   []string   `query:"tag" maxItems:"2" maxLength:"4"`
	Pinned *bool      `query:"pinned"`
	Score  float64    `query:"score" minimum:"0.5"`
	Since  *wire.Time `query:"since"`
	Facets string     `query:"facets" unsupported:"true"`
	Mode   string     `header:"X-Mode" enum:"a,b"`
}

type searchNotes struct {
	Body *struct {
		Reason string `json:"reason" required:"false" maxLength:"5"`
	}
}

type importNotes struct {
	Stream io.Reader
}

type noteView struct {
	ID        string        `json:"id" example:"n1"`
	Title     string        `json:"title"`
	Weight    int64         `json:"weight"`
	Where     *place        `json:"where"`
	Tags      []string      `json:"tags"`
	Metadata  wire.Metadata `json:"metadata"`
	ExpiresAt *wire.Time    `json:"expiresAt"`
	Kind      *string       `json:"kind" enum:"plain,rich"`
	Note      string        `json:"note,omitzero"`
}

type oneNote struct {
	Status   int    `enum:"200,201"`
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     noteView
}

type createdView struct {
	noteView
	Key *string `json:"key" once:"true"`
}

type newNote struct {
	Status   int    `enum:"200,201"`
	ETag     string `header:"ETag"`
	Location string `header:"Location"`
	Body     createdView
}

type noteList struct {
	ETag string `header:"ETag"`
	Body struct {
		Items      []noteView `json:"items"`
		NextCursor *string    `json:"nextCursor"`
	}
}

type health struct {
	Body struct {
		Status  string    `json:"status"`
		Version string    `json:"version"`
		At      wire.Time `json:"timestamp"`
	}
}

// echo keeps the last input an operation got.
type echo struct{ in any }

func give[In, Out any](e *echo, out *Out) func(context.Context, *In) (*Out, error) {
	return func(_ context.Context, in *In) (*Out, error) {
		e.in = in
		return out, nil
	}
}

// notes is the fixture's registry; what was bound last stands in e.
func notes(e *echo) *endpoint.Registry {
	r := endpoint.NewRegistry()
	op := func(id, method, path string, scope auth.Scopes, status int) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: method, Path: path, Since: 1, Summary: id, Tag: "notes",
			Credentials: endpoint.Key, Scope: scope, Status: status,
		}
	}
	secret := "s3cret"
	create := op("createNote", "POST", "/notes", auth.Write, 201)
	create.Idempotent, create.Errors = true, []string{problem.CodeLimitReached}
	endpoint.Add(r, create, give[createNote](e, &newNote{
		ETag: endpoint.ETag(1), Location: "/api/v1/notes/n1",
		Body: createdView{noteView: noteView{ID: "n1", Title: "a<b"}, Key: &secret},
	}))
	endpoint.Add(r, op("changeNote", "PATCH", "/notes/{id}", auth.Write, 200), give[changeNote](e, &oneNote{Body: noteView{ID: "n1"}}))
	endpoint.Add(r, op("removeNote", "DELETE", "/notes/{id}", auth.Write, 204), give[struct {
		ID string `path:"id"`
	}](e, &struct{}{}))
	endpoint.Add(r, op("listNotes", "GET", "/notes", auth.Read, 200), give[listNotes](e, &noteList{ETag: `"1"`}))
	endpoint.Add(r, op("touchNotes", "POST", "/notes/touch", auth.Write, 204), give[searchNotes](e, &struct{}{}))
	load := op("importNotes", "POST", "/notes/import", auth.Write, 204)
	load.Class, load.Media = endpoint.Stream, "application/x-ndjson"
	endpoint.Add(r, load, give[importNotes](e, &struct{}{}))
	endpoint.Add(r, endpoint.Operation{
		ID: "health", Method: "GET", Path: "/api/health", Summary: "Health", Tag: "health", Status: 200,
	}, give[struct{}](e, &health{}))
	return r
}

func operation(t testing.TB, r *endpoint.Registry, id string) *endpoint.Operation {
	t.Helper()
	for _, op := range r.Operations() {
		if op.ID == id {
			return op
		}
	}
	t.Fatalf("there is no operation %s", id)
	return nil
}

// request makes a request for op as the mux would hand it over. Each of path is a parameter's name and value.
func request(op *endpoint.Operation, query, body string, path ...string) *http.Request {
	target := op.Route(1)
	for i := 0; i < len(path); i += 2 {
		target = strings.ReplaceAll(target, "{"+path[i]+"}", path[i+1])
	}
	r := httptest.NewRequest(op.Method, target, strings.NewReader(body))
	if body == "" {
		r = httptest.NewRequest(op.Method, target, nil)
	} else {
		r.Header.Set("Content-Type", "application/json")
	}
	r.URL.RawQuery = query
	for i := 0; i < len(path); i += 2 {
		r.SetPathValue(path[i], path[i+1])
	}
	return r
}

// wants checks that err is a problem of that status, field and issue.
func wants(t testing.TB, err error, status int, field string, issue problem.Issue) {
	t.Helper()
	p, ok := problem.As(err)
	if !ok {
		t.Errorf("got %v, want a problem with status %d, field %q, issue %q", err, status, field, issue)
		return
	}
	if got := endpoint.StatusOf(p.Code); got != status || p.Details.Field != field || p.Details.Issue != issue {
		t.Errorf("got %d %q %q (%s), want %d %q %q", got, p.Details.Field, p.Details.Issue, p.Message, status, field, issue)
	}
}
