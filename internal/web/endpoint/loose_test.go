package endpoint_test

import (
	"bytes"
	"context"
	"net/http/httptest"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/web/endpoint"
)

type manyNotes struct {
	Body struct {
		Items []endpoint.Loose[place]            `json:"items" minItems:"1" maxItems:"3"`
		Extra wire.Optional[wire.MetadataChange] `json:"extra" maxProperties:"2"`
	}
}

func (in *manyNotes) Harmless() bool { return len(in.Body.Items) == 1 }

type onlyLines struct {
	Lines endpoint.Sequence[place]
}

// looseNotes has what the fixture lacks: items that are judged one by one, merge patches, an answer in nothing but lines.
func looseNotes(e *echo) *endpoint.Registry {
	r := endpoint.NewRegistry()
	endpoint.Add(r, endpoint.Operation{
		ID: "manyNotes", Method: "POST", Path: "/notes/many", Since: 1, Summary: "-", Tag: "-", Status: 204, Idempotent: true,
	}, give[manyNotes](e, &struct{}{}))
	endpoint.Add(r, endpoint.Operation{
		ID: "exportNotes", Method: "GET", Path: "/notes/export", Since: 1, Summary: "-", Tag: "-", Status: 200, Class: endpoint.Stream,
	}, func(context.Context, *struct{}) (*onlyLines, error) {
		return &onlyLines{Lines: func(yield func(*place, error) bool) { yield(&place{"x", 1}, nil) }}, nil
	})
	return r
}

func TestLooseItemsAreJudgedOneByOne(t *testing.T) {
	t.Parallel()
	e := &echo{}
	op := operation(t, looseNotes(e), "manyNotes")
	bound, err := op.Bind(request(op, "", `{"items":[{"street":"High","number":7},{"street":"x","more":1},null]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	items := bound.Input().(*manyNotes).Body.Items
	if one := items[0]; one.Err != nil || one.Value != (place{"High", 7}) {
		t.Errorf("got %+v", one)
	}
	wants(t, items[1].Err, 400, "more", problem.Unknown)
	wants(t, items[2].Err, 400, "body", problem.Required)

	for body, want := range map[string]struct {
		field string
		issue problem.Issue
	}{
		`{"items":[]}`:                                 {"items", problem.TooShort},
		`{"items":[1,2,3,4]}`:                          {"items", problem.TooLong},
		`{"items":null}`:                               {"items", problem.Required},
		`{}`:                                           {"items", problem.Required},
		`{"items":[{"street":1,"street":2}]}`:          {"items[0].street", problem.Duplicate},
		`{"items":[1],"extra":{"a":[]}}`:               {"extra.a", problem.Type},
		`{"items":[1],"extra":{"a":1,"a":2}}`:          {"extra.a", problem.Duplicate},
		`{"items":["\ud83d"],"extra":{"a":"\ud83d"}}`:  {"body", problem.Format},
		`{"items":[1],"extra":{"a":1,"b":2,"c":null}}`: {"extra", problem.TooLong},
	} {
		_, err := op.Bind(request(op, "", body), nil)
		wants(t, err, 400, want.field, want.issue)
	}
}

func TestAMergePatchOfMetadataTellsNullFromAbsent(t *testing.T) {
	t.Parallel()
	op := operation(t, looseNotes(&echo{}), "manyNotes")
	bound, err := op.Bind(request(op, "", `{"items":[1],"extra":{"a":null,"b":"x"}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	extra := bound.Input().(*manyNotes).Body.Extra
	if a, there := extra.Value["a"]; !extra.Set || extra.Null || !there || a != nil || extra.Value["b"] != "x" {
		t.Errorf("got %+v", extra)
	}
	if bound, err = op.Bind(request(op, "", `{"items":[1],"extra":null}`), nil); err != nil || !bound.Input().(*manyNotes).Body.Extra.Null {
		t.Errorf("got %+v and %v", bound.Input(), err)
	}
}

func TestHarmlessDependsOnTheInput(t *testing.T) {
	t.Parallel()
	op := operation(t, looseNotes(&echo{}), "manyNotes")
	for body, want := range map[string]bool{`{"items":[1]}`: true, `{"items":[1,2]}`: false} {
		if bound, err := op.Bind(request(op, "", body), nil); err != nil || bound.Harmless() != want {
			t.Errorf("%s: %v and %v", body, bound.Harmless(), err)
		}
	}
}

func TestAnAnswerMayBeNothingButLines(t *testing.T) {
	t.Parallel()
	r := looseNotes(&echo{})
	op := operation(t, r, "exportNotes")
	in, err := op.Bind(httptest.NewRequest("GET", "/api/v1/notes/export", nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := op.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := op.Encode(out, nil)
	if err != nil || resp.Body != nil || resp.Status != 200 {
		t.Fatalf("got %+v and %v", resp, err)
	}
	for line, err := range resp.Pieces {
		if err != nil || string(line) != "{\"street\":\"x\",\"number\":1}\n" {
			t.Errorf("got %s and %v", line, err)
		}
	}
	text, err := endpoint.Document(r, 1, "/")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Count(text, []byte(endpoint.MediaLines)) != 1 || !bytes.Contains(text, []byte(`"#/components/schemas/PlaceInput"`)) {
		t.Errorf("the document says:\n%s", text)
	}
}
