package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/web/endpoint"
)

type listedBody struct {
	Before string      `json:"before,omitempty"`
	Items  []noteView  `json:"items" doc:"Some."`
	After  *numberView `json:"after"`
	Last   string      `json:"last,omitempty"`
}

type sequenceBody struct {
	Before string                      `json:"before,omitempty"`
	Items  endpoint.Sequence[noteView] `json:"items" doc:"Some."`
	After  *numberView                 `json:"after"`
	Last   string                      `json:"last,omitempty"`
}

type sequenceOut struct{ Body sequenceBody }

// inPieces declares the same answer twice: with a list, and with a sequence.
func inPieces(sequence func() *sequenceOut) *endpoint.Registry {
	r := endpoint.NewRegistry()
	op := endpoint.Operation{ID: "notes", Method: "GET", Path: "/notes", Since: 1, Summary: "-", Tag: "-", Status: 200}
	endpoint.Add(r, op, give[struct{}](&echo{}, &struct{ Body listedBody }{}))
	op.ID, op.Path = "sequence", "/sequence"
	endpoint.Add(r, op, func(context.Context, *struct{}) (*sequenceOut, error) { return sequence(), nil })
	return r
}

func answered(t *testing.T, op *endpoint.Operation) (resp endpoint.Response) {
	t.Helper()
	in, err := op.Bind(request(op, "", ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := op.Answer(t.Context(), in, &resp, nil); err != nil {
		t.Fatal(err)
	}
	return resp
}

func TestASequenceIsEncodedLikeAList(t *testing.T) {
	t.Parallel()
	views := []noteView{{ID: "a"}, {ID: "b", Title: "{"}, {ID: "c", Tags: []string{"x"}}}
	for _, body := range []listedBody{
		{Items: []noteView{}}, {Items: views[:1]}, {Before: "b", Items: views, After: &numberView{1}, Last: "l"}, {Items: views, Last: "l"}, {Before: "{"},
	} {
		out := &sequenceOut{sequenceBody{Before: body.Before, After: body.After, Last: body.Last}}
		if body.Items != nil {
			out.Body.Items = func(yield func(*noteView, error) bool) {
				for i := range body.Items {
					if !yield(&body.Items[i], nil) {
						return
					}
				}
			}
		}
		r := inPieces(func() *sequenceOut { return out })
		list, err := operation(t, r, "notes").Encode(&struct{ Body listedBody }{body}, nil)
		if err != nil {
			t.Fatal(err)
		}
		op := operation(t, r, "sequence")
		whole, err := op.Encode(out, []byte("before"))
		if err != nil || string(whole.Body) != string(list.Body) || string(whole.Kept) != string(list.Body) {
			t.Errorf("whole: got %s, %v, want %s", whole.Body, err, list.Body)
		}
		resp := answered(t, op)
		var text []byte
		for piece, err := range resp.Pieces {
			if err != nil {
				t.Error(err)
			}
			text = append(text, piece...)
		}
		if string(text) != string(list.Body) || resp.Body != nil || resp.Media != "application/json" || resp.Status != 200 {
			t.Errorf("in pieces: got %s of %s, want %s", text, resp.Media, list.Body)
		}
		for range resp.Pieces {
			break // a caller can stop early
		}
	}
}

func TestASequenceThatFailsEndsWithItsError(t *testing.T) {
	t.Parallel()
	r := inPieces(func() *sequenceOut {
		return &sequenceOut{sequenceBody{Items: func(yield func(*noteView, error) bool) {
			for range 10_000 { // more than any buffer of the encoder
				if !yield(&noteView{ID: strings.Repeat("a", 100)}, nil) {
					return
				}
			}
			_ = yield(nil, errNumbers)
		}}}
	})
	op := operation(t, r, "sequence")
	var failed error
	n := 0
	for piece, err := range answered(t, op).Pieces {
		n += len(piece)
		failed = err
	}
	if !errors.Is(failed, errNumbers) || n == 0 {
		t.Errorf("got %d bytes and %v", n, failed)
	}
	in, err := op.Bind(request(op, "", ""), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := op.Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := op.Encode(out, nil); !errors.Is(err, errNumbers) {
		t.Errorf("whole: %v", err)
	}
}

func TestASequenceIsDescribedLikeAList(t *testing.T) {
	t.Parallel()
	text, err := endpoint.Document(inPieces(nil), 1, "/")
	if err != nil {
		t.Fatal(err)
	}
	var document struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	list, sequence := document.Components.Schemas["ListedBody"], document.Components.Schemas["SequenceBody"]
	if list == nil || !cmp.Equal(list, sequence) || strings.Count(string(text), `"#/components/schemas/SequenceBody"`) != 1 {
		t.Errorf("a list is\n%v\nand a sequence\n%v", list, sequence)
	}
}

func TestWhereASequenceMayStand(t *testing.T) {
	t.Parallel()
	type secret struct {
		Body struct {
			Items endpoint.Sequence[noteView] `json:"items"`
			Key   *string                     `json:"key" once:"true"`
		}
	}
	type values struct {
		Body struct {
			A iter.Seq2[noteView, error] `json:"a"`
		}
	}
	type looseAlone struct {
		Body struct {
			One endpoint.Loose[place] `json:"one"`
		}
	}
	type looseOptional struct {
		Body *struct {
			Many []endpoint.Loose[place] `json:"many"`
		}
	}
	for name, add := range map[string]func(*endpoint.Registry, endpoint.Operation){
		"with a secret": adding[struct{}, secret],
		"of values":     adding[struct{}, values],
		"asked for":     adding[sequenceOut, struct{ Body place }],
		"a Loose alone": adding[looseAlone, struct{ Body place }],
		"Loose items of a body that may be left out": adding[looseOptional, struct{ Body place }],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if recover() == nil {
					t.Error("it was taken")
				}
			}()
			add(endpoint.NewRegistry(), endpoint.Operation{ID: "x", Method: "POST", Path: "/x", Since: 1, Summary: "-", Tag: "-", Status: 200})
		})
	}
}

func adding[In, Out any](r *endpoint.Registry, op endpoint.Operation) {
	endpoint.Add(r, op, give[In](&echo{}, new(Out)))
}
