// Package move copies an instance from one engine to another, and can resume an interrupted copy.
//
// It gets the tables from the engines' catalogs, so new tables need no change here. It reads rows in the order of their
// primary keys and writes them in batches. With each batch, the target records the progress. At the end, the rows of
// both sides are counted and summed. Until then, Unfinished reports the target as incomplete, and no process may serve
// it.
package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"keepsake/internal/store"
)

// The errors of Begin that commands distinguish.
var (
	// ErrNotEmpty reports that the target contains data. Nothing was changed.
	ErrNotEmpty = errors.New("the target contains data")
	// ErrOther reports that the target contains an interrupted move of another source. Nothing was changed.
	ErrOther = errors.New("the target contains an unfinished move or restore of another source")
)

// Options configure a move. No other process may write to either side.
type Options struct {
	From, To store.Engine
	// Source names the source. An interrupted move is resumed only if it has the same Source.
	Source string
	// Batch is the max number of rows read and written at once; 0 for 2,000. Batches of large rows are smaller.
	Batch int
	// Progress is called after every batch. It can be nil.
	Progress func(Step)
}

// Step is the progress of a table.
type Step struct {
	Table     string
	Rows      int64 // done so far
	Total     int64 // of the table
	Verifying bool  // comparing rows, not copying
}

// Count is the number of rows of a table.
type Count struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// Move is a running move.
type Move struct {
	Options
	tables  []*table
	resumed bool
}

// part is one of the databases of an instance, on both sides.
type part struct {
	name     string
	from, to store.Cataloged
}

// stays lists the tables that are not copied, because they belong to a location or its processes, with the reason.
var stays = map[string]string{
	"instance":      "the target was created with the instance's ID",
	"probe":         "it contains no data",
	"storage":       "the target counts the rows that it receives",
	"move_progress": "it is about the move",
	"usage_flush":   "it numbers the flushes of processes that have ended",
	"member":        "the target has other processes",
	"news":          "no process of the target needs the events",
	"cluster_head":  "it numbers the events and the members",
	"login_guess":   "the target counts login attempts from zero",
}

// parts returns the databases in the order in which they are copied. The keys come last, so that no key is missing that
// the data was written with, even if the source is a snapshot of an instance in use.
func parts(from, to store.Engine) ([]part, error) {
	list := []part{{name: "main"}, {name: "usage"}, {name: "keys"}}
	for i, side := range []store.Engine{from, to} {
		for j, d := range []store.Database{side.Main(), side.Usage(), side.Keys()} {
			c, ok := d.(store.Cataloged)
			if !ok {
				return nil, fmt.Errorf("move: an engine does not list its tables: %T", d)
			}
			if i == 0 {
				list[j].from = c
			} else {
				list[j].to = c
			}
		}
	}
	return list, nil
}

// Begin examines both sides and marks the target as incomplete. The error is ErrNotEmpty or ErrOther if the target is
// not suitable.
func Begin(ctx context.Context, o Options) (*Move, error) {
	if o.Progress == nil {
		o.Progress = func(Step) {}
	}
	o.Batch = cmp.Or(o.Batch, 2000)
	m := &Move{Options: o}
	all, err := parts(o.From, o.To)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if err := p.sameInstance(ctx); err != nil {
			return nil, err
		}
		tables, err := p.tables(ctx, o.Batch)
		if err != nil {
			return nil, err
		}
		m.tables = append(m.tables, tables...)
	}
	if m.resumed, err = m.readProgress(ctx); err != nil || m.resumed {
		return m, err
	}
	for _, t := range m.tables {
		if n, err := t.count(ctx, t.to); err != nil {
			return nil, err
		} else if n > 0 {
			return nil, fmt.Errorf("%w: table %s has %d rows", ErrNotEmpty, t.Name, n)
		}
	}
	return m, m.writeProgress(ctx)
}

// sameInstance checks that the target was created with the ID of the source.
func (p *part) sameInstance(ctx context.Context) error {
	const query = `SELECT id FROM instance`
	var from, to string
	if err := p.from.In(ctx).QueryRow(ctx, query).Scan(&from); err != nil {
		return fmt.Errorf("read the instance of the source: %w", err)
	}
	if err := p.to.In(ctx).QueryRow(ctx, query).Scan(&to); err != nil {
		return fmt.Errorf("read the instance of the target: %w", err)
	}
	if from != to {
		return fmt.Errorf("%w: it was prepared for another instance", ErrNotEmpty)
	}
	return nil
}

// tables returns the tables of a database to copy, as both sides describe them.
func (p *part) tables(ctx context.Context, batch int) ([]*table, error) {
	from, err := p.from.Tables(ctx)
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	to, err := p.to.Tables(ctx)
	if err != nil {
		return nil, fmt.Errorf("target: %w", err)
	}
	var list []*table
	for _, t := range to {
		if stays[t.Name] != "" {
			continue
		}
		i := slices.IndexFunc(from, func(f store.Table) bool { return f.Name == t.Name })
		if i < 0 {
			return nil, fmt.Errorf("the source has no table %s: it belongs to another release", t.Name)
		}
		one, err := newTable(p, from[i], t, batch)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
		from = slices.Delete(from, i, i+1)
	}
	for _, f := range from {
		if stays[f.Name] == "" {
			return nil, fmt.Errorf("the target has no table %s: it belongs to another release", f.Name)
		}
	}
	return list, nil
}

// Resumed reports whether this move resumes an interrupted one.
func (m *Move) Resumed() bool { return m.resumed }

// freezer is a database that others change, until Freeze.
type freezer interface {
	Freeze(ctx context.Context) error
}

// Copy copies the rows that are not copied yet. A source that others change is frozen when its first table is copied.
func (m *Move) Copy(ctx context.Context) error {
	for _, t := range m.tables {
		if f, ok := t.part.from.(freezer); ok {
			if err := f.Freeze(ctx); err != nil {
				return fmt.Errorf("copy table %s: %w", t.Name, err)
			}
		}
		if err := t.copy(ctx, m); err != nil {
			return fmt.Errorf("copy table %s: %w", t.Name, err)
		}
	}
	return nil
}

// Verify compares the rows of both sides and returns their numbers.
func (m *Move) Verify(ctx context.Context) ([]Count, error) {
	var list []Count
	for _, t := range m.tables {
		n, err := t.verify(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("verify table %s: %w", t.Name, err)
		}
		list = append(list, Count{Table: t.Name, Rows: n})
	}
	return list, nil
}

// Finish marks the target as complete.
func (m *Move) Finish(ctx context.Context) error {
	main := m.To.Main()
	return main.Run(ctx, func(ctx context.Context) error {
		if _, err := main.In(ctx).Exec(ctx, `DELETE FROM move_progress`); err != nil {
			return fmt.Errorf("end the move: %w", err)
		}
		return nil
	})
}

// Stays reports whether a table is not copied, because it belongs to a location or its processes.
func Stays(table string) bool { return stays[table] != "" }
