package endpoint_test

import (
	"context"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/base/wire"
	"keepsake/internal/web/endpoint"
)

// level is text on the wire by its own doing.
type level int

func (l level) MarshalText() ([]byte, error) { return []byte{'L', byte('0' + int(l)%10)}, nil }

type leaf struct {
	Name   string   `json:"name"`
	Small  int8     `json:"small"`
	Ratio  float32  `json:"ratio,omitzero"`
	Levels []level  `json:"levels,omitempty"`
	Maybe  *float64 `json:"maybe"`
}

type everything struct {
	leaf
	On       bool                 `json:"on"`
	Count    int64                `json:"count"`
	Number   float64              `json:"number"`
	Colour   colour               `json:"colour,omitempty"`
	Level    level                `json:"level"`
	At       wire.Time            `json:"at"`
	Until    *wire.Time           `json:"until,omitempty"`
	Leaf     *leaf                `json:"leaf"`
	Leaves   []leaf               `json:"leaves"`
	ByName   map[string]leaf      `json:"byName"`
	Times    map[string]wire.Time `json:"times"`
	Metadata wire.Metadata        `json:"metadata"`
	Raw      wire.Value           `json:"raw,omitzero"`
	Any      any                  `json:"any"`
}

type everythingOut struct{ Body everything }

func drawTime(t *rapid.T) time.Time {
	return time.UnixMilli(rapid.Int64Range(-62_000_000_000_000, 250_000_000_000_000).Draw(t, "ms"))
}

func drawLeaf(t *rapid.T) leaf {
	return leaf{
		Name:   rapid.String().Draw(t, "name"),
		Small:  rapid.Int8().Draw(t, "small"),
		Ratio:  rapid.Float32().Draw(t, "ratio"),
		Levels: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) level { return level(rapid.IntRange(0, 9).Draw(t, "level")) }), 0, 2).Draw(t, "levels"),
		Maybe:  rapid.Ptr(rapid.OneOf(rapid.Float64(), rapid.Float64Range(-1e-5, 1e-5), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1e21, 1e-7, 123456789})), true).Draw(t, "maybe"),
	}
}

func TestAnAnswerIsEncodedAsTheLibraryWould(t *testing.T) {
	t.Parallel()
	r := endpoint.NewRegistry()
	endpoint.Add(r, endpoint.Operation{
		ID: "everything", Method: "GET", Path: "/", Since: 1, Summary: "-", Tag: "-", Status: 200,
	}, func(context.Context, *struct{}) (*everythingOut, error) { return nil, nil })
	op := r.Operations()[0]
	rapid.Check(t, func(t *rapid.T) {
		leaves := rapid.Custom(drawLeaf)
		body := everything{
			leaf:     drawLeaf(t),
			On:       rapid.Bool().Draw(t, "on"),
			Count:    rapid.Int64().Draw(t, "count"),
			Number:   rapid.Float64().Draw(t, "number"),
			Colour:   colour(rapid.StringN(0, 2, -1).Draw(t, "colour")),
			Level:    level(rapid.IntRange(0, 9).Draw(t, "level")),
			At:       wire.At(drawTime(t)),
			Leaf:     rapid.Ptr(leaves, true).Draw(t, "leaf"),
			Leaves:   rapid.SliceOfN(leaves, 0, 3).Draw(t, "leaves"),
			ByName:   rapid.MapOfN(rapid.StringN(0, 3, -1), leaves, 0, 3).Draw(t, "byName"),
			Metadata: rapid.MapOfN(rapid.StringN(0, 3, -1), rapid.OneOf(rapid.String().AsAny(), rapid.Float64().AsAny(), rapid.Bool().AsAny()), 0, 4).Draw(t, "metadata"),
			Any:      rapid.OneOf(rapid.Just[any](nil), rapid.String().AsAny(), rapid.SliceOf(rapid.Int()).AsAny()).Draw(t, "any"),
		}
		if rapid.Bool().Draw(t, "ends") {
			until := wire.At(drawTime(t))
			body.Until, body.Times, body.Raw = &until, map[string]wire.Time{"a": until}, wire.Value(`{"b":[1]}`)
		}
		want, err := wire.Encode(&body)
		if err != nil {
			t.Fatalf("encode by the library: %v", err)
		}
		got, err := op.Encode(&everythingOut{Body: body}, nil)
		if err != nil {
			t.Fatalf("encode: %v", err)
		}
		if diff := cmp.Diff(string(want)+"\n", string(got.Body)); diff != "" {
			t.Fatalf("(-library +plan):\n%s", diff)
		}
	})
}

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
