// Package id creates IDs: a type prefix, an underscore and a UUIDv7 in 26 characters of lower-case Crockford base32,
// aligned as in TypeID (docs/spec/conventions.md). They sort by creation time.
package id

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"time"
)

// The prefixes, one for each kind of object.
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
	Event     = "evt"
	Delivery  = "dlv"
)

// UUID is an ID without its prefix.
type UUID [16]byte

// New creates an ID, such as key_01k… for the prefix "key".
func New(prefix string) string {
	return At(prefix, time.Now(), rand.Reader)
}

// At creates an ID for a time. Within a process, IDs rise with t, with a resolution of a quarter of a microsecond. 62
// random bits distinguish IDs of the same time. At panics if random fails, because nothing is safe without randomness.
func At(prefix string, t time.Time, random io.Reader) string {
	var tail [8]byte
	if _, err := io.ReadFull(random, tail[:]); err != nil {
		panic(fmt.Sprintf("id: read randomness: %v", err))
	}
	return Format(prefix, uuidv7(t, binary.BigEndian.Uint64(tail[:])))
}

// NewRequest creates the ID of a request that arrived at t, req_…. It must be unique, but not secret, so it costs only
// tens of nanoseconds and one allocation.
func NewRequest(t time.Time) string {
	return Format(Request, RequestAt(t))
}

// RequestAt is NewRequest without formatting, for callers that append the ID to a buffer.
func RequestAt(t time.Time) UUID { return uuidv7(t, mathrand.Uint64()) }

// uuidv7 returns a UUID of version 7 (RFC 9562) with 12 bits of sub-millisecond precision (method 3).
func uuidv7(t time.Time, random uint64) (u UUID) {
	ms := t.UnixMilli()
	fraction := uint64(t.Nanosecond()%int(time.Millisecond)) << 12 / uint64(time.Millisecond)
	binary.BigEndian.PutUint64(u[:8], uint64(ms)<<16|7<<12|fraction)
	binary.BigEndian.PutUint64(u[8:], random&^(3<<62)|2<<62)
	return u
}
