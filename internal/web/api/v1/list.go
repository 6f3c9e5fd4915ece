package v1

import (
	"keepsake/internal/base/page"
	"keepsake/internal/web/endpoint"
)

// pageQuery selects one page of a list.
type pageQuery struct {
	Limit  int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
	Cursor string `query:"cursor"`
}

// idPosition is the position in a list that is ordered by ID.
type idPosition struct {
	ID string `json:"id"`
}

// readPage reads one page of a list, and returns its items and the cursor of the next page. read gets the position of the last
// item before the page, nil at the start of the list, and returns that of the page's last item if the list goes on.
func readPage[T, P any](q pageQuery, cursors *page.Sealer, scope string, read func(after *P) ([]T, *P, error)) (items []T, next *string, err error) {
	after, err := startOf[P](q, cursors, scope)
	if err != nil {
		return nil, nil, err
	}
	items, last, err := read(after)
	if err != nil || last == nil {
		return items, nil, err
	}
	cursor := cursors.Seal(scope, last)
	return items, &cursor, nil
}

// readAhead is readPage for a read that returns up to limit items. It is asked for one more than the page has, which tells
// whether the list goes on.
func readAhead[T, P any](q pageQuery, cursors *page.Sealer, scope string, read func(after *P, limit int) ([]T, error), position func(T) P) (items []T, next *string, err error) {
	return readPage(q, cursors, scope, func(after *P) ([]T, *P, error) {
		found, err := read(after, q.Limit+1)
		if err != nil {
			return nil, nil, err
		}
		page := found[:min(len(found), q.Limit)]
		return page, lastOf(page, len(found) > q.Limit, position), nil
	})
}

// lastOf returns the position of the last item of a page if the list goes on.
func lastOf[T, P any](items []T, more bool, position func(T) P) *P {
	if !more {
		return nil
	}
	last := position(items[len(items)-1])
	return &last
}

// startOf returns the position of the last item before a page; nil at the start of the list.
func startOf[P any](q pageQuery, cursors *page.Sealer, scope string) (*P, error) {
	if q.Cursor == "" {
		return nil, nil
	}
	after := new(P)
	return after, cursors.Open(scope, q.Cursor, after)
}

// viewsOf returns the view of each item; never nil, because an empty list is [] in JSON.
func viewsOf[T, V any](items []T, view func(*T) V) []V {
	out := make([]V, len(items))
	for i := range items {
		out[i] = view(&items[i])
	}
	return out
}

// views converts the items of a list while they are sent, so that none is converted for a client that has disconnected.
func views[T, V any](list []T, viewOf func(T) V) endpoint.Sequence[V] {
	return func(yield func(*V, error) bool) {
		for i := range list {
			if view := viewOf(list[i]); !yield(&view, nil) {
				return
			}
		}
	}
}
