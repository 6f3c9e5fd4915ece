package v1

import (
	"iter"

	"keepsake/internal/page"
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

// readPage reads one page of a list, and returns its items and the cursor of the next page. read gets the position of the
// last item before the page, nil at the start of the list, and returns up to limit items after it. It is asked for one more
// than the page has, which tells whether there is another page.
func readPage[T, P any](q pageQuery, cursors *page.Sealer, scope string, read func(after *P, limit int) ([]T, error), position func(T) P) (items []T, next *string, err error) {
	after, err := startOf[P](q, cursors, scope)
	if err != nil {
		return nil, nil, err
	}
	items, err = read(after, q.Limit+1)
	if err != nil || len(items) <= q.Limit {
		return items, nil, err
	}
	items = items[:q.Limit]
	cursor := cursors.Seal(scope, position(items[q.Limit-1]))
	return items, &cursor, nil
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
func views[T, V any](list []T, viewOf func(T) V) iter.Seq2[*V, error] {
	return func(yield func(*V, error) bool) {
		for i := range list {
			if view := viewOf(list[i]); !yield(&view, nil) {
				return
			}
		}
	}
}
