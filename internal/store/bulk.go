package store

import (
	"strings"
	"sync/atomic"
)

// bulk is an INSERT of many rows at once: a row then costs what it costs to write, not a way to the server and back.
type bulk struct {
	insert  string // up to VALUES
	columns int
	rest    string // what stands behind the rows
	texts   [len(bulkSizes)]atomic.Pointer[string]
}

// bulkSizes are how many rows a statement has. They are few, so that there are few texts and they stay prepared.
var bulkSizes = [...]int{512, 64, 8, 1}

// rowsAtOnce is the most rows of a statement. SQLite is a call away, and a statement that writes several rows, or tells
// what it wrote, keeps a journal of its own, which it pays for at its end with all that the transaction has written.
func (s *Store) rowsAtOnce() int {
	if s.shared {
		return bulkSizes[0]
	}
	return 1
}

// each calls do for as many statements of at most so many rows as n rows take. row appends the values of one of them.
func (b *bulk) each(n, most int, row func(i int, values []any) []any, do func(text string, values []any) error) error {
	at := 0
	for size, rows := range bulkSizes {
		for rows <= most && n-at >= rows {
			values := make([]any, 0, rows*b.columns)
			for range rows {
				values = row(at, values)
				at++
			}
			if err := do(b.text(size), values); err != nil {
				return err
			}
		}
	}
	return nil
}

// text is the statement of a size.
func (b *bulk) text(size int) string {
	if text := b.texts[size].Load(); text != nil {
		return *text
	}
	var text strings.Builder
	text.WriteString(b.insert)
	for i := range bulkSizes[size] {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(" (" + parameters(1+i*b.columns, b.columns) + ")")
	}
	text.WriteString(" " + b.rest)
	made := text.String()
	b.texts[size].Store(&made)
	return made
}
