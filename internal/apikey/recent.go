package apikey

import (
	"crypto/sha256"
	"crypto/subtle"
)

// Recent is the text of a key that was sent last, by a client that sends it with every request, and its hash. It saves
// the hashing and nothing else: the key is looked up, and judged, each time. The zero Recent remembers nothing. Its owner
// uses it in one goroutine at a time.
//
// Texts are compared in full, in a time that does not depend on where they differ: behind a proxy a connection serves
// more clients than one.
type Recent struct {
	text [textLen]byte
	hash [sha256.Size]byte
}

// of gives the hash of text, of a key's length. r may be nil.
func (r *Recent) of(text string, h *Hasher) [sha256.Size]byte {
	if r == nil {
		return h.Hash(text)
	}
	if subtle.ConstantTimeCompare(r.text[:], []byte(text)) == 0 {
		copy(r.text[:], text)
		r.hash = h.Hash(text)
	}
	return r.hash
}
