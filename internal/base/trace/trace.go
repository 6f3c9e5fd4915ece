// Package trace records which steps requests took, and how long each lasted, for OpenTelemetry.
//
// A trace is a tree of spans. The first span of a process is a request; its children are the steps that can be slow: transactions,
// statements and Redis. Most programs trace nothing: without a Tracer there is no span, and all methods of a nil *Span do nothing.
//
// Names and attributes of spans contain only what the program chooses: routes, statuses, the names of tables. Never a text, an ID of a
// person or a key, a path or a parameter of a statement.
package trace

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"time"
)

// Kind says what a span is. The values are those of OpenTelemetry.
type Kind int

// The kinds.
const (
	Internal Kind = 1
	Server   Kind = 2 // a request to this process
	Client   Kind = 3 // a request of this process to a database
)

// ID identifies a trace.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// SpanID identifies a span of a trace.
type SpanID [8]byte

func (id SpanID) String() string { return hex.EncodeToString(id[:]) }

// Parent is the span of another process that a request belongs to. The zero value is none.
type Parent struct {
	Trace   ID
	Span    SpanID
	Sampled bool // the other process records it
}

// Parse reads a header traceparent (W3C Trace Context, version 00 and later ones that begin like it).
func Parse(header string) (Parent, bool) {
	// 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
	const size = 55
	var version, flags [1]byte
	var p Parent
	if len(header) < size || header[2] != '-' || header[35] != '-' || header[52] != '-' ||
		!decode(version[:], header[:2]) || !decode(p.Trace[:], header[3:35]) || !decode(p.Span[:], header[36:52]) || !decode(flags[:], header[53:55]) {
		return Parent{}, false
	}
	later := version[0] != 0
	if version[0] == 0xff || !later && len(header) != size || later && len(header) > size && header[size] != '-' ||
		p.Trace == (ID{}) || p.Span == (SpanID{}) {
		return Parent{}, false
	}
	p.Sampled = flags[0]&1 != 0
	return p, true
}

// decode is hex.Decode for lower case only, as the header must be.
func decode(to []byte, text string) bool {
	for i := range text {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	_, err := hex.Decode(to, []byte(text))
	return err == nil
}

// Attribute is a property of a span: a string or an integer.
type Attribute struct {
	Key  string
	Text string
	Int  int64
	Is   bool // Int is the value
}

// Text returns an attribute with a string.
func Text(key, value string) Attribute { return Attribute{Key: key, Text: value} }

// Int returns an attribute with an integer.
func Int(key string, value int64) Attribute { return Attribute{Key: key, Int: value, Is: true} }

// Span is a step with its duration. A nil span is one that is not recorded. Only the goroutine that began a span can change it; others
// can begin children of it.
type Span struct {
	Trace      ID
	ID         SpanID
	Parent     SpanID // zero: none
	Name       string
	Kind       Kind
	Start, End time.Time
	Attributes []Attribute
	Failed     bool

	tracer  *Tracer
	sampled bool
}

// Request begins the span of a request. parent is the span that its caller sent, and continues if it is not zero: its process decides
// whether the trace is recorded. The result is never nil, so that every request has a trace ID; Recorded says whether it is recorded.
func (t *Tracer) Request(parent Parent, at time.Time) *Span {
	s := &Span{Trace: parent.Trace, ID: newSpanID(), Parent: parent.Span, Kind: Server, Start: at, tracer: t, sampled: parent.Sampled}
	if parent.Trace == (ID{}) {
		s.Trace = newID()
		s.sampled = t.samples(s.Trace)
	}
	return s
}

// RequestOf is Request for a caller that is not known yet, so the process of the parent does not decide that the trace is recorded:
// the ratio does. Record it once the caller is known.
func (t *Tracer) RequestOf(parent Parent, at time.Time) *Span {
	s := t.Request(parent, at)
	s.sampled = s.sampled && (parent.Trace == (ID{}) || t.samples(newID()))
	return s
}

// Record has the span recorded, with the steps that begin from now on.
func (s *Span) Record() { s.sampled = true }

// Begin begins a span of a new trace, for work that belongs to no request. It returns nil if the trace is not recorded.
func (t *Tracer) Begin(name string, kind Kind) *Span {
	if t == nil {
		return nil
	}
	id := newID()
	if !t.samples(id) {
		return nil
	}
	return &Span{Trace: id, ID: newSpanID(), Name: name, Kind: kind, Start: t.now(), tracer: t, sampled: true}
}

// samples reports whether a new trace is recorded. All processes with the same ratio decide alike.
func (t *Tracer) samples(id ID) bool { return binary.BigEndian.Uint64(id[8:])>>1 < t.below }

// Recorded reports whether the span is recorded.
func (s *Span) Recorded() bool { return s != nil && s.sampled }

// Child begins a step of s. It returns nil if s is not recorded.
func (s *Span) Child(name string, kind Kind) *Span {
	if !s.Recorded() {
		return nil
	}
	return &Span{Trace: s.Trace, ID: newSpanID(), Parent: s.ID, Name: name, Kind: kind, Start: s.tracer.now(), tracer: s.tracer, sampled: true}
}

// Set adds attributes.
func (s *Span) Set(list ...Attribute) {
	if s.Recorded() {
		s.Attributes = append(s.Attributes, list...)
	}
}

// Finish ends the span.
func (s *Span) Finish(failed bool) {
	if s.Recorded() {
		s.FinishAt(s.tracer.now(), failed)
	}
}

// FinishAt ends the span at a time.
func (s *Span) FinishAt(at time.Time, failed bool) {
	if s.Recorded() {
		s.End, s.Failed = at, failed
		s.tracer.add(s)
	}
}

func newID() (id ID) {
	for id == (ID{}) {
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
		binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}

func newSpanID() (id SpanID) {
	for id == (SpanID{}) {
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}

type contextKey struct{}

// Key is the key of the current span in a context.
var Key any = contextKey{}

// From returns the current span, or nil.
func From(ctx context.Context) *Span {
	s, _ := ctx.Value(Key).(*Span)
	return s
}

// With returns a context with s as the current span, and ctx itself if s is nil.
func With(ctx context.Context, s *Span) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, Key, s)
}
