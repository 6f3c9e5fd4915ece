package apikey

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"
)

// Hasher turns a key's text into what is kept of it: HMAC-SHA-256 under the instance's pepper. A secret of 178 random
// bits needs no slow hash; the pepper makes a stolen database useless for checking guesses.
type Hasher struct {
	states sync.Pool // of *hashState: a keyed state used again costs a quarter of a new one
}

// hashState holds the buffers beside the state, so that nothing escapes to the heap on the way of a request.
type hashState struct {
	mac hash.Hash
	in  [textLen]byte
	out [sha256.Size]byte
}

// NewHasher makes a Hasher. It keeps pepper.
func NewHasher(pepper []byte) *Hasher {
	return &Hasher{states: sync.Pool{New: func() any {
		return &hashState{mac: hmac.New(sha256.New, pepper)}
	}}}
}

// Hash hashes a well-formed text.
func (h *Hasher) Hash(text string) [sha256.Size]byte {
	s := h.states.Get().(*hashState)
	n := copy(s.in[:], text)
	s.mac.Reset()
	s.mac.Write(s.in[:n])
	s.mac.Sum(s.out[:0])
	hashed := s.out
	clear(s.in[:]) // a pooled buffer is no place for a secret to stay
	h.states.Put(s)
	return hashed
}
