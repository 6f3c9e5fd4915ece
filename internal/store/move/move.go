// Package move copies all that an instance has from one engine into another, and goes on where it was cut off.
//
// It knows no noun: the tables come from the engines' catalogs, so that a table somebody adds moves with the others. Rows
// are read in the order of their primary key and written in batches; the target remembers, with each batch, how far it is.
// At the end the rows of both sides are counted and summed up. Until then the target says of itself that it is not whole
// (Unfinished), and nobody must serve it.
package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"keepsake/internal/store"
)

// Errors of Begin that commands tell apart.
var (
	// ErrNotEmpty: there is something in the target already, and nothing was changed.
	ErrNotEmpty = errors.New("the target holds something already")
	// ErrOther: something else is on its way into the target, and nothing was changed.
	ErrOther = errors.New("the target holds a part of something else that was to be moved or restored there")
)

// Options say what is moved. Nobody else writes to either side.
type Options struct {
	From, To store.Engine
	// Source names what is moved: what was cut off is gone on with where it is the same, and refused else.
	Source string
	// Batch is how many rows are read and written at once, if they are not too large for that; 0 for 2,000.
	Batch int
	// Progress hears of every batch; may be nil.
	Progress func(Step)
}

// Step is how far a table is.
type Step struct {
	Table     string
	Rows      int64 // so far
	Total     int64 // of the table
	Verifying bool  // the rows are being compared, and not copied
}

// Count is how many rows of a table were moved.
type Count struct {
	Table string `json:"table"`
	Rows  int64  `json:"rows"`
}

// Move is a move that has begun.
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

// stays are tables that belong to a place or to its processes and not to the instance, and why they are left behind.
var stays = map[string]string{
	"instance":      "the target was made with the instance's id",
	"probe":         "it holds nothing",
	"storage":       "the target counts the rows that come",
	"move_progress": "it is about the move",
	"usage_flush":   "it numbers what processes send that have ended",
	"member":        "the processes of the target are others",
	"news":          "there is nobody yet to hear them",
	"cluster_head":  "it numbers the news and the processes",
	"login_guess":   "an instance that starts counts guesses anew",
}

// parts are the databases in the order in which they move. The secrets come last: they can then lack none that the data
// was written with, also where the source is a snapshot of what is in use.
func parts(from, to store.Engine) ([]part, error) {
	list := []part{{name: "main"}, {name: "usage"}, {name: "keys"}}
	for i, side := range []store.Engine{from, to} {
		for j, d := range []store.Database{side.Main(), side.Usage(), side.Keys()} {
			c, ok := d.(store.Cataloged)
			if !ok {
				return nil, fmt.Errorf("move: an engine does not tell its tables: %T", d)
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

// Begin looks at both sides and marks the target as not whole. It is ErrNotEmpty or ErrOther where the target is not for
// this move.
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

// sameInstance looks whether the target was made with the id of the source.
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

// tables are those of a database that move, as both sides describe them.
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
			return nil, fmt.Errorf("the source has no table %s: it is of another release", t.Name)
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
			return nil, fmt.Errorf("the target has no table %s: it is of another release", f.Name)
		}
	}
	return list, nil
}

// Resumed reports whether a move that was cut off is gone on with.
func (m *Move) Resumed() bool { return m.resumed }

// Copy copies what is not there yet.
func (m *Move) Copy(ctx context.Context) error {
	for _, t := range m.tables {
		if err := t.copy(ctx, m); err != nil {
			return fmt.Errorf("copy table %s: %w", t.Name, err)
		}
	}
	return nil
}

// Verify compares the rows of both sides and says how many there are.
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

// Finish says that the target is whole.
func (m *Move) Finish(ctx context.Context) error {
	main := m.To.Main()
	return main.Run(ctx, func(ctx context.Context) error {
		if _, err := main.In(ctx).Exec(ctx, `DELETE FROM move_progress`); err != nil {
			return fmt.Errorf("end the move: %w", err)
		}
		return nil
	})
}

// Stays reports whether a table is left behind, because it belongs to a place or to its processes.
func Stays(table string) bool { return stays[table] != "" }
