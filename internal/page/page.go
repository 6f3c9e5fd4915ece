// Package page makes cursors: the opaque "where the next page starts" of a list.
package page

// Sealer authenticates cursors, so that a client can neither make one nor carry one over to another list.
type Sealer struct{ secret []byte }

// NewSealer makes a sealer under the instance's cursor secret.
func NewSealer(secret []byte) *Sealer { return &Sealer{secret: secret} }

// Scope names the list a cursor belongs to: workspace, operation and every parameter but limit and cursor. Parts are
// joined so that no two lists share a name.
func Scope(workspaceID, operation string, params ...string) string { panic("not yet") }

// Seal writes position v of the list scope as a cursor that is safe in a URL.
func (s *Sealer) Seal(scope string, v any) string { panic("not yet") }

// Open reads a cursor of the list scope into v. A forged one, or another list's, is a 400: `cursor`, `invalid`.
func (s *Sealer) Open(scope, cursor string, v any) error { panic("not yet") }
