package endpoint_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/web/endpoint"
)

// loadDocument reads the document of r's version 1 with an independent library and validates it.
func loadDocument(t testing.TB, r *endpoint.Registry) *openapi3.T {
	t.Helper()
	text, err := endpoint.Document(r, 1, "/")
	if err != nil {
		t.Fatalf("document: %v", err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatalf("load the document: %v\n%s", err, text)
	}
	if err := doc.Validate(context.Background()); err != nil {
		t.Fatalf("validate the document: %v\n%s", err, text)
	}
	return doc
}

func TestTheDocumentIsValidAndTheSameEachTime(t *testing.T) {
	t.Parallel()
	doc := loadDocument(t, notes(new(echo)))
	if doc.OpenAPI != "3.1.0" || doc.Info.Version != "1.0.0" || doc.Info.Title == "" || doc.Info.Extensions["x-api-version"] != 1.0 {
		t.Errorf("got OpenAPI %s, info %+v", doc.OpenAPI, doc.Info)
	}
	first, err := endpoint.Document(notes(new(echo)), 1, "/")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := endpoint.Document(notes(new(echo)), 1, "/")
		if err != nil || !bytes.Equal(first, again) {
			t.Fatalf("the document differs from run to run: %v", err)
		}
	}
}

func TestDocumentHasCredentialsErrorsAndHeaders(t *testing.T) {
	t.Parallel()
	r := notes(new(echo))
	doc := loadDocument(t, r)
	create := doc.Paths.Value("/api/v1/notes").Post
	for _, status := range []int{201, 400, 401, 403, 404, 409, 410, 413, 415, 429, 500, 503} {
		if create.Responses.Status(status) == nil {
			t.Errorf("createNote: no answer %d", status)
		}
	}
	everywhere := doc.Extensions["x-every-response"].(map[string]any)["headers"].(map[string]any)
	for _, header := range []string{"X-API-Version", "X-RateLimit-Limit", "X-RateLimit-Monthly-Remaining", "X-Request-Id", "Deprecation"} {
		if everywhere[header] == nil {
			t.Errorf("the header %s is not one of every response", header)
		}
	}
	codes, _ := create.Extensions["x-error-codes"].([]any)
	for _, code := range []string{problem.CodeIdempotencyRunning, problem.CodeLimitReached, problem.CodeValidation, problem.CodeInsufficientScope} {
		if !slices.Contains(codes, any(code)) {
			t.Errorf("createNote: the codes are %v, without %s", codes, code)
		}
	}
	if slices.Contains(codes, any(problem.CodeConflict)) {
		t.Errorf("createNote: the codes are %v, with a code that it does not have", codes)
	}
	if create.Responses.Status(429).Value.Headers["Retry-After"] == nil || create.Responses.Status(201).Value.Headers["ETag"] == nil {
		t.Error("createNote: Retry-After or ETag is missing")
	}
	if create.Security == nil || create.Extensions["x-required-scope"] != "write" {
		t.Errorf("createNote: security %v, scope %v", create.Security, create.Extensions)
	}
	health := doc.Paths.Value("/api/health").Get
	if health.Security == nil || len(*health.Security) != 0 || health.Responses.Status(401) != nil {
		t.Errorf("health asks for a credential: %v", health.Security)
	}
	if doc.Paths.Value("/api/v1/notes").Get.Responses.Status(304) == nil || doc.Paths.Value("/api/v1/notes/{id}").Patch.Responses.Status(412) == nil {
		t.Error("304 or 412 is missing where there are entity tags")
	}
	for name, schema := range doc.Components.Schemas {
		open := schema.Value.AdditionalProperties.Has == nil || *schema.Value.AdditionalProperties.Has
		asked := strings.HasSuffix(name, "Body") && !strings.HasPrefix(name, "Error") && !strings.HasPrefix(name, "RateLimit") &&
			!strings.HasPrefix(name, "VersionSunset") || strings.HasSuffix(name, "Input")
		if open == asked {
			t.Errorf("schema %s: takes more members: %v", name, open)
		}
	}
}

func TestSharedNamesAreDescribedWithoutATag(t *testing.T) {
	t.Parallel()
	doc := loadDocument(t, notes(new(echo)))
	list := doc.Paths.Value("/api/v1/notes").Get
	items := list.Responses.Status(200).Value.Content["application/json"].Schema.Value.Properties["items"].Value
	for name, text := range map[string]string{
		"items":    items.Description,
		"limit":    list.Parameters.GetByInAndName("query", "limit").Description,
		"If-Match": doc.Paths.Value("/api/v1/notes/{id}").Patch.Parameters.GetByInAndName("header", "If-Match").Description,
	} {
		if text == "" {
			t.Errorf("%s has no description", name)
		}
	}
	if tagged := doc.Components.Schemas["NoteBody"].Value.Properties["title"].Value.Description; tagged != "What it is about." {
		t.Errorf("the description in a tag became %q", tagged)
	}
}

// agreement is what binder and document say of one request.
func agree(t *rapid.T, doc *openapi3.T, op *endpoint.Operation, r *http.Request, body string, params map[string]string) {
	item := doc.Paths.Value(op.Route(1))
	copied := r.Clone(r.Context())
	copied.Body = io.NopCloser(strings.NewReader(body))
	documented := openapi3filter.ValidateRequest(context.Background(), &openapi3filter.RequestValidationInput{
		Request: copied, PathParams: params, QueryParams: r.URL.Query(),
		Route:   &routers.Route{Spec: doc, Path: op.Route(1), PathItem: item, Method: op.Method, Operation: item.GetOperation(op.Method)},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, SkipSettingDefaults: true},
	})
	_, bound := op.Bind(r, nil)
	if p, ok := problem.As(bound); bound != nil && (!ok || p.Kind != problem.Invalid) {
		t.Fatalf("Bind: %v", bound)
	}
	if (documented == nil) != (bound == nil) {
		t.Fatalf("%s %s %s\nbinder:   %v\ndocument: %v", op.Method, r.URL, body, bound, documented)
	}
}

// pick draws one of values, whole JSON texts; "" leaves the member out.
func member(t *rapid.T, name string, values ...string) string {
	text := rapid.SampledFrom(append(values, "")).Draw(t, name)
	if text == "" {
		return ""
	}
	return `"` + name + `":` + text
}

func object(members ...string) string {
	var sent []string
	for _, m := range members {
		if m != "" {
			sent = append(sent, m)
		}
	}
	return "{" + strings.Join(sent, ",") + "}"
}

// drawString draws a JSON string of plain letters, blanks among them.
func drawString(t *rapid.T, name string, most int) string {
	s := rapid.StringOfN(rapid.SampledFrom([]rune("ab \u00a0\t\u2003é")), 0, most, -1).Draw(t, name)
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func drawPlace(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"null", "[]", `"x"`, `{}`, `{"street":"ab","number":1}`, `{"street":"ab","number":1,"more":1}`, `{"street":"a","number":1}`,
		`{"street":"ab","number":0}`, `{"street":"ab","number":99}`, `{"street":"ab","number":100}`, `{"street":"  ","number":1}`,
		`{"street":"ab"}`, `{"number":1}`, `{"street":null,"number":1}`, `{"street":"ab","number":null}`, `{"street":"ab","number":"1"}`,
	}).Draw(t, "place")
}

// some makes half of what is generated right, so that the other members decide.
func some(t *rapid.T, name, right string, any func() string) string {
	if rapid.Bool().Draw(t, name+" is right") {
		return right
	}
	return any()
}

func TestBinderAndDocumentAgreeOnBodies(t *testing.T) {
	t.Parallel()
	r := notes(new(echo))
	doc, op := loadDocument(t, r), operation(t, r, "createNote")
	rapid.Check(t, func(t *rapid.T) {
		title := func() string { return member(t, "title", "null", "1", drawString(t, "title text", 12)) }
		list := func(items ...string) string { return "[" + strings.Join(items, ",") + "]" }
		body := object(
			some(t, "title", `"title":"t"`, title),
			some(t, "weight", `"weight":0`, func() string { return member(t, "weight", "null", "1", "-1", `"1"`, "1.5", "true") }),
			some(t, "text", "", func() string { return member(t, "text", "null", `""`, `"abcdefghijkl"`, `"abcdefghijklm"`, "[]") }),
			some(t, "kind", "", func() string { return member(t, "kind", "null", `"plain"`, `"rich"`, `"odd"`, `""`, "1") }),
			some(t, "colour", "", func() string { return member(t, "colour", "null", `"red"`, `"Red"`, `""`) }),
			some(t, "ratio", "", func() string { return member(t, "ratio", "null", "0", "1", "0.5", "-0.1", "1.1", `"1"`) }),
			some(t, "pinned", "", func() string { return member(t, "pinned", "null", "true", "false", `"true"`, "0") }),
			some(t, "tags", "", func() string {
				return member(t, "tags", "null", "{}", "[]", `["a"]`, `["a","b","c"]`, `["a","b","c","d"]`, `[""]`, `["abcdef"]`, `["abcde"]`, `[null]`, `[1]`)
			}),
			some(t, "where", "", func() string { return member(t, "where", drawPlace(t)) }),
			some(t, "places", "", func() string {
				return member(t, "places", "null", list(), list(drawPlace(t)), list(drawPlace(t), drawPlace(t)), list(drawPlace(t), drawPlace(t), drawPlace(t)))
			}),
			some(t, "byName", "", func() string {
				return member(t, "byName", "null", "{}", `{"x":`+drawPlace(t)+`}`, `{"a":`+drawPlace(t)+`,"b":`+drawPlace(t)+`,"c":{"street":"ab","number":1}}`)
			}),
			some(t, "expiresAt", "", func() string { return member(t, "expiresAt", "null", `"2026-07-01T12:00:00Z"`, "1") }),
			some(t, "metadata", "", func() string {
				return member(t, "metadata", "null", "{}", "[]", `{"a":1}`, `{"a":true,"b":"x"}`, `{"a":1,"b":2,"c":3}`, `{"a":null}`, `{"a":[]}`, `{"a":{}}`)
			}),
			some(t, "more", "", func() string { return member(t, "more", "1", "null") }),
		)
		body = some(t, "body", body, func() string {
			return rapid.SampledFrom([]string{body, body, body, "[]", `"x"`, "1", "null", "{}"}).Draw(t, "whole body")
		})
		agree(t, doc, op, request(op, "", body), body, nil)
	})
}

func TestBinderAndDocumentAgreeOnPatches(t *testing.T) {
	t.Parallel()
	r := notes(new(echo))
	doc, op := loadDocument(t, r), operation(t, r, "changeNote")
	rapid.Check(t, func(t *rapid.T) {
		body := object(
			some(t, "title", "", func() string { return member(t, "title", "null", "1", drawString(t, "title text", 12)) }),
			some(t, "weight", "", func() string { return member(t, "weight", "null", "0", "-5", "-6", `"1"`) }),
			some(t, "where", "", func() string { return member(t, "where", drawPlace(t)) }),
			some(t, "tags", "", func() string { return member(t, "tags", "null", "[]", `["a","b"]`, `["a","b","c"]`, "[null]") }),
		)
		id := rapid.SampledFrom([]string{"n1", "n1", "n1", "N1", "n-1", "abcdefghi"}).Draw(t, "id")
		agree(t, doc, op, request(op, "", body, "id", id), body, map[string]string{"id": id})
	})
}

func TestBinderAndDocumentAgreeOnParameters(t *testing.T) {
	t.Parallel()
	r := notes(new(echo))
	doc, op := loadDocument(t, r), operation(t, r, "listNotes")
	rapid.Check(t, func(t *rapid.T) {
		query := url.Values{}
		set := func(name, right string, others ...string) {
			value := rapid.SampledFrom(append(others, right, right, "-")).Draw(t, name)
			if value != "-" {
				query.Set(name, value)
			}
		}
		set("q", "a", "abcdefgh", "abcdefghi", " ", "\u2003")
		set("limit", "20", "0", "1", "200", "201", "x", "1.5", "true")
		set("state", "open", "done", "odd")
		set("pinned", "true", "false", "yes")
		set("score", "0.5", "0.4", "1e3", "x")
		for range rapid.IntRange(0, 3).Draw(t, "tags") {
			query.Add("tag", rapid.SampledFrom([]string{"a", "abcd", "abcde"}).Draw(t, "tag"))
		}
		req := request(op, query.Encode(), "")
		if mode := rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "mode"); mode != "" {
			req.Header.Set("X-Mode", mode)
		}
		agree(t, doc, op, req, "", nil)
	})
}

func TestAnswersAreAsDocumented(t *testing.T) {
	t.Parallel()
	r := notes(new(echo))
	doc, op := loadDocument(t, r), operation(t, r, "listNotes")
	schema := doc.Paths.Value("/api/v1/notes").Get.Responses.Status(200).Value.Content["application/json"].Schema.Value
	rapid.Check(t, func(t *rapid.T) {
		view := rapid.Custom(func(t *rapid.T) noteView {
			return noteView{
				ID: rapid.String().Draw(t, "id"), Note: rapid.StringN(0, 1, -1).Draw(t, "note"),
				Where: rapid.Ptr(rapid.Custom(func(t *rapid.T) place { return place{Street: "ab", Number: rapid.Int64Range(1, 99).Draw(t, "n")} }), true).Draw(t, "where"),
				Kind:  rapid.Ptr(rapid.SampledFrom([]string{"plain", "rich"}), true).Draw(t, "kind"),
				Tags:  rapid.SliceOfN(rapid.String(), 0, 2).Draw(t, "tags"),
				Metadata: rapid.MapOfN(rapid.String(), rapid.OneOf(rapid.String().AsAny(), rapid.Float64().AsAny(), rapid.Bool().AsAny()), 0, 2).
					Draw(t, "metadata"),
			}
		})
		out := &noteList{}
		out.Body.Items = rapid.SliceOfN(view, 0, 3).Draw(t, "items")
		answer, err := op.Encode(out, nil)
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(answer.Body, &value); err != nil {
			t.Fatal(err)
		}
		if err := schema.VisitJSON(value, openapi3.EnableJSONSchema2020()); err != nil {
			t.Fatalf("%s: %v", answer.Body, err)
		}
	})
}

func FuzzBind(f *testing.F) {
	r := notes(new(echo))
	create, list := operation(f, r, "createNote"), operation(f, r, "listNotes")
	f.Add("q=a&tag=b&limit=3", []byte(`{"title":"t","weight":1,"where":{"street":"ab","number":1},"metadata":{"a":null}}`))
	f.Add("q=%zz&&=", []byte(`{"title":"t","weight":0,"places":[{"street":"ab","number":0},null],"byName":{"a":{}}}`))
	f.Fuzz(func(t *testing.T, query string, body []byte) {
		for _, req := range []*http.Request{request(list, query, ""), request(create, "", string(body))} {
			op := list
			if req.Method == "POST" {
				op = create
			}
			_, err := op.Bind(req, nil)
			if p, ok := problem.As(err); err != nil && (!ok || p.Kind != problem.Invalid && p.Kind != problem.UnsupportedMedia) {
				t.Fatalf("%s %q: %v", query, body, err)
			}
		}
	})
}
