package client

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// Receipt proves that a subject was erased. Signature is a compact JWS over the other fields and the workspace's ID. Its key
// stays in /.well-known/jwks.json.
type Receipt struct {
	ReceiptID        string    `json:"receiptId"`
	Memories         int64     `json:"memories"`
	ErasedAt         time.Time `json:"erasedAt"`
	LiveKeyDestroyed bool      `json:"liveKeyDestroyed"`
	KeyBackupsBefore time.Time `json:"keyBackupsBefore"` // older keys files can still decrypt older data
	Signature        string    `json:"signature"`
}

// ReceiptSigner identifies the key and the workspace of a receipt.
type ReceiptSigner struct {
	KeyID       string // kid in the JWK set
	WorkspaceID string // of the subject
}

// Verify checks, without a server, that one of keys (see SigningKeys) signed the receipt and that it is unchanged. The error
// says why it is invalid.
func (r *Receipt) Verify(keys []SigningKey) (*ReceiptSigner, error) {
	keyID, payload, err := openReceipt(r.Signature, keys)
	if err != nil {
		return nil, err
	}
	var signed struct {
		Receipt
		WorkspaceID string `json:"workspaceId"`
	}
	if !decodeWhole(payload, &signed) {
		return nil, errors.New("the signed content is not a receipt that this release knows")
	}
	if member := r.differs(&signed.Receipt); member != "" {
		return nil, errors.New(member + " differs from the signed value")
	}
	return &ReceiptSigner{KeyID: keyID, WorkspaceID: signed.WorkspaceID}, nil
}

// differs returns the name of a field that differs in s.
func (r *Receipt) differs(s *Receipt) string {
	switch {
	case r.ReceiptID != s.ReceiptID:
		return "receiptId"
	case r.Memories != s.Memories:
		return "memories"
	case !r.ErasedAt.Equal(s.ErasedAt):
		return "erasedAt"
	case r.LiveKeyDestroyed != s.LiveKeyDestroyed:
		return "liveKeyDestroyed"
	case !r.KeyBackupsBefore.Equal(s.KeyBackupsBefore):
		return "keyBackupsBefore"
	default:
		return ""
	}
}

// receiptType distinguishes the signature of a receipt from an access token, because one set contains both kinds of keys.
const receiptType = "keepsake-receipt+jws"

var errNoReceipt = errors.New("the signature is not that of a receipt")

// openReceipt verifies a signature with one of keys. It returns the signed content and the key's ID.
func openReceipt(signature string, keys []SigningKey) (keyID string, payload []byte, err error) {
	parts := strings.Split(signature, ".")
	if len(parts) != 3 {
		return "", nil, errNoReceipt
	}
	var raw [3][]byte
	for i, part := range parts {
		if raw[i], err = base64.RawURLEncoding.Strict().DecodeString(part); err != nil {
			return "", nil, errNoReceipt
		}
	}
	var header struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
		Type      string `json:"typ"`
	}
	if !decodeWhole(raw[0], &header) || header.Algorithm != "EdDSA" || header.Type != receiptType {
		return "", nil, errNoReceipt
	}
	for _, k := range keys {
		public, ok := k.public()
		if !ok || k.ID != header.KeyID {
			continue
		}
		if !ed25519.Verify(public, []byte(parts[0]+"."+parts[1]), raw[2]) {
			return "", nil, errors.New("the signature does not match the key: the receipt was changed")
		}
		return k.ID, raw[1], nil
	}
	return "", nil, fmt.Errorf("the key %q is not one of the given keys: another server signed the receipt, or it is forged", header.KeyID)
}

// public returns the key, or false if it is not an Ed25519 key.
func (k *SigningKey) public() (ed25519.PublicKey, bool) {
	x, err := base64.RawURLEncoding.DecodeString(k.X)
	return x, err == nil && k.KeyType == "OKP" && k.Curve == "Ed25519" && len(x) == ed25519.PublicKeySize
}

// decodeWhole decodes one object. It refuses unknown members, and anything after the object.
func decodeWhole(text []byte, v any) bool {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(v) != nil {
		return false
	}
	_, err := d.Token()
	return errors.Is(err, io.EOF)
}
