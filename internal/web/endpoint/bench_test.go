package endpoint_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"keepsake/internal/base/wire"
	"keepsake/internal/web/endpoint"
)

// The benchmarks compare what the binder and the encoder cost with a handler written by hand that decodes with the same
// options and holds the same constraints:
//
//	go test -run '^$' -bench . -benchmem ./internal/web/endpoint

type article struct {
	Title    string        `json:"title" maxLength:"1024"`
	Text     string        `json:"text" required:"false" maxBytes:"262144"`
	URL      *string       `json:"url" maxLength:"2048"`
	Tags     []string      `json:"tags" required:"false" maxItems:"32" minLength:"1" maxLength:"64"`
	Priority int64         `json:"priority" minimum:"0" maximum:"9"`
	Metadata wire.Metadata `json:"metadata" required:"false" maxProperties:"32"`
}

type createArticle struct{ Body article }

type articleView struct {
	ID        string        `json:"id"`
	Title     string        `json:"title"`
	Text      string        `json:"text"`
	URL       *string       `json:"url"`
	Tags      []string      `json:"tags"`
	Priority  int64         `json:"priority"`
	Metadata  wire.Metadata `json:"metadata"`
	CreatedAt wire.Time     `json:"createdAt"`
}

type oneArticle struct{ Body articleView }

var articleJSON = []byte(`{"title":"How we keep opening hours","tags":["hours","handbook","public"],"priority":3,` +
	`"metadata":{"team":"front desk","floor":2,"reviewed":true},"url":"https://example.com/hours","text":"` +
	strings.Repeat("We are open from nine to five, and longer on Thursdays. ", 14) + `"}`)

var created = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func viewOf(a *article) articleView {
	return articleView{
		ID: "doc_1", Title: a.Title, Text: a.Text, URL: a.URL, Tags: a.Tags, Priority: a.Priority, Metadata: a.Metadata,
		CreatedAt: wire.At(created),
	}
}

// declared answers through an operation.
func declared(b *testing.B) http.HandlerFunc {
	r := endpoint.NewRegistry()
	endpoint.Add(r, endpoint.Operation{
		ID: "createArticle", Method: "POST", Path: "/articles", Since: 1, Summary: "-", Tag: "-", Status: 201,
	}, func(_ context.Context, in *createArticle) (*oneArticle, error) {
		return &oneArticle{Body: viewOf(&in.Body)}, nil
	})
	op := operation(b, r, "createArticle")
	return func(w http.ResponseWriter, r *http.Request) {
		bound, err := op.Bind(r, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		out, err := op.Run(r.Context(), bound)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		response, err := op.Encode(out, nil)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(response.Status)
		_, _ = w.Write(response.Body)
	}
}

// byHand answers the same without this package.
func byHand(w http.ResponseWriter, r *http.Request) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		http.Error(w, "media type", http.StatusUnsupportedMediaType)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var a article
	if err := json.Unmarshal(data, &a, json.RejectUnknownMembers(true)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := check(&a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	text, err := json.Marshal(viewOf(&a), json.Deterministic(true))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write(text)
}

func check(a *article) error {
	switch {
	case strings.TrimSpace(a.Title) == "" || utf8.RuneCountInString(a.Title) > 1024:
		return errors.New("title")
	case len(a.Text) > 262144:
		return errors.New("text")
	case a.URL != nil && utf8.RuneCountInString(*a.URL) > 2048:
		return errors.New("url")
	case len(a.Tags) > 32 || slices.ContainsFunc(a.Tags, func(t string) bool { return t == "" || utf8.RuneCountInString(t) > 64 }):
		return errors.New("tags")
	case a.Priority < 0 || a.Priority > 9:
		return errors.New("priority")
	case len(a.Metadata) > 32:
		return errors.New("metadata")
	}
	return nil
}

// discard is a ResponseWriter without cost.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

func post(b *testing.B, handler http.HandlerFunc) {
	r := httptest.NewRequest("POST", "/api/v1/articles", nil)
	r.Header.Set("Content-Type", "application/json")
	r.ContentLength = int64(len(articleJSON))
	body := bytes.NewReader(articleJSON)
	r.Body = io.NopCloser(body)
	recorder := httptest.NewRecorder()
	handler(recorder, r)
	if recorder.Code != http.StatusCreated {
		b.Fatalf("got %d %s", recorder.Code, recorder.Body)
	}
	w := &discard{header: http.Header{}}
	b.SetBytes(int64(len(articleJSON)))
	for b.Loop() {
		body.Reset(articleJSON)
		handler(w, r)
	}
}

func BenchmarkPost1KBDeclared(b *testing.B) { post(b, declared(b)) }

func BenchmarkPost1KBByHand(b *testing.B) { post(b, byHand) }

func BenchmarkGetWithoutInput(b *testing.B) {
	r := endpoint.NewRegistry()
	endpoint.Add(r, endpoint.Operation{
		ID: "health", Method: "GET", Path: "/health", Since: 1, Summary: "-", Tag: "-", Status: 200,
	}, func(context.Context, *struct{}) (*health, error) {
		out := &health{}
		out.Body.Status, out.Body.Version, out.Body.At = "healthy", "1", wire.At(created)
		return out, nil
	})
	op := operation(b, r, "health")
	request := httptest.NewRequest("GET", "/api/v1/health", nil)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		bound, err := op.Bind(request, nil)
		if err != nil {
			b.Fatal(err)
		}
		out, err := op.Run(context.Background(), bound)
		if err != nil {
			b.Fatal(err)
		}
		response, err := op.Encode(out, buf[:0])
		if err != nil {
			b.Fatal(err)
		}
		buf = response.Body
	}
}

func BenchmarkQuery(b *testing.B) {
	op := operation(b, notes(new(echo)), "listNotes")
	r := request(op, "q=opening&limit=20&tag=a&tag=b&state=open", "")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := op.Bind(r, nil); err != nil {
			b.Fatal(err)
		}
	}
}
