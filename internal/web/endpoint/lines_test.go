package endpoint_test

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"testing"

	"keepsake/internal/web/endpoint"
)

func TestAcceptAsksForLinesByTheirName(t *testing.T) {
	t.Parallel()
	for accept, want := range map[string]bool{
		"":                                       false,
		"*/*":                                    false,
		"application/*":                          false,
		"application/json":                       false,
		"application/x-ndjson":                   true,
		"application/json, Application/X-NDJSON": true,
		"application/x-ndjson;q=0.5, */*":        true,
		"application/x-ndjson; q=0":              false,
		"application/json;q=0.9, application/x-ndjson":         true,
		"application/x-ndjson;q=0.1, application/json":         false,
		"application/x-ndjson;profile=a;q=0, application/json": false,
		"application/x-ndjson;q=0.000, */*":                    false,
		"application/x-ndjsonl":                                false,
	} {
		if got := endpoint.Accept(accept).Lines(); got != want {
			t.Errorf("%q: got %v", accept, got)
		}
	}
}

type numbers struct {
	Accept endpoint.Accept `header:"Accept"`
}

type numberView struct {
	N int64 `json:"n"`
}

type numbersAnswer struct {
	Body struct {
		Items []numberView `json:"items"`
	}
	Lines endpoint.Sequence[numberView]
}

var errNumbers = errors.New("out of numbers")

func numbersOperation() *endpoint.Operation {
	r := endpoint.NewRegistry()
	endpoint.Add(r, endpoint.Operation{
		ID: "numbers", Method: "GET", Path: "/numbers", Since: 1, Summary: "-", Tag: "-", Status: 200, Class: endpoint.Stream,
	}, func(_ context.Context, in *numbers) (*numbersAnswer, error) {
		out := &numbersAnswer{}
		if in.Accept.Lines() {
			out.Lines = func(yield func(*numberView, error) bool) {
				_ = yield(&numberView{1}, nil) && yield(&numberView{2}, nil) && yield(nil, errNumbers)
			}
		}
		return out, nil
	})
	return r.Operations()[0]
}

func TestAnAnswerInLinesIsEncodedAsItIsRead(t *testing.T) {
	t.Parallel()
	op := numbersOperation()
	answer := func(accept string) endpoint.Response {
		r := httptest.NewRequest("GET", "/api/v1/numbers", nil)
		r.Header["Accept"] = []string{"text/csv", accept}
		in, err := op.Bind(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := op.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := op.Encode(out, nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	if resp := answer("*/*"); resp.Pieces != nil || string(resp.Body) != `{"items":[]}`+"\n" {
		t.Errorf("as JSON: %s", resp.Body)
	}
	resp := answer(endpoint.MediaLines)
	var text []byte
	var failed error
	for line, err := range resp.Pieces {
		text, failed = append(text, line...), err
	}
	if string(text) != "{\"n\":1}\n{\"n\":2}\n" || !errors.Is(failed, errNumbers) || resp.Body != nil {
		t.Errorf("as lines: %q and %v", text, failed)
	}
	for line := range resp.Pieces {
		if !bytes.Equal(line, []byte("{\"n\":1}\n")) {
			t.Errorf("the first line is %q", line)
		}
		break
	}
}

func TestTheDocumentOffersLines(t *testing.T) {
	t.Parallel()
	r := endpoint.NewRegistry()
	op := numbersOperation()
	endpoint.Add(r, *op, func(context.Context, *numbers) (*numbersAnswer, error) { return nil, nil })
	text, err := endpoint.Document(r, 1, "/")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(endpoint.MediaLines)) || bytes.Contains(text, []byte(`"name": "Accept"`)) {
		t.Errorf("the document says:\n%s", text)
	}
	if bytes.Count(text, []byte(`"#/components/schemas/NumberView"`)) != 2 {
		t.Error("the document does not say what a line is")
	}
}

type tableAnswer struct {
	Body struct {
		N int64 `json:"n"`
	}
	CSV []byte
}

func TestTableIsSentInPlaceOfJSON(t *testing.T) {
	t.Parallel()
	r := endpoint.NewRegistry()
	endpoint.Add(r, endpoint.Operation{
		ID: "table", Method: "GET", Path: "/table", Since: 1, Summary: "-", Tag: "-", Status: 200,
	}, func(_ context.Context, in *numbers) (*tableAnswer, error) {
		out := &tableAnswer{}
		if in.Accept.CSV() {
			out.CSV = []byte("n\n0\n")
		}
		return out, nil
	})
	for accept, want := range map[string]endpoint.Response{
		"application/json": {Status: 200, Body: []byte("{\"n\":0}\n")},
		"TEXT/CSV":         {Status: 200, Body: []byte("n\n0\n"), Media: "text/csv; charset=utf-8"},
		"text/csv;q=0":     {Status: 200, Body: []byte("{\"n\":0}\n")},
	} {
		request := httptest.NewRequest("GET", "/api/v1/table", nil)
		request.Header.Set("Accept", accept)
		op := r.Operations()[0]
		in, err := op.Bind(request, nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := op.Run(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := op.Encode(out, nil)
		if err != nil || got.Status != want.Status || !bytes.Equal(got.Body, want.Body) || got.Media != want.Media {
			t.Errorf("Accept: %s: got %d %s %q, %v", accept, got.Status, got.Media, got.Body, err)
		}
	}
	text, err := endpoint.Document(r, 1, "/")
	if err != nil || !bytes.Contains(text, []byte(`"text/csv"`)) {
		t.Errorf("the document does not offer it: %v\n%s", err, text)
	}
}
