package store

import (
	"strings"
	"sync/atomic"
)

// bulk is an INSERT of many rows at once: a row then costs what it costs to write, not a way to the engine and back.
type bulk struct {
	insert  string // INSERT INTO and on, up to VALUES
	columns int
	rest    string // what stands behind the rows
	texts   [2][len(bulkSizes)]atomic.Pointer[string]
}

// bulkSizes are how many rows a statement has. They are few, so that there are few texts and they stay prepared.
var bulkSizes = [...]int{512, 64, 8, 1}

// mostOf is the most rows of a statement. SQLite is but a call away, and slower with longer ones.
func mostOf(shared bool) int {
	if shared {
		return bulkSizes[0]
	}
	return 8
}

// each calls do for as few statements as n rows take on an engine that is shared, or not. row appends the values of one of
// them.
func (b *bulk) each(shared bool, n int, row func(i int, values []any) []any, do func(text string, values []any) error) error {
	at := 0
	for size, rows := range bulkSizes {
		for rows <= mostOf(shared) && n-at >= rows {
			values := make([]any, 0, rows*b.columns)
			for range rows {
				values = row(at, values)
				at++
			}
			if err := do(b.text(shared, size), values); err != nil {
				return err
			}
		}
	}
	return nil
}

// text is the statement of a size.
func (b *bulk) text(shared bool, size int) string {
	kept := &b.texts[0][size]
	if shared {
		kept = &b.texts[1][size]
	}
	if text := kept.Load(); text != nil {
		return *text
	}
	var text strings.Builder
	if shared {
		text.WriteString(b.insert)
	} else {
		// A unit ends with its first error in any case. Said so, SQLite keeps no journal of the rows that a statement wrote
		// before one that fails.
		text.WriteString("INSERT OR FAIL" + strings.TrimPrefix(b.insert, "INSERT"))
	}
	for i := range bulkSizes[size] {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(" (" + parameters(1+i*b.columns, b.columns) + ")")
	}
	text.WriteString(" " + b.rest)
	made := text.String()
	kept.Store(&made)
	return made
}
