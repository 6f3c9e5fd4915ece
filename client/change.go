package client

import "encoding/json"

// Change is a member of a partial change: left alone when zero, else a new value or none.
type Change[T any] struct {
	named bool
	value *T
}

// To changes a member to v.
func To[T any](v T) Change[T] { return Change[T]{named: true, value: &v} }

// Cleared takes a member's value away.
func Cleared[T any]() Change[T] { return Change[T]{named: true} }

// IsZero keeps a member that is left alone out of the request.
func (c Change[T]) IsZero() bool { return !c.named }

// MarshalJSON writes the value, or null where it is cleared.
func (c Change[T]) MarshalJSON() ([]byte, error) { return json.Marshal(c.value) }
