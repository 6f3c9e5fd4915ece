package store

import (
	"context"
	"strings"
)

// bulk is an INSERT of many rows, so that a row does not cost a round trip.
type bulk struct {
	into    string // the table and its columns
	columns int
	rest    string // what follows the rows
	updates bool   // rest contains DO UPDATE, and it is run so often that its speed matters
}

// bulkSizes are the numbers of rows in a statement. They are few, so that statements stay prepared.
var bulkSizes = [...]int{512, 64, 8, 1}

// insert adds n rows to a database in as few statements as its engine allows, and returns how many were written. row
// appends the values of row i.
func (s *Store) insert(ctx context.Context, d Database, b *bulk, n int, row func(i int, values []any) []any) (written int64, err error) {
	err = s.eachInsert(b, n, row, func(text string, values []any) error {
		n, err := d.In(ctx).Exec(ctx, text, values...)
		written += n
		return err
	})
	return written, err
}

// eachInsert calls do for the statements that insert n rows.
func (s *Store) eachInsert(b *bulk, n int, row func(i int, values []any) []any, do func(text string, values []any) error) error {
	verb, maxRows := s.dialect.Insert(b.updates)
	at := 0
	for _, rows := range bulkSizes {
		for rows <= maxRows && n-at >= rows {
			values := make([]any, 0, rows*b.columns)
			for range rows {
				values = row(at, values)
				at++
			}
			if err := do(s.insertText(verb, b, rows), values); err != nil {
				return err
			}
		}
	}
	return nil
}

type insertKey struct {
	bulk *bulk
	rows int
}

// insertText is the statement that inserts a number of rows. Texts are cached, because long ones take time to write.
func (s *Store) insertText(verb string, b *bulk, rows int) string {
	key := insertKey{b, rows}
	if text, ok := s.inserts.Load(key); ok {
		return text.(string)
	}
	var text strings.Builder
	text.WriteString(verb + " INTO " + b.into + " VALUES")
	for i := range rows {
		if i > 0 {
			text.WriteByte(',')
		}
		text.WriteString(" (" + s.dialect.InsertRow(1+i*b.columns, b.columns) + ")")
	}
	text.WriteString(" " + b.rest)
	s.inserts.Store(key, text.String())
	return text.String()
}
