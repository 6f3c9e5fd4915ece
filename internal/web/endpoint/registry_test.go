package endpoint_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/web/endpoint"
)

func nothing[In, Out any](context.Context, *In) (*Out, error) { return new(Out), nil }

func TestAVersionInheritsItsPredecessorsOperations(t *testing.T) {
	t.Parallel()
	r := endpoint.NewRegistry()
	add := func(id, method, path string, since, until int) {
		endpoint.Add(r, endpoint.Operation{
			ID: id, Method: method, Path: path, Since: since, Until: until, Summary: "-", Tag: "-", Status: 204,
		}, nothing[struct{}, struct{}])
	}
	add("list", "GET", "/notes", 1, 0)
	add("create", "POST", "/notes", 1, 0)
	add("legacy", "GET", "/legacy", 1, 1)
	add("createTwo", "POST", "/notes", 2, 0)
	add("novel", "GET", "/novel", 2, 0)
	add("versions", "GET", "/api/versions", 0, 0)
	for version, want := range map[int][]string{
		1: {"list GET /api/v1/notes", "create POST /api/v1/notes", "legacy GET /api/v1/legacy"},
		2: {"list GET /api/v2/notes", "createTwo POST /api/v2/notes", "novel GET /api/v2/novel"},
		3: {"list GET /api/v3/notes", "createTwo POST /api/v3/notes", "novel GET /api/v3/novel"},
	} {
		var got []string
		for _, op := range r.At(version) {
			got = append(got, fmt.Sprintf("%s %s %s", op.ID, op.Method, op.Route(version)))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("version %d (-want +got):\n%s", version, diff)
		}
	}
	if free := r.Unversioned(); len(free) != 1 || free[0].Route(2) != "/api/versions" {
		t.Errorf("unversioned: got %v", free)
	}
	r.SetDocumentVersion(2, "2.1.0")
	if one, two := r.DocumentVersion(1), r.DocumentVersion(2); one != "1.0.0" || two != "2.1.0" {
		t.Errorf("versions of the documents: %s, %s", one, two)
	}
}

func TestAMistakenDeclarationStopsTheProgram(t *testing.T) {
	t.Parallel()
	whole := endpoint.Operation{ID: "x", Method: "GET", Path: "/x", Since: 1, Summary: "-", Tag: "-", Status: 204}
	with := func(change func(op *endpoint.Operation)) endpoint.Operation {
		op := whole
		change(&op)
		return op
	}
	type view struct {
		Name string `json:"name"`
	}
	plain := func(op endpoint.Operation) func(r *endpoint.Registry) {
		return func(r *endpoint.Registry) { endpoint.Add(r, op, nothing[struct{}, struct{}]) }
	}
	for name, add := range map[string]func(r *endpoint.Registry){
		"declared twice": func(r *endpoint.Registry) { plain(whole)(r); plain(whole)(r) },
		"are needed":     plain(with(func(op *endpoint.Operation) { op.Summary = "" })),
		"no such method": plain(with(func(op *endpoint.Operation) { op.Method = "get" })),
		"a slash":        plain(with(func(op *endpoint.Operation) { op.Path = "x" })),
		"a scope needs":  plain(with(func(op *endpoint.Operation) { op.Scope = auth.Read })),
		"no such error":  plain(with(func(op *endpoint.Operation) { op.Errors = []string{"odd"} })),
		"is for POST":    plain(with(func(op *endpoint.Operation) { op.Idempotent = true })),
		"the path names": plain(with(func(op *endpoint.Operation) { op.Path = "/x/{id}" })),
		"but Body says":  plain(with(func(op *endpoint.Operation) { op.Status = 200 })),
		"neither a parameter": func(r *endpoint.Registry) {
			endpoint.Add(r, whole, nothing[struct{ Name string }, struct{}])
		},
		"cannot be a query parameter": func(r *endpoint.Registry) {
			endpoint.Add(r, whole, nothing[struct {
				Where map[string]string `query:"where"`
			}, struct{}])
		},
		"neither true nor false": func(r *endpoint.Registry) {
			endpoint.Add(r, whole, nothing[struct {
				Q string `query:"q" required:"yes"`
			}, struct{}])
		},
		"its default": func(r *endpoint.Registry) {
			endpoint.Add(r, whole, nothing[struct {
				Body struct {
					N int `json:"n" default:"many"`
				}
			}, struct{}])
		},
		"no such format": func(r *endpoint.Registry) {
			endpoint.Add(r, whole, nothing[struct {
				Q string `query:"q" format:"colour"`
			}, struct{}])
		},
		"no json name": func(r *endpoint.Registry) {
			endpoint.Add(r, whole, nothing[struct{ Body struct{ Name string } }, struct{}])
		},
		"must tell that it was left out": func(r *endpoint.Registry) {
			endpoint.Add(r, whole, nothing[struct {
				Body struct {
					Facets string `json:"facets" unsupported:"true"`
				}
			}, struct{}])
		},
		"no form on the wire": func(r *endpoint.Registry) {
			endpoint.Add(r, whole, nothing[struct {
				Body struct {
					C chan int `json:"c"`
				}
			}, struct{}])
		},
		"does not fit": func(r *endpoint.Registry) {
			endpoint.Add(r, whole, nothing[struct {
				Limit int `query:"limit" maxLength:"3"`
			}, struct{}])
		},
		"of the body itself": func(r *endpoint.Registry) {
			type nested struct {
				Key *string `json:"key" once:"true"`
			}
			endpoint.Add(r, with(func(op *endpoint.Operation) { op.Status = 200 }), nothing[struct{}, struct {
				Body struct {
					Keys []nested `json:"keys"`
				}
			}])
		},
		"must be a pointer in an answer": func(r *endpoint.Registry) {
			endpoint.Add(r, with(func(op *endpoint.Operation) { op.Status = 200 }), nothing[struct{}, struct {
				Body struct {
					Key string `json:"key" once:"true"`
				}
			}])
		},
		"no optional members": func(r *endpoint.Registry) {
			endpoint.Add(r, with(func(op *endpoint.Operation) { op.Status = 200 }), nothing[struct{}, struct {
				Body struct {
					Key wire.Optional[string] `json:"key"`
				}
			}])
		},
		"is not among": func(r *endpoint.Registry) {
			endpoint.Add(r, with(func(op *endpoint.Operation) { op.Status = 200 }), nothing[struct{}, struct {
				Status int `enum:"201,202"`
				Body   view
			}])
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, name) {
					t.Errorf("got %s, want a panic that says %q", said, name)
				}
			}()
			add(endpoint.NewRegistry())
		})
	}
}

func TestALineIsCheckedAsABodyIs(t *testing.T) {
	t.Parallel()
	d := endpoint.NewDecoder[noteBody]()
	line := noteBody{noteFields: noteFields{Text: "left over"}}
	if err := d.Decode([]byte(`{"title":"t","weight":2}`), &line); err != nil {
		t.Fatalf("Decode: %v", err)
	}
	if line.Text != "" || line.Kind != "plain" || line.Weight != 2 {
		t.Errorf("got %+v", line)
	}
	wants(t, d.Decode([]byte(`{"title":"t"}`), &line), 400, "weight", "required")
	wants(t, d.Decode([]byte(`{"title":"t","weight":2,"x":1}`), &line), 400, "x", "unknown")
}
