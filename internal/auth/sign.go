package auth

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
)

// Sign makes a compact JWS of a payload, by the key that signs tokens at the moment. typ says what it is, and keeps it from
// being taken for a token.
func (s *SigningKeys) Sign(typ string, payload []byte) (string, error) {
	if typ == "" || typ == tokenType {
		return "", fmt.Errorf("a signature of the type %q could be taken for a token", typ)
	}
	key := s.signer()
	header, err := json.Marshal(map[string]string{"alg": "EdDSA", "kid": key.id, "typ": typ})
	if err != nil {
		return "", fmt.Errorf("encode the header of a signature: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	signed := encode(header) + "." + encode(payload)
	return signed + "." + encode(ed25519.Sign(key.private, []byte(signed))), nil
}
