// Package endpoint is how an operation is declared: method, path, credentials, scope, class, summary and a typed
// function, in one place. Router, scope check, OpenAPI document and generic tests all read that declaration.
//
// A resource is one file below internal/web/api/v1. It holds the declarations, the input and answer types, and nothing of
// HTTP:
//
//	func AddNotes(r *endpoint.Registry, notes *note.Service) {
//		endpoint.Add(r, endpoint.Operation{
//			ID: "createNote", Method: "POST", Path: "/notes", Since: 1, Tag: "notes",
//			Summary:     "Create a note",
//			Credentials: endpoint.Key, Scope: auth.Write,
//			Status:      201, Errors: []string{problem.CodeLimitReached}, Idempotent: true,
//		}, func(ctx context.Context, in *createNote) (*oneNote, error) {
//			n, err := notes.Create(ctx, auth.From(ctx), in.Body.Title, in.Body.Tags)
//			if err != nil {
//				return nil, err
//			}
//			return viewOfNote(n), nil
//		})
//	}
//
//	type createNote struct {
//		Body struct { // decoded strictly; *T for a body that may be left out
//			Title     string        `json:"title" maxLength:"200" doc:"What the note is about."` // required: absent, null or blank is `required`
//			Tags      []string      `json:"tags" required:"false" maxItems:"32" maxLength:"64"`  // optional, null is `type`
//			ExpiresAt *wire.Time    `json:"expiresAt"`                                           // a pointer is optional, null means left out
//			Metadata  wire.Metadata `json:"metadata" required:"false" maxProperties:"32"`
//		}
//	}
//
//	type changeNote struct {
//		ID      string           `path:"id"`
//		IfMatch endpoint.IfMatch `header:"If-Match"`
//		Body    struct {
//			Title     wire.Optional[string]    `json:"title" nullable:"false" maxLength:"200"` // PATCH: left out, null and a value differ
//			ExpiresAt wire.Optional[wire.Time] `json:"expiresAt"`
//		}
//	}
//
//	type createNotes struct {
//		Body struct {
//			Items []endpoint.Loose[newNote] `json:"items" maxItems:"1000"` // checked one by one; one that is wrong fails alone
//		}
//	}
//
//	type listNotes struct {
//		Limit  int      `query:"limit" default:"50" minimum:"1" maximum:"200"`
//		Cursor string   `query:"cursor"`                    // query and header parameters are optional …
//		State  string   `query:"state" enum:"open,done"`    // … an absent one keeps its zero value or default
//		Q      string   `query:"q" required:"true"`         // … unless it is said: absent or blank is `required`
//		Tags   []string `query:"tag" maxItems:"32"`         // repeatable; others given twice are `duplicate`
//		Facets string   `query:"facets" unsupported:"true"` // known but not built: sending it is `unsupported`
//	}
//
//	type oneNote struct {
//		Status int      `enum:"200,201"`                    // optional: overrides Operation.Status where not 0
//		ETag   string   `header:"ETag"`                     // sent where not empty
//		Loc    string   `header:"Location"`                 // below the version: /notes/n1
//		Body   noteView                                     // no Body: 204
//		Lines  endpoint.Sequence[noteView]                  // optional: if set, sent in place of Body, one a line (see Accept); Body can be missing
//		CSV    []byte                                       // optional: a table, sent in place of Body unless it is nil
//		Raw    []byte `media:"text/plain"`                  // in place of Body: a body that the operation encodes itself; JSON without media
//	}
//
//	type manyNotes struct {
//		Body struct {
//			Notes endpoint.Sequence[noteView] `json:"notes"` // a list that is encoded as it is sent
//		}
//	}
//
//	type allNotes struct {
//		Body struct {
//			Results []endpoint.Outcome[noteView] `json:"results"` // bodies or errors of parts (Request.Part)
//		}
//	}
//
//	type noteView struct {
//		ID        string     `json:"id" example:"note_01…"`
//		ExpiresAt *wire.Time `json:"expiresAt"`             // a pointer is present and may be null
//		Key       *string    `json:"key" once:"true"`       // a secret shown once: null in a repeated answer
//	}
//
// An operation of another protocol, which says how bodies are decoded, has `Raw []byte` in place of Body in its input: the bytes
// that were sent.
//
// Parameters are string, bool, int, int64, float64, named types of these, wire.Time, IfMatch, slices of them
// (query only) and pointers to them where absent must differ from zero. Stream operations have `Stream io.Reader` in
// place of Body and say its type in Operation.Media. With a field `Array bool` they also accept a JSON array, and Array is
// then true. With a field `Table bool` they also accept a CSV, and Table is then true.
//
// Constraint tags hold in the binder and in the document alike; on a slice those of strings and numbers hold for each
// item:
//
//	minLength maxLength  code points: too_short, too_long     minItems maxItems maxProperties  too_short, too_long
//	maxBytes             bytes of UTF-8: too_long             minimum maximum                  too_small, too_large
//	pattern              RE2, anchor it yourself: format      enum                             not_allowed
//	format               uri (absolute), cidr: format         unsupported                      unsupported
//	required nullable default doc example                     as above
//
// A body is decoded once, and a second time only if the first decoding is ambiguous: it contains null, or an optional field
// without a pointer is zero and zero violates its constraints. A pointer avoids that. For the same reason, an unsupported
// member is a pointer, a list, a map or a wire.Value.
//
// A malformed value is `type` (numbers, booleans) or `format` (times, tags, escapes). Problems come out as *problem.Problem.
package endpoint

import (
	"context"

	"keepsake/internal/govern/auth"
)

// Credentials are the kinds of credentials that an operation accepts. If both are sent and accepted, the API key is used. A
// kind that is not accepted is ignored.
type Credentials uint8

// The kinds.
const (
	Key     Credentials = 1 << iota // an API key in X-API-Key
	Bearer                          // an access token in Authorization
	Backend                         // the backend secret in X-Keepsake-Backend, on the backend listener

	NoCredential Credentials = 0
)

// Class limits how long a request can take and how large its body can be (docs/architecture.md).
type Class uint8

// The classes.
const (
	Small  Class = iota // 10 s, 1 MiB
	Batch               // 60 s, 8 MiB: lists of items
	Stream              // 64 MiB; the deadline moves while data keeps moving
)

// Operation is a declaration. Fields without a comment that says so can stay zero. Mount describes other surfaces than the API.
type Operation struct {
	ID          string // required, camelCase, unique in an API version: createAPIKey
	Method      string // required
	Path        string // required: below /api/v{n}, such as /documents/{id}; absolute if Since is 0
	Since       int    // first API version with the operation; 0: it belongs to no version
	Until       int    // last API version with the operation; 0: it has not been removed
	Summary     string // required
	Description string
	Tag         string // required: the resource in the OpenAPI document

	Credentials Credentials // kinds of credentials that are accepted; NoCredential if none is required
	Scope       auth.Scopes // what the credential must allow; auth.None: any valid credential
	Operator    bool        // only credentials of the operator workspace are accepted

	Class   Class    // limits of time and size
	MaxBody int64    // largest body in bytes; 0: that of Class
	Media   string   // media type of the request body; empty: JSON
	Lines   []string // example of a request body in lines: one JSON object each
	Table   string   // the same as a CSV
	Status  int      // required: status of success, such as 200, 201 or 204
	Errors  []string // error codes beside those that every operation can return

	// Idempotent means that the operation accepts an Idempotency-Key: a repeated request gets the stored response and has no
	// second effect. Only a POST can be Idempotent. An input can implement Harmless.
	Idempotent bool
	// InParts means that an Idempotent operation commits in several transactions. If a request was cut off, a repeated one
	// runs from the beginning, so it must be harmless to repeat a part that is already committed. A Stream always works this way.
	InParts bool
	// WithoutStorage means that an Idempotent operation also works while the store accepts no writes. The response is then
	// not stored, and a repeated request runs again.
	WithoutStorage bool
	// Again runs before a stored response is sent again, because showing it can require an entry in the audit log. An error
	// refuses the request. Can be nil.
	Again func(ctx context.Context, body []byte) error

	Uncharged bool // requests count towards no rate limit and no quota
	Vital     bool // for health and administration: can use the capacity that an overloaded instance reserves for them
	Probe     bool // on the backend listener: needs no backend secret even if the others do
	Calls     bool // its function calls other operations (Request.Call)
	Parts     bool // its function charges each part of a request (Request.Part)
	// SignIn means that the function authenticates the caller, by a password for example, and then calls Request.SignedIn.
	// Credentials must be NoCredential.
	SignIn bool
	// Judging means that the function checks a credential for another service (Request.Judge) and charges its owner.
	// Credentials must be NoCredential, and Uncharged true.
	Judging bool
	// CheckOrigin refuses requests from web pages, except those of configured origins and of the instance itself. A page that
	// makes its name resolve to this machine could otherwise reach an instance that only listens here.
	CheckOrigin bool
	// TrailingSlash also serves the path with a slash at its end. Otherwise that is another path.
	TrailingSlash bool
	// Metadata is the path of a document that says how to get credentials (RFC 9728). A refusal names it in WWW-Authenticate.
	Metadata string

	mounted bool // Mount made Path absolute, although Since is set
	input   *input
	output  *output
	newIn   func() any                              // returns an empty input
	ready   func(ctx context.Context, in any) error // prepare of AddPrepared; can be nil
	refused func(ctx context.Context, in any) error // refused of AddSignIn; can be nil
	run     func(ctx context.Context, in any) (any, error)
}

// Harmless is implemented by the input of an Idempotent operation of which some requests have no effect. Their
// Idempotency-Key is ignored.
type Harmless interface {
	// Harmless reports whether the request has no effect.
	Harmless() bool
}

// Harmless reports whether the request has no effect although others of its operation do.
func (b Bound) Harmless() bool {
	h, ok := b.in.(Harmless)
	return ok && h.Harmless()
}

// Compressible reports whether responses of the operation can be compressed: those of a GET, and of a POST that only reads. A
// response that shows a secret cannot be.
func (op *Operation) Compressible() bool {
	switch {
	case op.output != nil && len(op.output.once) > 0, op.SignIn, op.Judging, op.Idempotent:
		return false
	case op.Method == "POST":
		return op.Scope == auth.Read || op.Scope == auth.MemoryRead || op.Calls
	default:
		return op.Method == "GET"
	}
}
