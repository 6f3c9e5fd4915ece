package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/api"
	"keepsake/internal/web/api/apitest"
	"keepsake/internal/web/endpoint"
)

// bundle is a new surface whose operations do what the request asks for.
type bundle struct {
	*apitest.Place
	t       *testing.T
	clock   *apitest.Clock
	handler http.Handler
	notes   *notes
}

// notes is a resource for tests: it remembers how often it was changed.
type notes struct {
	created int
	fail    error         // what create answers next
	block   chan struct{} // create waits for it, when there is one
	entered chan struct{} // and says here that it waits

	mu   sync.Mutex // held by create while it writes
	text map[string]string
}

type noteBody struct {
	ID     string  `json:"id"`
	Text   string  `json:"text"`
	Secret *string `json:"secret" once:"true"`
}

type noteAnswer struct {
	Location string `header:"Location"`
	ETag     string `header:"ETag"`
	Body     noteBody
}

type createIn struct {
	Body struct {
		Text string `json:"text" maxLength:"200000"`
	}
}

// Harmless is what the text says it is.
func (in *createIn) Harmless() bool { return in.Body.Text == "harmless" }

func setup(t *testing.T, change ...func(o *api.Options)) *bundle {
	t.Helper()
	b := &bundle{t: t, clock: &apitest.Clock{}, notes: &notes{text: map[string]string{}}}
	b.Place = apitest.New(b.clock.Now, apitest.Tiers())
	o := b.Options(operations(b.notes))
	o.Document = func(version int) ([]byte, error) { return json.Marshal(map[string]int{"version": version}) }
	for _, f := range change {
		f(&o)
	}
	b.handler = apitest.Surface(o)
	return b
}

// operations are one for each way an operation can be.
func operations(n *notes) *endpoint.Registry {
	r := endpoint.NewRegistry()
	op := func(id, method, path string, scope auth.Scopes) endpoint.Operation {
		return endpoint.Operation{
			ID: id, Method: method, Path: path, Since: 1, Tag: "notes", Summary: "Test", Credentials: endpoint.Key, Scope: scope, Status: 200,
		}
	}
	type nothing struct{}
	type pong struct {
		Body struct {
			Scopes string `json:"scopes"`
		}
	}
	ping := func(ctx context.Context, _ *nothing) (*pong, error) {
		out := &pong{}
		out.Body.Scopes = auth.From(ctx).Scopes.String()
		return out, nil
	}
	endpoint.Add(r, op("ping", "GET", "/ping", auth.None), ping)
	endpoint.Add(r, op("read", "GET", "/read", auth.Read), ping)
	endpoint.Add(r, op("administer", "GET", "/administer", auth.Admin), ping)
	open := op("open", "GET", "/api/open", auth.None)
	open.Since, open.Credentials = 0, endpoint.NoCredential
	endpoint.Add(r, open, func(context.Context, *nothing) (*pong, error) { return &pong{}, nil })
	endpoint.Add(r, op("panics", "GET", "/panics", auth.None), func(context.Context, *nothing) (*pong, error) { panic("secret of the panic") })
	endpoint.Add(r, op("fails", "GET", "/fails", auth.None), func(context.Context, *nothing) (*pong, error) {
		return nil, errors.New("secret of the failure")
	})
	endpoint.Add(r, op("unavailable", "GET", "/unavailable", auth.None), func(context.Context, *nothing) (*pong, error) {
		return nil, problem.NotAvailable("The disk is full.", time.Second).Because(errors.New("no space left"))
	})
	endpoint.Add(r, op("waits", "GET", "/waits", auth.None), func(ctx context.Context, _ *nothing) (*pong, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})

	create := op("createNote", "POST", "/notes", auth.Write)
	create.Status, create.Idempotent, create.Errors = 201, true, []string{problem.CodeConflict}
	endpoint.Add(r, create, func(_ context.Context, in *createIn) (*noteAnswer, error) { return n.create(in.Body.Text) })
	type readIn struct {
		ID string `path:"id"`
	}
	endpoint.Add(r, op("readNote", "GET", "/notes/{id}", auth.Read), func(_ context.Context, in *readIn) (*noteAnswer, error) {
		text, ok := n.text[in.ID]
		if !ok {
			return nil, problem.Missing()
		}
		return &noteAnswer{ETag: `"1"`, Body: noteBody{ID: in.ID, Text: text}}, nil
	})
	load := op("importNotes", "POST", "/notes/import", auth.Write)
	load.Class, load.Media, load.Idempotent = endpoint.Stream, "application/x-ndjson", true
	type importIn struct {
		Stream io.Reader
	}
	type importOut struct {
		Body struct {
			Bytes int `json:"bytes"`
			Count int `json:"count"`
		}
	}
	endpoint.Add(r, load, func(_ context.Context, in *importIn) (*importOut, error) {
		data, err := io.ReadAll(in.Stream)
		if err != nil {
			return nil, err
		}
		n.created++
		out := &importOut{}
		out.Body.Bytes, out.Body.Count = len(data), n.created
		return out, nil
	})
	return r
}

func (n *notes) create(text string) (*noteAnswer, error) {
	if n.block != nil {
		n.entered <- struct{}{}
		<-n.block
	}
	if n.fail != nil {
		return nil, n.fail
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.created++
	id := "note_" + strings.Repeat("i", n.created)
	n.text[id] = text
	secret := "shown once"
	return &noteAnswer{Location: "/notes/" + id, ETag: `"1"`, Body: noteBody{ID: id, Text: text, Secret: &secret}}, nil
}

// request makes one, headers in pairs.
func request(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// answer is what came back, the body read as JSON where it is an object.
type answer struct {
	*http.Response
	text   string
	object map[string]any
}

func (b *bundle) do(method, target, body string, headers ...string) answer {
	b.t.Helper()
	return b.send(request(method, target, body, headers...))
}

func (b *bundle) send(r *http.Request) answer {
	b.t.Helper()
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	a := answer{Response: w.Result(), text: w.Body.String()}
	header := http.Header{} // as a client reads it
	for name, values := range a.Header {
		header[http.CanonicalHeaderKey(name)] = append(header[http.CanonicalHeaderKey(name)], values...)
	}
	a.Header = header
	_ = json.Unmarshal(w.Body.Bytes(), &a.object) // an answer that is no object has none
	return a
}

// want checks the status and, where it is not empty, the error code.
func (a answer) want(t *testing.T, status int, code string) answer {
	t.Helper()
	if a.StatusCode != status || code != "" && a.object["error"] != code {
		t.Fatalf("got %d %s, want %d %s", a.StatusCode, a.text, status, code)
	}
	return a
}

func (a answer) details(name string) any {
	details, _ := a.object["details"].(map[string]any)
	return details[name]
}
