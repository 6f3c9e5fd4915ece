package endpoint

import (
	"context"
	"net/http"
)

// Registry holds the operations of a program. It is filled at start and only read afterwards.
type Registry struct {
	operations []*Operation
	documents  map[int]string // info.version of an API version's document where it is not n.0.0
}

// NewRegistry makes an empty one.
func NewRegistry() *Registry { return &Registry{documents: map[int]string{}} }

// Add declares an operation with the function that does it. In and Out are structs as the package comment describes;
// what cannot be compiled (an unknown tag value, two operations with one id) panics, since it is a mistake in the code.
func Add[In, Out any](r *Registry, op Operation, fn func(ctx context.Context, in *In) (*Out, error)) {
	panic("not yet")
}

// Operations lists all in the order they were added. The caller must not change them.
func (r *Registry) Operations() []*Operation { return r.operations }

// At lists the operations API version n serves, below /api/v{n}: those it has itself and those it inherits. Where a
// version declares a method and path again, the newest declaration up to n counts.
func (r *Registry) At(n int) []*Operation { panic("not yet") }

// Unversioned lists the operations whose path is absolute.
func (r *Registry) Unversioned() []*Operation { panic("not yet") }

// Bound is a request as an operation takes it: read, decoded and checked.
type Bound struct {
	// Body is the raw request body where Bind was asked to keep it.
	Body []byte

	in any // *In
}

// Input is the *In.
func (b Bound) Input() any { return b.in }

// Bind reads parameters and body of r, which http.ServeMux has routed here (r.PathValue). With keepBody the raw body
// stays in Bound.Body; for a Stream operation it is never kept. What is wrong is a *problem.Problem: 415, 413 or 400.
func (op *Operation) Bind(r *http.Request, keepBody bool) (Bound, error) { panic("not yet") }

// Run calls the operation's function. The answer is the *Out, for Encode.
func (op *Operation) Run(ctx context.Context, b Bound) (any, error) { panic("not yet") }

// Response is an encoded answer, not yet written.
type Response struct {
	Status int
	Header []Field // those the answer's own fields set: ETag, Location
	Body   []byte  // JSON; nil with 204
	// Kept is Body as a repeated request may see it: secrets that are shown once are null. It is Body itself where
	// there are none.
	Kept []byte
}

// Field is one response header, its name in canonical form.
type Field struct{ Name, Value string }

// Encode shapes an answer of Run. Body is appended to buf, which may be nil, and shares its memory.
func (op *Operation) Encode(out any, buf []byte) (Response, error) { panic("not yet") }

// Document is the OpenAPI 3.1 description of API version n and of the unversioned operations, the same bytes each time.
func Document(r *Registry, n int) ([]byte, error) { panic("not yet") }

// SetDocumentVersion says what info.version of API version n's document is: "1.2.0". It rises with every change of it.
func (r *Registry) SetDocumentVersion(n int, version string) { r.documents[n] = version }

// Decoder decodes and checks lines of a stream as a JSON body of type T is.
type Decoder[T any] struct{}

// NewDecoder compiles the checks of T, as Add does.
func NewDecoder[T any]() *Decoder[T] { panic("not yet") }

// Decode reads one line; what is wrong is a 400 *problem.Problem.
func (d *Decoder[T]) Decode(line []byte, v *T) error { panic("not yet") }

// StatusOf is the status every answer with that error code has, 0 for a code that is not in the specification.
func StatusOf(code string) int { panic("not yet") }
