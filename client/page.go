package client

import (
	"iter"
	"net/url"
	"strconv"
	"time"
)

// Page is a page of a list. NextCursor is nil on the last page.
type Page[T any] struct {
	Items      []T     `json:"items"`
	NextCursor *string `json:"nextCursor"`
}

// each returns the items of all pages from a cursor on, up to the first error.
func each[T any](cursor string, read func(cursor string) (*Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			page, err := read(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
			if page.NextCursor == nil {
				return
			}
			cursor = *page.NextCursor
		}
	}
}

// result returns what call has filled in, or nil and its error.
func result[T any](call func(out any) error) (*T, error) {
	out := new(T)
	if err := call(out); err != nil {
		return nil, err
	}
	return out, nil
}

func set(v url.Values, name, value string) {
	if value != "" {
		v.Set(name, value)
	}
}

func setTime(v url.Values, name string, t time.Time) {
	if !t.IsZero() {
		v.Set(name, t.Format(time.RFC3339Nano))
	}
}

func setInt(v url.Values, name string, n int) {
	if n != 0 {
		v.Set(name, strconv.Itoa(n))
	}
}
