package auth

import (
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"time"
)

// receiptType is the typ of a receipt's signature. It keeps a receipt from being taken for a token.
const receiptType = "keepsake-receipt+jws"

// ReceiptKey signs receipts, and nothing else. An instance has one for as long as it lives: a receipt is looked at years
// later, when the keys of its time that signed tokens are long gone. It is none of SigningKeys, so that no token is taken
// here that it signed.
type ReceiptKey struct{ key signingKey }

// NewReceiptKey makes the key of a secret of 32 random bytes.
func NewReceiptKey(secret []byte) *ReceiptKey {
	return &ReceiptKey{newSigningKey(secret, time.Time{})}
}

// Sign makes a compact JWS of a receipt's payload.
func (r *ReceiptKey) Sign(payload []byte) (string, error) {
	header, err := json.Marshal(map[string]string{"alg": "EdDSA", "kid": r.key.id, "typ": receiptType})
	if err != nil {
		return "", fmt.Errorf("encode the header of a signature: %w", err)
	}
	signed := encode(header) + "." + encode(payload)
	return signed + "." + encode(ed25519.Sign(r.key.private, []byte(signed))), nil
}

// Public is what receipts are checked with.
func (r *ReceiptKey) Public() PublicKey { return r.key.shown() }
