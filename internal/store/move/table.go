package move

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"keepsake/internal/store"
)

const (
	// batchBytes is the size at which a batch is complete, even with few rows.
	batchBytes = 4 << 20
	// statementValues is the max number of parameters of a statement. PostgreSQL allows 65,535.
	statementValues = 8000
)

// table is a table to copy.
type table struct {
	store.Table // as the source describes it
	part        *part
	batch       int   // rows per batch
	key         []int // the positions of the key columns
	from, to    side

	list   string // its columns, for statements
	after  []any  // the key of the last copied row; nil before the first
	copied int64
	done   bool
	total  int64 // rows of the source, as far as counted
}

// side is a table on one of the sides.
type side struct {
	store.Database
	kinds []store.Kind // of the columns, in the order of the source
}

func newTable(p *part, from, to store.Table, batch int) (*table, error) {
	t := &table{Table: from, part: p, batch: batch, from: side{Database: p.from}, to: side{Database: p.to}}
	if len(from.Key) == 0 {
		return nil, fmt.Errorf("table %s has no primary key: its rows cannot be read in batches", from.Name)
	}
	if len(to.Columns) != len(from.Columns) {
		return nil, fmt.Errorf("table %s has %d columns in the source and %d in the target: they are of different releases",
			from.Name, len(from.Columns), len(to.Columns))
	}
	var quoted []string
	for _, c := range from.Columns {
		i := slices.IndexFunc(to.Columns, func(other store.Column) bool { return other.Name == c.Name })
		if i < 0 {
			return nil, fmt.Errorf("table %s has no column %s in the target: the two are of different releases", from.Name, c.Name)
		}
		t.from.kinds, t.to.kinds = append(t.from.kinds, c.Kind), append(t.to.kinds, to.Columns[i].Kind)
		quoted = append(quoted, quote(c.Name))
	}
	for _, name := range from.Key {
		t.key = append(t.key, slices.IndexFunc(from.Columns, func(c store.Column) bool { return c.Name == name }))
	}
	t.list = strings.Join(quoted, ", ")
	return t, nil
}

// quote quotes an identifier.
func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func (t *table) count(ctx context.Context, s side) (n int64, err error) {
	if err := s.In(ctx).QueryRow(ctx, `SELECT count(*) FROM `+quote(t.Name)).Scan(&n); err != nil {
		return 0, fmt.Errorf("count table %s: %w", t.Name, err)
	}
	return n, nil
}

// batch contains rows in the order of their keys.
type batch struct {
	rows  [][]any // each value is an int64, a string, a []byte or nil
	bytes int
	last  bool // no row follows
}

// read reads the batch after a key.
func (t *table) read(ctx context.Context, s side, after []any) (*batch, error) {
	rows, err := s.In(ctx).Query(ctx, t.selecting(after != nil), after...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	b := &batch{}
	for rows.Next() {
		row, size, err := t.scan(rows, s.kinds)
		if err != nil {
			return nil, err
		}
		b.rows, b.bytes = append(b.rows, row), b.bytes+size
		if b.bytes >= batchBytes {
			return b, nil
		}
	}
	b.last = len(b.rows) < t.batch
	return b, rows.Err()
}

// selecting returns the statement that reads a batch.
func (t *table) selecting(behind bool) string {
	var key, marks []string
	for i, at := range t.key {
		key, marks = append(key, quote(t.Columns[at].Name)), append(marks, "$"+strconv.Itoa(i+1))
	}
	query := `SELECT ` + t.list + ` FROM ` + quote(t.Name)
	if behind {
		query += ` WHERE (` + strings.Join(key, ", ") + `) > (` + strings.Join(marks, ", ") + `)`
	}
	return query + ` ORDER BY ` + strings.Join(key, ", ") + ` LIMIT ` + strconv.Itoa(t.batch)
}

// scan reads one row and returns its size.
func (t *table) scan(rows store.Row, kinds []store.Kind) (row []any, size int, err error) {
	into := make([]any, len(kinds))
	for i, kind := range kinds {
		switch kind {
		case store.Number:
			into[i] = new(*int64)
		case store.Text:
			into[i] = new(*string)
		case store.Bytes:
			into[i] = new([]byte)
		case store.Truth:
			into[i] = new(*bool)
		}
	}
	if err := rows.Scan(into...); err != nil {
		return nil, 0, fmt.Errorf("read a row: %w", err)
	}
	for i, v := range into {
		switch v := v.(type) {
		case **int64:
			if into[i] = nil; *v != nil {
				into[i] = **v
			}
		case **string:
			if into[i] = nil; *v != nil {
				into[i] = **v
				size += len(**v)
			}
		case *[]byte:
			if into[i] = nil; *v != nil || !t.Columns[i].Null { // an engine can return nil for empty bytes
				into[i] = slices.Clip(append([]byte{}, *v...))
				size += len(*v)
			}
		case **bool:
			if into[i] = nil; *v != nil {
				into[i] = int64(0)
				if **v {
					into[i] = int64(1)
				}
			}
		}
	}
	return into, size + 8*len(into), nil
}

// keyOf returns the key of a row.
func (t *table) keyOf(row []any) []any {
	key := make([]any, len(t.key))
	for i, at := range t.key {
		key[i] = row[at]
	}
	return key
}

// copy copies the rows that are not copied yet. It reads the next batch while it writes one.
func (t *table) copy(ctx context.Context, m *Move) (err error) {
	if t.done {
		return nil
	}
	if t.total, err = t.count(ctx, t.from); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	batches, failed := make(chan *batch), make(chan error, 1)
	go func() {
		defer close(batches)
		for after := t.after; ; {
			b, err := t.read(ctx, t.from, after)
			if err != nil {
				failed <- err
				return
			}
			select {
			case batches <- b:
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			}
			if b.last {
				return
			}
			after = t.keyOf(b.rows[len(b.rows)-1])
		}
	}()
	defer func() { // stops the reader before the source is closed
		stop()
		for range batches {
		}
	}()
	for b := range batches {
		if err := t.write(ctx, m, b); err != nil {
			return err
		}
		m.Progress(Step{Table: t.Name, Rows: t.copied, Total: max(t.total, t.copied)})
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// write writes a batch and the table's progress, in one transaction if both are in the main database. If they are not,
// a batch can be written a second time, which changes nothing.
func (t *table) write(ctx context.Context, m *Move, b *batch) error {
	after, copied := t.after, t.copied+int64(len(b.rows))
	if len(b.rows) > 0 {
		after = t.keyOf(b.rows[len(b.rows)-1])
	}
	_, maxRows := m.To.Dialect().Insert(false)
	rows := max(1, min(maxRows, statementValues/len(t.Columns)))
	err := t.to.Run(ctx, func(ctx context.Context) error {
		for some := range slices.Chunk(b.rows, rows) {
			if err := t.insert(ctx, some); err != nil {
				return err
			}
		}
		if t.part.name == "main" {
			return m.note(ctx, t, after, copied, b.last)
		}
		return nil
	})
	if err != nil {
		return t.blame(ctx, b, err)
	}
	if t.part.name != "main" {
		if err := m.note(ctx, t, after, copied, b.last); err != nil {
			return err
		}
	}
	t.after, t.copied, t.done = after, copied, b.last
	return nil
}

func (t *table) insert(ctx context.Context, rows [][]any) error {
	var query strings.Builder
	query.WriteString(`INSERT INTO ` + quote(t.Name) + ` (` + t.list + `) VALUES `)
	args := make([]any, 0, len(rows)*len(t.Columns))
	for i, row := range rows {
		if i > 0 {
			query.WriteString(", ")
		}
		for j, v := range row {
			if j == 0 {
				query.WriteByte('(')
			} else {
				query.WriteString(", ")
			}
			args = append(args, t.value(j, v))
			query.WriteByte('$')
			query.WriteString(strconv.Itoa(len(args)))
		}
		query.WriteByte(')')
	}
	query.WriteString(` ON CONFLICT DO NOTHING`)
	_, err := t.to.In(ctx).Exec(ctx, query.String(), args...)
	return err
}

// value converts a value for the target's column.
func (t *table) value(column int, v any) any {
	if n, ok := v.(int64); ok && t.to.kinds[column] == store.Truth {
		return n != 0
	}
	return v
}

// blame finds the row of a batch that the target rejects, so that the error can name it.
func (t *table) blame(ctx context.Context, b *batch, failed error) error {
	undo := errors.New("only tried")
	for _, row := range b.rows {
		if ctx.Err() != nil {
			break
		}
		err := t.to.Run(ctx, func(ctx context.Context) error {
			if err := t.insert(ctx, [][]any{row}); err != nil {
				return err
			}
			return undo
		})
		if !errors.Is(err, undo) {
			return fmt.Errorf("the row %s was rejected: %w", t.keyName(row), err)
		}
	}
	return failed
}

// keyName formats a row's key for an error message.
func (t *table) keyName(row []any) string {
	var parts []string
	for i, v := range t.keyOf(row) {
		switch v := v.(type) {
		case []byte:
			parts = append(parts, fmt.Sprintf("%s %x", t.Key[i], v))
		default:
			parts = append(parts, fmt.Sprintf("%s %v", t.Key[i], v))
		}
	}
	return strings.Join(parts, ", ")
}
