package endpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"keepsake/internal/govern/auth"
)

// Registry holds the operations of a program. It is filled at start and then only read.
type Registry struct {
	operations []*Operation
	documents  map[int]string // info.version of a document, if it is not n.0.0
	tags       []*huma.Tag
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{documents: map[int]string{}} }

// Clone returns a registry with the same operations, to which others can be added.
func (r *Registry) Clone() *Registry {
	return &Registry{operations: slices.Clone(r.operations), documents: maps.Clone(r.documents), tags: slices.Clone(r.tags)}
}

// Add declares an operation with its function. In and Out are structs as the package comment describes. Add panics if it
// cannot compile them, or if two operations have the same ID and neither replaces the other in a later version: that is a mistake
// in the code.
func Add[In, Out any](r *Registry, op Operation, fn func(ctx context.Context, in *In) (*Out, error)) {
	AddPrepared(r, op, nil, fn)
}

// AddPrepared is Add for an operation with slow work that must not run inside a transaction, such as hashing a password.
// prepare runs once before fn and outside the transaction of an Idempotency-Key. It stores its result in an unexported field
// of in.
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

// AddSignIn is Add for an operation that authenticates its caller itself (Request.SignedIn). refused returns the problem of
// other limits than that of the client's address. It has no side effects and does not use the database. It is called only if
// the address has no requests left, so that the client learns of the limit that lasts longer.
func AddSignIn[In, Out any](r *Registry, op Operation, refused func(ctx context.Context, in *In) error, fn func(ctx context.Context, in *In) (*Out, error)) {
	op.SignIn = true
	op.refused = func(ctx context.Context, in any) error { return refused(ctx, in.(*In)) }
	Add(r, op, fn)
}

// Mount adds operations of from under absolute paths, for a surface on which only a header names the version. paths maps
// their IDs to these paths. A version that changes an operation changes it under both paths. Mount panics if an operation
// does not exist or has parameters in its path: that is a mistake in the code.
func (r *Registry) Mount(from *Registry, paths map[string]string) {
	found := map[string]bool{}
	for _, op := range from.operations {
		path, ok := paths[op.ID]
		if !ok {
			continue
		}
		if len(pathParams(op.Path)) > 0 || op.Since == 0 {
			panic(fmt.Sprintf("endpoint: %s cannot be mounted at %s", op.ID, path))
		}
		found[op.ID] = true
		mounted := *op
		mounted.Path, mounted.mounted = path, true
		r.operations = append(r.operations, &mounted)
	}
	for id := range paths {
		if !found[id] {
			panic("endpoint: there is no operation " + id + " to mount")
		}
	}
}

// compile checks and compiles a declaration. It stores defaults in prototype.
func compile[In, Out any](r *Registry, op *Operation, prototype *In) {
	op.mustBeWhole()
	for _, other := range r.operations {
		same := other.Method == op.Method && other.Path == op.Path
		if same && other.Since == op.Since || other.ID == op.ID && (!same || op.Since == 0) {
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
	case op.Judging && (op.Credentials != NoCredential || !op.Uncharged):
		wrong = "a credential that is judged pays for itself"
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

// Operations lists all operations in the order in which they were added. The caller must not change them.
func (r *Registry) Operations() []*Operation { return r.operations }

// At lists the operations of API version n, below /api/v{n} or mounted: its own and those it inherits. If a method and path
// is declared more than once, the newest declaration up to n applies.
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

// Newest returns the newest declared API version: one in which an operation was added or removed.
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

// Unversioned lists the operations with an absolute path.
func (r *Registry) Unversioned() []*Operation {
	var list []*Operation
	for _, op := range r.operations {
		if op.Since == 0 {
			list = append(list, op)
		}
	}
	return list
}

// SetDocumentVersion sets info.version of API version n's document, such as "1.2.0". It rises with the first
// change of the document after a release.
func (r *Registry) SetDocumentVersion(n int, version string) { r.documents[n] = version }

// DescribeTag adds a tag to the document, for Operation.Tag.
func (r *Registry) DescribeTag(name, description string) {
	r.tags = append(r.tags, &huma.Tag{Name: name, Description: description})
}

// DocumentVersion returns info.version of API version n's document.
func (r *Registry) DocumentVersion(n int) string {
	return cmp.Or(r.documents[n], fmt.Sprintf("%d.0.0", n))
}

// Route returns the path template of an operation in API version n: /api/v1/documents/{id}. For an operation that is
// unversioned or mounted, it is Path.
func (op *Operation) Route(n int) string {
	if op.Since == 0 || op.mounted {
		return op.Path
	}
	return fmt.Sprintf("/api/v%d%s", n, op.Path)
}

// Bound is the input of an operation: read, decoded and checked.
type Bound struct{ in any } // *In

// Input returns the *In.
func (b Bound) Input() any { return b.in }

// Bind reads the parameters and the body of r, which http.ServeMux has routed (r.PathValue). It also writes the body to
// copied, unless that is nil or the operation is a Stream, which reads its body later. Its error is a *problem.Problem with
// status 415, 413 or 400.
func (op *Operation) Bind(r *http.Request, copied io.Writer) (Bound, error) {
	in := op.newIn()
	if err := op.input.bind(r, in, copied); err != nil {
		return Bound{}, err
	}
	return Bound{in}, nil
}

// Prepare runs what AddPrepared declared, outside of any transaction.
func (op *Operation) Prepare(ctx context.Context, b Bound) error {
	if op.ready == nil {
		return nil
	}
	return op.ready(ctx, b.in)
}

// Refused returns what AddSignIn's refused returns.
func (op *Operation) Refused(ctx context.Context, b Bound) error {
	if op.refused == nil {
		return nil
	}
	return op.refused(ctx, b.in)
}

// Run calls the operation's function and returns its *Out, for Encode.
func (op *Operation) Run(ctx context.Context, b Bound) (any, error) {
	if b.in == nil {
		return nil, errors.New("run " + op.ID + ": the request is not bound")
	}
	return op.run(ctx, b.in)
}

// Encode encodes the result of Run as a whole, unless it is in lines. Body is appended to buf, which can be nil.
func (op *Operation) Encode(out any, buf []byte) (response Response, err error) {
	if err := op.output.encode(&response, out, buf, true); err != nil {
		return Response{}, fmt.Errorf("answer of %s: %w", op.ID, err)
	}
	return response, nil
}

// Answer runs the operation and encodes its result into response, which is the zero Response. Unlike Encode, it encodes a
// body with a sequence in pieces: then the operation is done, except for reading the list.
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
