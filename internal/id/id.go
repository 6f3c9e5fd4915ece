// Package id makes the ids of things: a type prefix, an underscore and a UUIDv7 in 26 characters of Crockford base32,
// lower case, aligned as TypeID does (decisions.md, A). They sort by the time they were made.
package id

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"time"
)

// The prefixes, one for each kind of thing.
const (
	APIKey    = "key"
	User      = "usr"
	Workspace = "wsp"
	Document  = "doc"
	Memory    = "mem"
	Request   = "req"
	Webhook   = "whk"
	Audit     = "aud"
	Session   = "ses"
)

// UUID is an id without its prefix: 16 bytes, no pointer.
type UUID [16]byte

// New makes an id of now, key_01k… for the prefix "key".
func New(prefix string) string {
	return At(prefix, time.Now(), rand.Reader)
}

// At makes an id of a moment. Ids made in one process rise with t down to a quarter of a microsecond; what tells two
// ids of the same instant apart are 62 random bits. It panics where random ends: without randomness nothing here is
// safe to go on with.
func At(prefix string, t time.Time, random io.Reader) string {
	var tail [8]byte
	if _, err := io.ReadFull(random, tail[:]); err != nil {
		panic(fmt.Sprintf("id: read randomness: %v", err))
	}
	return Format(prefix, uuidv7(t, binary.BigEndian.Uint64(tail[:])))
}

// NewRequest makes the id of a request that came in at t, req_…. It has to be unusual, not secret, so it costs tens of
// nanoseconds and one allocation.
func NewRequest(t time.Time) string {
	return Format(Request, RequestAt(t))
}

// RequestAt is NewRequest before it is text, for callers that append it to a buffer.
func RequestAt(t time.Time) UUID { return uuidv7(t, mathrand.Uint64()) }

// uuidv7 lays out RFC 9562's version 7 with the optional 12 bits of sub-millisecond precision (its method 3).
func uuidv7(t time.Time, random uint64) (u UUID) {
	ms := t.UnixMilli()
	fraction := uint64(t.Nanosecond()%int(time.Millisecond)) << 12 / uint64(time.Millisecond)
	binary.BigEndian.PutUint64(u[:8], uint64(ms)<<16|7<<12|fraction)
	binary.BigEndian.PutUint64(u[8:], random&^(3<<62)|2<<62)
	return u
}
