package apikey

import (
	"crypto/sha256"
	"encoding/binary"
)

// Recent is the text of a key that was sent last, by a client that sends it with every request, and its hash: hashing is
// dear. Beside it is where the index said that the hash lies, for as long as the index does not change. Nothing else is
// saved: the key is judged each time. The zero Recent remembers nothing. Its owner uses it in one goroutine at a time.
//
// Texts are compared in full, in a time that does not depend on where they differ: behind a proxy a connection serves
// more clients than one.
type Recent struct {
	text    [textLen]byte
	hash    [sha256.Size]byte
	ref     ref
	changes uint64 // of the index when it said ref; 0 where it was not asked
}

// is reports whether text, of a key's length, is the one that is remembered.
func (r *Recent) is(text string) bool {
	var sent [textLen]byte
	copy(sent[:], text)
	const words = textLen / 8 * 8
	var differ uint64
	for i := 0; i < words; i += 8 {
		differ |= binary.LittleEndian.Uint64(r.text[i:]) ^ binary.LittleEndian.Uint64(sent[i:])
	}
	for i := words; i < textLen; i++ {
		differ |= uint64(r.text[i] ^ sent[i])
	}
	return differ == 0
}

// keep remembers text and its hash, and that the index was not asked.
func (r *Recent) keep(text string, hash [sha256.Size]byte) {
	copy(r.text[:], text)
	r.hash, r.changes = hash, 0
}
