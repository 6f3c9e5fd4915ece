package move

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"keepsake/internal/store"
)

// Unfinished reports whether a database is the target of an unfinished move, and of which source.
func Unfinished(ctx context.Context, main store.Database) (source string, unfinished bool, err error) {
	rows, err := main.In(ctx).Query(ctx, `SELECT source FROM move_progress LIMIT 1`)
	if err != nil {
		return "", false, fmt.Errorf("look for a move: %w", err)
	}
	defer rows.Close()
	if unfinished = rows.Next(); unfinished {
		err = rows.Scan(&source)
	}
	if err = errors.Join(err, rows.Err()); err != nil {
		return "", false, fmt.Errorf("look for a move: %w", err)
	}
	return source, unfinished, nil
}

// readProgress reads the progress of an interrupted move. It returns false if there was none.
func (m *Move) readProgress(ctx context.Context) (bool, error) {
	source, unfinished, err := Unfinished(ctx, m.To.Main())
	if err != nil || !unfinished {
		return false, err
	}
	if source != m.Source {
		return false, ErrOther
	}
	for _, t := range m.tables {
		var after string
		var copied int64
		var done bool
		err := m.To.Main().In(ctx).QueryRow(ctx, `
			SELECT after, copied, done FROM move_progress WHERE part = $1 AND name = $2`, t.part.name, t.Name).Scan(&after, &copied, &done)
		if err != nil {
			return false, fmt.Errorf("read the progress of table %s: %w", t.Name, err)
		}
		if t.after, err = t.parseKey(after); err != nil {
			return false, fmt.Errorf("read the progress of table %s: %w", t.Name, err)
		}
		t.copied, t.done = copied, done
	}
	return true, nil
}

// writeProgress begins the move. From now on the target is marked as incomplete.
func (m *Move) writeProgress(ctx context.Context) error {
	main := m.To.Main()
	return main.Run(ctx, func(ctx context.Context) error {
		for _, t := range m.tables {
			if _, err := main.In(ctx).Exec(ctx, `
				INSERT INTO move_progress (part, name, source, after, copied, done) VALUES ($1, $2, $3, '', 0, $4)`,
				t.part.name, t.Name, m.Source, false); err != nil {
				return fmt.Errorf("begin the move: %w", err)
			}
		}
		return nil
	})
}

// note records the progress of a table, in the transaction of ctx if that is one of the main database.
func (m *Move) note(ctx context.Context, t *table, after []any, copied int64, done bool) error {
	key, err := t.keyText(after)
	if err != nil {
		return err
	}
	main := m.To.Main()
	return main.Run(ctx, func(ctx context.Context) error {
		_, err := main.In(ctx).Exec(ctx, `UPDATE move_progress SET after = $1, copied = $2, done = $3 WHERE part = $4 AND name = $5`,
			key, copied, done, t.part.name, t.Name)
		if err != nil {
			return fmt.Errorf("write the progress: %w", err)
		}
		return nil
	})
}

// keyText formats a key for a row of progress: a JSON array of texts, empty for the position before the first row.
func (t *table) keyText(key []any) (string, error) {
	if key == nil {
		return "", nil
	}
	texts := make([]string, len(key))
	for i, v := range key {
		switch v := v.(type) {
		case int64:
			texts[i] = strconv.FormatInt(v, 10)
		case []byte:
			texts[i] = base64.StdEncoding.EncodeToString(v)
		case string:
			texts[i] = base64.StdEncoding.EncodeToString([]byte(v)) // JSON would change invalid UTF-8
		default:
			return "", fmt.Errorf("a key holds a %T", v)
		}
	}
	text, err := json.Marshal(texts)
	return string(text), err
}

// parseKey parses what keyText wrote.
func (t *table) parseKey(text string) ([]any, error) {
	if text == "" {
		return nil, nil
	}
	var texts []string
	if err := json.Unmarshal([]byte(text), &texts); err != nil {
		return nil, err
	}
	if len(texts) != len(t.key) {
		return nil, errors.New("it belongs to another schema")
	}
	key := make([]any, len(texts))
	for i, at := range t.key {
		if t.Columns[at].Kind == store.Number {
			n, err := strconv.ParseInt(texts[i], 10, 64)
			if err != nil {
				return nil, err
			}
			key[i] = n
			continue
		}
		data, err := base64.StdEncoding.DecodeString(texts[i])
		if err != nil {
			return nil, err
		}
		key[i] = data
		if t.Columns[at].Kind == store.Text {
			key[i] = string(data)
		}
	}
	return key, nil
}
