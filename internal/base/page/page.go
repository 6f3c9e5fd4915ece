// Package page creates cursors, which tell where the next page of a list starts.
package page

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
)

// Sealer authenticates cursors, so that a client cannot forge one or use it for another list.
type Sealer struct{ secret []byte }

// NewSealer creates a Sealer with the instance's cursor secret.
func NewSealer(secret []byte) *Sealer { return &Sealer{secret: secret} }

// macSize is the size of the truncated HMAC in a cursor. 128 bits cannot be guessed and keep cursors short.
const macSize = 16

var errCursor = problem.Validation("cursor", problem.InvalidVal, "This cursor does not belong to this list. Start again without a cursor.")

// Scope identifies the list of a cursor: workspace, operation and every parameter except limit and cursor. Each part is
// preceded by its length, so that different lists have different scopes.
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

// Seal returns a cursor for position v of a list, safe in a URL. v is encoded as JSON and clients can read it, so it
// contains IDs, times and numbers, but never a secret. Seal panics if v cannot be encoded.
func (s *Sealer) Seal(scope string, v any) string {
	position, err := wire.Encode(v)
	if err != nil {
		panic("page: encode a cursor: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(append(s.mac(scope, position), position...))
}

// Open decodes a cursor of the list into v. A forged cursor, or one of another list, is a 400: `cursor`, `invalid`.
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
		return errCursor.Because(err) // an authentic cursor of a release with another format
	}
	return nil
}

func (s *Sealer) mac(scope string, position []byte) []byte {
	h := hmac.New(sha256.New, s.secret)
	h.Write(appendPart(nil, scope))
	h.Write(position)
	return h.Sum(nil)[:macSize]
}
