package v1

import "iter"

// views converts the items of a list while they are sent, so that none is converted for a client that has disconnected.
func views[T, V any](list []T, viewOf func(T) V) iter.Seq2[*V, error] {
	return func(yield func(*V, error) bool) {
		for i := range list {
			if view := viewOf(list[i]); !yield(&view, nil) {
				return
			}
		}
	}
}
