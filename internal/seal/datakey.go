package seal

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/tink-crypto/tink-go/v2/aead/subtle"
)

// DataKey seals what is known of one subject. It is safe for concurrent use.
type DataKey struct {
	Generation int64

	aead *subtle.AESGCM
	hash []byte
	mix  []byte // makes the keys of With
}

// Format keeps a key that is printed by mistake out of logs, whatever the verb.
func (*DataKey) Format(f fmt.State, _ rune) { io.WriteString(f, "(data key)") }

// newDataKey makes of 32 random bytes the two keys that are in use: neither says anything about the other.
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
	aead, err := subtle.NewAESGCM(sealing)
	if err != nil {
		return nil, err
	}
	return &DataKey{Generation: generation, aead: aead, hash: hashing, mix: mixing}, nil
}

// OwnKey is what a DataKey and a key of a single record make together. It is of no use without either.
type OwnKey struct{ aead *subtle.AESGCM }

// Format keeps a key that is printed by mistake out of logs.
func (*OwnKey) Format(f fmt.State, _ rune) { io.WriteString(f, "(own key)") }

// With gives the key for a record that has one of its own.
func (k *DataKey) With(own []byte) (*OwnKey, error) {
	h := hmac.New(sha256.New, k.mix)
	h.Write(own)
	aead, err := subtle.NewAESGCM(h.Sum(nil))
	if err != nil {
		return nil, err
	}
	return &OwnKey{aead}, nil
}

// Seal is DataKey.Seal.
func (k *OwnKey) Seal(plain, about []byte) []byte { return encrypt(k.aead, plain, about) }

// Open is DataKey.Open.
func (k *OwnKey) Open(sealed, about []byte) ([]byte, error) { return decrypt(k.aead, sealed, about) }

func encrypt(aead *subtle.AESGCM, plain, about []byte) []byte {
	sealed, err := aead.Encrypt(plain, about)
	if err != nil {
		panic("seal: " + err.Error()) // of no key and no text: what is sealed would have to be 64 GiB
	}
	return sealed
}

func decrypt(aead *subtle.AESGCM, sealed, about []byte) ([]byte, error) {
	plain, err := aead.Decrypt(sealed, about)
	if err != nil {
		return nil, fmt.Errorf("what is sealed does not open: %w", err)
	}
	return plain, nil
}

// InstanceKey makes a key that is of no subject of a secret of the instance.
func InstanceKey(secret []byte) (*DataKey, error) { return newDataKey(0, secret) }

// Seal seals plain with AES-256-GCM. It opens again only with the same about, which names what is sealed and where it
// belongs, so that nothing can be put in another's place.
func (k *DataKey) Seal(plain, about []byte) []byte { return encrypt(k.aead, plain, about) }

// Open opens what Seal sealed. The error says nothing but that it does not open.
func (k *DataKey) Open(sealed, about []byte) ([]byte, error) { return decrypt(k.aead, sealed, about) }

// Hash stands for a text of the subject, by which the same text is found again. It dies with the key: who has no key can
// not even try texts out. kind tells texts of different use apart.
func (k *DataKey) Hash(kind, text string) [16]byte { return keyedHash(k.hash, kind, text) }

// Lookup makes the hashes under which subjects, agents and sessions are found. It is of the instance and outlives every
// subject.
type Lookup struct{ secret []byte }

// NewLookup makes a Lookup of the secret named LookupSecret.
func NewLookup(secret []byte) Lookup { return Lookup{secret} }

// Subject stands for a subject of a workspace.
func (l Lookup) Subject(workspaceID, id string) SubjectHash {
	return keyedHash(l.secret, "subject", workspaceID, id)
}

// Agent stands for an agent of a workspace.
func (l Lookup) Agent(workspaceID, id string) [16]byte {
	return keyedHash(l.secret, "agent", workspaceID, id)
}

// Session stands for a session of a workspace.
func (l Lookup) Session(workspaceID, id string) [16]byte {
	return keyedHash(l.secret, "session", workspaceID, id)
}

// keyedHash is HMAC-SHA-256 cut to 16 bytes. All parts but the last hold no NUL, so that none flows into the next.
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
