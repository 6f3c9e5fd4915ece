package client

import "encoding/json"

// Change is a field of a partial change. The zero value changes nothing; see To and Cleared.
type Change[T any] struct {
	named bool
	value *T
}

// To sets a field to v.
func To[T any](v T) Change[T] { return Change[T]{named: true, value: &v} }

// Cleared removes the value of a field.
func Cleared[T any]() Change[T] { return Change[T]{named: true} }

// IsZero reports whether the field is unchanged, so that the request omits it.
func (c Change[T]) IsZero() bool { return !c.named }

// MarshalJSON writes the value, or null for a cleared field.
func (c Change[T]) MarshalJSON() ([]byte, error) { return json.Marshal(c.value) }
