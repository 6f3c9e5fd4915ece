package endpoint_test

import (
	"context"
	"math"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/wire"
	"keepsake/internal/web/endpoint"
)

type leaf struct {
	Name string `json:"name"`
}

type everything struct {
	Number   float64       `json:"number"`
	Colour   colour        `json:"colour,omitempty"`
	Leaves   []leaf        `json:"leaves"`
	Metadata wire.Metadata `json:"metadata"`
}

type everythingOut struct{ Body everything }

func TestUnsupportedValueIsAnError(t *testing.T) {
	t.Parallel()
	r := endpoint.NewRegistry()
	endpoint.Add(r, endpoint.Operation{
		ID: "everything", Method: "GET", Path: "/", Since: 1, Summary: "-", Tag: "-", Status: 200,
	}, func(context.Context, *struct{}) (*everythingOut, error) { return nil, nil })
	op := r.Operations()[0]
	for name, body := range map[string]everything{
		"NotANumber":  {Number: math.NaN()},
		"Infinite":    {Number: math.Inf(1)},
		"InvalidUTF8": {Colour: "\xff"},
		"NestedBad":   {Leaves: []leaf{{Name: "\xff"}}},
		"Metadata":    {Metadata: wire.Metadata{"\xff": 1.0}},
	} {
		if got, err := op.Encode(&everythingOut{Body: body}, nil); err == nil {
			t.Errorf("%s: got %s", name, got.Body)
		}
	}
	bound, err := op.Bind(request(op, "", ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := op.Run(t.Context(), bound)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := op.Encode(out, nil); err == nil {
		t.Errorf("neither answer nor error: got %+v", got)
	}
	if _, err := op.Run(t.Context(), endpoint.Bound{}); err == nil {
		t.Error("a request that was never bound was run")
	}
}

func TestResponseShowsASecretOnce(t *testing.T) {
	t.Parallel()
	r := notes(new(echo))
	op := operation(t, r, "createNote")
	bound, err := op.Bind(request(op, "", `{"title":"t","weight":1}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := op.Run(t.Context(), bound)
	if err != nil {
		t.Fatal(err)
	}
	got, err := op.Encode(out, []byte("before"))
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"id":"n1","title":"a<b","weight":0,"where":null,"tags":[],"metadata":{},"expiresAt":null,"kind":null,"key":`
	want := endpoint.Response{
		Status: 201,
		Header: []endpoint.Field{{Name: "Etag", Value: `"1"`}, {Name: "Location", Value: "/api/v1/notes/n1"}},
		Body:   []byte(body + `"s3cret"}` + "\n"),
		Kept:   []byte(body + `null}` + "\n"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	replaced, err := op.Encode(&newNote{Status: 200}, nil)
	if err != nil || replaced.Status != 200 || replaced.Header != nil {
		t.Errorf("got %+v, %v", replaced, err)
	}
	remove := operation(t, r, "removeNote")
	empty, err := remove.Encode(&struct{}{}, nil)
	if err != nil || !reflect.DeepEqual(empty, endpoint.Response{Status: 204}) {
		t.Errorf("no content: got %+v, %v", empty, err)
	}
}

func TestResponseIsAppendedToTheBuffer(t *testing.T) {
	t.Parallel()
	op := operation(t, notes(new(echo)), "listNotes")
	got, err := op.Encode(&noteList{}, append(make([]byte, 0, 512), "before"...))
	if want := `{"items":[],"nextCursor":null}` + "\n"; err != nil || string(got.Body) != want || string(got.Kept) != want {
		t.Errorf("got %s, kept %s, %v", got.Body, got.Kept, err)
	}
}

func TestRawBodyIsSentAsItIs(t *testing.T) {
	t.Parallel()
	type text struct {
		Raw []byte `media:"text/plain"`
	}
	type object struct {
		Raw []byte
	}
	r := endpoint.NewRegistry()
	op := endpoint.Operation{ID: "text", Method: "GET", Path: "/text", Summary: "-", Tag: "-", Status: 200}
	endpoint.Add(r, op, func(context.Context, *struct{}) (*text, error) { return &text{[]byte("a 1\n")}, nil })
	op.ID, op.Path = "object", "/object"
	endpoint.Add(r, op, func(context.Context, *struct{}) (*object, error) { return &object{[]byte("{}")}, nil })
	for id, want := range map[string]endpoint.Response{
		"text":   {Status: 200, Body: []byte("a 1\n"), Kept: []byte("a 1\n"), Media: "text/plain"},
		"object": {Status: 200, Body: []byte("{}"), Kept: []byte("{}")},
	} {
		if diff := cmp.Diff(want, answered(t, operation(t, r, id))); diff != "" {
			t.Errorf("%s: %s", id, diff)
		}
	}
}
