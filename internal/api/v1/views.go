package v1

import "iter"

// views makes the items of a list one by one, when they are sent: nothing can fail in that, and no more are made for a
// client that has gone.
func views[T, V any](list []T, viewOf func(T) V) iter.Seq2[*V, error] {
	return func(yield func(*V, error) bool) {
		for i := range list {
			if view := viewOf(list[i]); !yield(&view, nil) {
				return
			}
		}
	}
}
