// Package endpoint is how an operation is declared: method, path, credentials, scope, class, summary and a typed
// function, in one place. Router, scope check, OpenAPI document and generic tests all read that declaration.
package endpoint

import "keepsake/internal/auth"

// Credentials are the kinds of credential an operation takes.
type Credentials uint8

// The kinds. Bearer tokens join them with people.
const (
	NoCredential Credentials = 0
	Key          Credentials = 1 << iota
)

// Class bounds the time and the size of a request by what kind of work it is (docs/architecture.md).
type Class uint8

// The classes.
const (
	Small  Class = iota // 10 s, 1 MiB
	Batch               // 60 s, 8 MiB
	Stream              // deadlines renewed by progress, 64 MiB
)

// Operation is the declaration. Path is below /api/v{n} when Since is set, else absolute.
type Operation struct {
	ID          string // unique, camelCase: createAPIKey
	Method      string
	Path        string // /documents/{id}
	Since       int    // API version that first has it; 0: unversioned, Path is absolute
	Until       int    // last API version that has it; 0: still there
	Summary     string
	Description string
	Tag         string      // resource it belongs to
	Credentials Credentials // deny by default: NoCredential must be said
	Scope       auth.Scopes // needed besides a valid credential; auth.None for any
	Class       Class
	Status      int      // of success: 200, 201, 204
	Media       string   // of a request body that is not JSON: application/x-ndjson
	Errors      []string // codes besides those every operation can have
	Idempotent  bool     // a POST that changes something: Idempotency-Key is honoured
	Uncharged   bool     // costs no budget
}
