package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// DataKey encrypts the memories of one subject. It is safe for concurrent use.
type DataKey struct {
	Generation int64

	aead cipher.AEAD
	hash []byte
	mix  []byte // derives the keys of With
}

// Format keeps a key that is printed by mistake out of logs, whatever the verb.
func (*DataKey) Format(f fmt.State, _ rune) { io.WriteString(f, "(data key)") }

// newDataKey derives independent keys from 32 random bytes.
func newDataKey(generation int64, raw []byte) (*DataKey, error) {
	sealing, err := hkdf.Expand(sha256.New, raw, "keepsake seal", secretSize)
	if err != nil {
		return nil, err
	}
	hashing, err := hkdf.Expand(sha256.New, raw, "keepsake hash", secretSize)
	if err != nil {
		return nil, err
	}
	mixing, err := hkdf.Expand(sha256.New, raw, "keepsake own", secretSize)
	if err != nil {
		return nil, err
	}
	aead, err := newAEAD(sealing)
	if err != nil {
		return nil, err
	}
	return &DataKey{Generation: generation, aead: aead, hash: hashing, mix: mixing}, nil
}

// newAEAD returns AES-256-GCM. A ciphertext begins with its random nonce and ends with its tag.
func newAEAD(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// OwnKey is derived from a DataKey and the key of a single record. Without either, it cannot be derived.
type OwnKey struct{ aead cipher.AEAD }

// Format keeps a key that is printed by mistake out of logs.
func (*OwnKey) Format(f fmt.State, _ rune) { io.WriteString(f, "(own key)") }

// errNoOwnKey is the error of With for a record whose key was erased.
var errNoOwnKey = errors.New("the record's own key is missing")

// With returns the key of a record.
func (k *DataKey) With(own []byte) (*OwnKey, error) { return k.Deriver().With(own) }

// Deriver derives the keys of many records. It is not safe for concurrent use.
type Deriver struct {
	mac hash.Hash
	sum [sha256.Size]byte
}

// Deriver returns a Deriver of the key.
func (k *DataKey) Deriver() *Deriver { return &Deriver{mac: hmac.New(sha256.New, k.mix)} }

// Format keeps a key that is printed by mistake out of logs.
func (*Deriver) Format(f fmt.State, _ rune) { io.WriteString(f, "(deriver)") }

// With is DataKey.With.
func (d *Deriver) With(own []byte) (*OwnKey, error) {
	if len(own) == 0 {
		return nil, errNoOwnKey
	}
	d.mac.Reset()
	d.mac.Write(own)
	aead, err := newAEAD(d.mac.Sum(d.sum[:0]))
	if err != nil {
		return nil, err
	}
	return &OwnKey{aead}, nil
}

// Seal is DataKey.Seal.
func (k *OwnKey) Seal(plain, about []byte) []byte { return encrypt(k.aead, plain, about) }

// Open is DataKey.Open.
func (k *OwnKey) Open(sealed, about []byte) ([]byte, error) { return decrypt(k.aead, sealed, about) }

// AppendOpen is Open that appends the plaintext to a slice, which must not overlap what is sealed.
func (k *OwnKey) AppendOpen(to, sealed, about []byte) ([]byte, error) {
	return appendDecrypted(to, k.aead, sealed, about)
}

func encrypt(aead cipher.AEAD, plain, about []byte) []byte { return aead.Seal(nil, nil, plain, about) }

func decrypt(aead cipher.AEAD, sealed, about []byte) ([]byte, error) {
	return appendDecrypted(nil, aead, sealed, about)
}

func appendDecrypted(to []byte, aead cipher.AEAD, sealed, about []byte) ([]byte, error) {
	plain, err := aead.Open(to, nil, sealed, about)
	if err != nil {
		return nil, fmt.Errorf("decrypt: %w", err)
	}
	return plain, nil
}

// InstanceKey derives a key from a secret of the instance. It belongs to no subject.
func InstanceKey(secret []byte) (*DataKey, error) { return newDataKey(0, secret) }

// Seal encrypts plain with AES-256-GCM. It opens only with the same about, which names what is sealed and where it
// belongs, so that one ciphertext cannot replace another.
func (k *DataKey) Seal(plain, about []byte) []byte { return encrypt(k.aead, plain, about) }

// Open decrypts what Seal returned. The error gives no details.
func (k *DataKey) Open(sealed, about []byte) ([]byte, error) { return decrypt(k.aead, sealed, about) }

// Hash returns a keyed hash of a text of the subject, to find the text again. Without the key, guesses cannot be
// tested, so the hash is useless once the key is destroyed. kind separates texts of different use.
func (k *DataKey) Hash(kind, text string) [16]byte { return keyedHash(k.hash, kind, text) }

// Lookup hashes the names of subjects, agents and sessions, to find them. Its secret belongs to the instance and
// outlives every subject.
type Lookup struct{ secret []byte }

// NewLookup creates a Lookup from the secret named LookupSecret.
func NewLookup(secret []byte) Lookup { return Lookup{secret} }

// Subject returns the hash of a subject of a workspace.
func (l Lookup) Subject(workspaceID, id string) SubjectHash {
	return keyedHash(l.secret, "subject", workspaceID, id)
}

// Agent returns the hash of an agent of a workspace.
func (l Lookup) Agent(workspaceID, id string) [16]byte {
	return keyedHash(l.secret, "agent", workspaceID, id)
}

// Session returns the hash of a session of a workspace.
func (l Lookup) Session(workspaceID, id string) [16]byte {
	return keyedHash(l.secret, "session", workspaceID, id)
}

// keyedHash is HMAC-SHA-256, truncated to 16 bytes. All parts except the last contain no NUL, so the separation is
// unambiguous.
func keyedHash(secret []byte, parts ...string) [16]byte {
	h := hmac.New(sha256.New, secret)
	for i, part := range parts {
		if i > 0 {
			h.Write([]byte{0})
		}
		io.WriteString(h, part)
	}
	var sum [sha256.Size]byte
	return [16]byte(h.Sum(sum[:0])[:16])
}
