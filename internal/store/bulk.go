package store

import (
	"context"
	"strings"
)

// Bulk is an INSERT of many rows, so that a row does not cost a round trip.
type Bulk struct {
	Into    string // the table and its columns
	Columns int
	Rest    string // what follows the rows
	Updates bool   // Rest contains DO UPDATE, and it is run so often that its speed matters
}

// bulkSizes are the numbers of rows in a statement. They are few, so that statements stay prepared.
var bulkSizes = [...]int{512, 64, 8, 1}

// Insert adds n rows in as few statements as the engine allows, and returns how many were written. row appends the values of
// row i.
func (d *DB) Insert(ctx context.Context, b *Bulk, n int, row func(i int, values []any) []any) (written int64, err error) {
	err = d.EachInsert(b, n, row, func(text string, values []any) error {
		n, err := d.In(ctx).Exec(ctx, text, values...)
		written += n
		return err
	})
	return written, err
}

// EachInsert calls do for the statements that insert n rows.
func (d *DB) EachInsert(b *Bulk, n int, row func(i int, values []any) []any, do func(text string, values []any) error) error {
	verb, maxRows := d.Dialect.Insert(b.Updates)
	at := 0
	for _, rows := range bulkSizes {
		for rows <= maxRows && n-at >= rows {
			values := make([]any, 0, rows*b.Columns)
			for range rows {
				values = row(at, values)
				at++
			}
			if err := do(d.insertText(verb, b, rows), values); err != nil {
				return err
			}
		}
	}
	return nil
}

type insertKey struct {
	bulk *Bulk
	rows int
}

// insertText is the statement that inserts a number of rows. Texts are cached, because long ones take time to write.
func (d *DB) insertText(verb string, b *Bulk, rows int) string {
	key := insertKey{b, rows}
	if text, ok := d.inserts.Load(key); ok {
		return text.(string)
	}
	var text strings.Builder
	text.WriteString(verb + " INTO " + b.Into + " VALUES")
	for i := range rows {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(" (" + d.Dialect.InsertRow(1+i*b.Columns, b.Columns) + ")")
	}
	text.WriteString(" " + b.Rest)
	d.inserts.Store(key, text.String())
	return text.String()
}
