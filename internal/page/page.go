// Package page makes cursors: the opaque "where the next page starts" of a list.
package page

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"keepsake/internal/problem"
	"keepsake/internal/wire"
)

// Sealer authenticates cursors, so that a client can neither make one nor carry one over to another list.
type Sealer struct{ secret []byte }

// NewSealer makes a sealer under the instance's cursor secret.
func NewSealer(secret []byte) *Sealer { return &Sealer{secret: secret} }

// macSize is how much of the HMAC a cursor carries: 128 bits are beyond guessing and keep it short.
const macSize = 16

var errCursor = problem.Validation("cursor", problem.InvalidVal, "This cursor does not belong to this list. Start again without a cursor.")

// Scope names the list a cursor belongs to: workspace, operation and every parameter but limit and cursor. Each part is
// preceded by its length, so that no two lists share a name.
func Scope(workspaceID, operation string, params ...string) string {
	scope := appendPart(nil, workspaceID)
	scope = appendPart(scope, operation)
	for _, p := range params {
		scope = appendPart(scope, p)
	}
	return string(scope)
}

func appendPart(scope []byte, part string) []byte {
	return append(binary.AppendUvarint(scope, uint64(len(part))), part...)
}

// Seal writes position v of the list scope as a cursor that is safe in a URL. v is encoded as JSON, readable to who
// decodes the cursor: it holds ids, times and numbers, never a secret. A v that cannot be encoded is a mistake in the
// code, and panics.
func (s *Sealer) Seal(scope string, v any) string {
	position, err := wire.Encode(v)
	if err != nil {
		panic("page: encode a cursor: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(append(s.mac(scope, position), position...))
}

// Open reads a cursor of the list scope into v. A forged one, or another list's, is a 400: `cursor`, `invalid`.
func (s *Sealer) Open(scope, cursor string, v any) error {
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(sealed) < macSize {
		return errCursor
	}
	position := sealed[macSize:]
	if !hmac.Equal(sealed[:macSize], s.mac(scope, position)) {
		return errCursor
	}
	if err := wire.Decode(position, v); err != nil {
		return errCursor.Because(err) // ours, but of a release whose positions looked different
	}
	return nil
}

func (s *Sealer) mac(scope string, position []byte) []byte {
	h := hmac.New(sha256.New, s.secret)
	h.Write(appendPart(nil, scope))
	h.Write(position)
	return h.Sum(nil)[:macSize]
}
