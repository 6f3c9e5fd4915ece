package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"keepsake/internal/auth"
)

// Registry holds the operations of a program. It is filled at start and only read afterwards.
type Registry struct {
	operations []*Operation
	documents  map[int]string // info.version of an API version's document where it is not n.0.0
	tags       []*huma.Tag
}

// NewRegistry makes an empty one.
func NewRegistry() *Registry { return &Registry{documents: map[int]string{}} }

// Add declares an operation with the function that does it. In and Out are structs as the package comment describes;
// what cannot be compiled (an unknown tag value, two operations with one id) panics, since it is a mistake in the code.
func Add[In, Out any](r *Registry, op Operation, fn func(ctx context.Context, in *In) (*Out, error)) {
	AddPrepared(r, op, nil, fn)
}

// AddPrepared is Add for an operation with work that must not happen inside a unit of work, where others wait for it:
// hashing a password. prepare runs once before fn, outside the unit in which an Idempotency-Key has fn run, and leaves
// what it made in an unexported field of in.
func AddPrepared[In, Out any](r *Registry, op Operation, prepare func(ctx context.Context, in *In) error, fn func(ctx context.Context, in *In) (*Out, error)) {
	prototype := new(In)
	compile[In, Out](r, &op, prototype)
	op.newIn = func() any {
		in := new(In)
		*in = *prototype
		return in
	}
	if prepare != nil {
		op.ready = func(ctx context.Context, in any) error { return prepare(ctx, in.(*In)) }
	}
	op.run = func(ctx context.Context, in any) (any, error) {
		out, err := fn(ctx, in.(*In))
		if err != nil || out == nil {
			return nil, err
		}
		return out, nil
	}
	r.operations = append(r.operations, &op)
}

// AddSignIn is Add for an operation that finds out by itself who calls (Request.SignedIn). refused says whether other limits
// than the budget of its address refuse a request: it has no effect and asks no database. It is called only for a request
// that this budget refuses, whose caller is told of the limit that ends last.
func AddSignIn[In, Out any](r *Registry, op Operation, refused func(ctx context.Context, in *In) error, fn func(ctx context.Context, in *In) (*Out, error)) {
	op.SignIn = true
	op.refused = func(ctx context.Context, in any) error { return refused(ctx, in.(*In)) }
	Add(r, op, fn)
}

// compile checks a declaration and makes the plans of it. prototype gets the defaults.
func compile[In, Out any](r *Registry, op *Operation, prototype *In) {
	op.mustBeWhole()
	for _, other := range r.operations {
		if other.ID == op.ID || other.Method == op.Method && other.Path == op.Path && other.Since == op.Since {
			panic(fmt.Sprintf("endpoint: %s is declared twice", op.ID))
		}
	}
	op.input = compileInput(op, reflect.TypeFor[In](), reflect.ValueOf(prototype))
	op.output = compileOutput(op, reflect.TypeFor[Out]())
	op.mustNamePathParams()
}

func (op *Operation) mustBeWhole() {
	var wrong string
	switch {
	case op.ID == "" || op.Summary == "" || op.Tag == "" || op.Status == 0:
		wrong = "ID, Summary, Tag and Status are needed"
	case !slices.Contains([]string{"GET", "POST", "PUT", "PATCH", "DELETE"}, op.Method):
		wrong = "no such method: " + op.Method
	case !strings.HasPrefix(op.Path, "/"):
		wrong = "the path must begin with a slash: " + op.Path
	case op.Credentials == NoCredential && op.Scope != auth.None:
		wrong = "a scope needs a credential"
	case op.Operator && op.Scope&auth.Admin == 0:
		wrong = "what concerns the whole instance needs the scope admin"
	case op.SignIn && op.Credentials != NoCredential:
		wrong = "who signs in has no credential yet"
	case op.Idempotent && op.Method != http.MethodPost:
		wrong = "Idempotency-Key is for POST"
	}
	for _, code := range op.Errors {
		if StatusOf(code) == 0 {
			wrong = "no such error code: " + code
		}
	}
	if wrong != "" {
		panic(fmt.Sprintf("endpoint: operation %q: %s", op.ID, wrong))
	}
}

func (op *Operation) mustNamePathParams() {
	var declared []string
	for i := range op.input.params {
		if p := &op.input.params[i]; p.place == inPath {
			declared = append(declared, p.name)
		}
	}
	named := pathParams(op.Path)
	slices.Sort(declared)
	slices.Sort(named)
	if !slices.Equal(declared, named) {
		panic(fmt.Sprintf("endpoint: %s: the path names %v, the input %v", op.ID, named, declared))
	}
}

// Operations lists all in the order they were added. The caller must not change them.
func (r *Registry) Operations() []*Operation { return r.operations }

// At lists the operations API version n serves, below /api/v{n}: those it has itself and those it inherits. Where a
// version declares a method and path again, the newest declaration up to n counts.
func (r *Registry) At(n int) []*Operation {
	newest := map[string]*Operation{}
	for _, op := range r.operations {
		if op.Since == 0 || op.Since > n {
			continue
		}
		key := op.Method + " " + op.Path
		if known := newest[key]; known == nil || known.Since < op.Since {
			newest[key] = op
		}
	}
	var list []*Operation
	for _, op := range r.operations {
		if newest[op.Method+" "+op.Path] == op && (op.Until == 0 || n <= op.Until) {
			list = append(list, op)
		}
	}
	return list
}

// Newest is the latest API version the code declares: one that an operation begins with, or that lacks one.
func (r *Registry) Newest() int {
	newest := 1
	for _, op := range r.operations {
		newest = max(newest, op.Since)
		if op.Until != 0 {
			newest = max(newest, op.Until+1)
		}
	}
	return newest
}

// Unversioned lists the operations whose path is absolute.
func (r *Registry) Unversioned() []*Operation {
	var list []*Operation
	for _, op := range r.operations {
		if op.Since == 0 {
			list = append(list, op)
		}
	}
	return list
}

// SetDocumentVersion says what info.version of API version n's document is: "1.2.0". It rises with every change of it.
func (r *Registry) SetDocumentVersion(n int, version string) { r.documents[n] = version }

// DescribeTag adds a tag to the document. Operations refer to it by Operation.Tag.
func (r *Registry) DescribeTag(name, description string) {
	r.tags = append(r.tags, &huma.Tag{Name: name, Description: description})
}

// DocumentVersion is info.version of API version n's document.
func (r *Registry) DocumentVersion(n int) string {
	return cmp.Or(r.documents[n], fmt.Sprintf("%d.0.0", n))
}

// Route is the operation's path template in API version n: /api/v1/documents/{id}. For an unversioned operation it is
// its path.
func (op *Operation) Route(n int) string {
	if op.Since == 0 {
		return op.Path
	}
	return fmt.Sprintf("/api/v%d%s", n, op.Path)
}

// Bound is a request as an operation takes it: read, decoded and checked.
type Bound struct{ in any } // *In

// Input is the *In.
func (b Bound) Input() any { return b.in }

// Bind reads parameters and body of r, which http.ServeMux has routed here (r.PathValue). The body's bytes are written to
// copied as well, unless that is nil; a Stream operation reads its body later, and nothing is written. What is wrong is a
// *problem.Problem: 415, 413 or 400.
func (op *Operation) Bind(r *http.Request, copied io.Writer) (Bound, error) {
	in := op.newIn()
	if err := op.input.bind(r, in, copied); err != nil {
		return Bound{}, err
	}
	return Bound{in}, nil
}

// Prepare does what an operation does before its function and outside any unit of work, which is nothing for most.
func (op *Operation) Prepare(ctx context.Context, b Bound) error {
	if op.ready == nil {
		return nil
	}
	return op.ready(ctx, b.in)
}

// Refused gives the error by which another limit than the budget of its address refuses a request, nil if none does.
func (op *Operation) Refused(ctx context.Context, b Bound) error {
	if op.refused == nil {
		return nil
	}
	return op.refused(ctx, b.in)
}

// Run calls the operation's function. The answer is the *Out, for Encode.
func (op *Operation) Run(ctx context.Context, b Bound) (any, error) {
	if b.in == nil {
		return nil, errors.New("run " + op.ID + ": the request is not bound")
	}
	return op.run(ctx, b.in)
}

// Encode shapes an answer of Run, whole unless it is in lines. Body is appended to buf, which may be nil, and shares its
// memory.
func (op *Operation) Encode(out any, buf []byte) (response Response, err error) {
	if err := op.output.encode(&response, out, buf, true); err != nil {
		return Response{}, fmt.Errorf("answer of %s: %w", op.ID, err)
	}
	return response, nil
}

// Answer runs the operation and shapes its answer as Encode does, into response, which is the zero Response. Where the
// body has a sequence it is in pieces: all that the operation does is done then, and only that list is still to be made.
func (op *Operation) Answer(ctx context.Context, b Bound, response *Response, buf []byte) error {
	if err := op.Prepare(ctx, b); err != nil {
		return err
	}
	out, err := op.Run(ctx, b)
	if err != nil {
		return err
	}
	if err := op.output.encode(response, out, buf, false); err != nil {
		return fmt.Errorf("answer of %s: %w", op.ID, err)
	}
	return nil
}
