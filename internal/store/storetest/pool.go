package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/store"
)

// Pool provides engines for cases. Opening an engine takes longer than most cases, so a case reuses the engines of an
// earlier one, with all tables emptied. No two cases use the same engines at the same time.
type Pool struct {
	open func() []store.Engine
	free chan *lent // nil for engines that are not open yet
}

// lent is what one case uses: engines of one instance, and the tables of each of its databases.
type lent struct {
	engines []store.Engine
	tables  map[store.Database][]string // referenced tables first
}

// NewPool creates a pool for a number of concurrent cases. open opens the engines of an empty instance. The test that
// owns the pool closes them.
func NewPool(size int, open func() []store.Engine) *Pool {
	p := &Pool{open: open, free: make(chan *lent, size)}
	for range size {
		p.free <- nil
	}
	return p
}

// Engines returns the engines of an empty instance for use until t ends.
func (p *Pool) Engines(t *testing.T) []store.Engine {
	t.Helper()
	l := <-p.free
	next := (*lent)(nil) // for the next case
	t.Cleanup(func() { p.free <- next })
	if l == nil {
		l = &lent{engines: p.open(), tables: map[store.Database][]string{}}
	}
	t.Cleanup(func() {
		if t.Failed() { // a transaction may still be running
			return
		}
		if err := l.empty(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("empty the tables after a case: %v", err)
			return
		}
		next = l
	})
	return l.engines
}

// empty deletes every row except the ID of the instance.
func (l *lent) empty(ctx context.Context) error {
	e := l.engines[0]
	for _, d := range []store.Database{e.Main(), e.Keys(), e.Usage()} {
		if l.tables[d] == nil {
			tables, err := d.(store.Cataloged).Tables(ctx)
			if err != nil {
				return err
			}
			for _, t := range tables {
				if t.Name != "instance" {
					l.tables[d] = append(l.tables[d], t.Name)
				}
			}
		}
		if err := l.emptyTables(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

// emptyTables deletes the rows of one database. Triggers can add rows that count deletions, so it repeats until all
// tables are empty.
func (l *lent) emptyTables(ctx context.Context, d store.Database) error {
	for {
		filled, err := filled(ctx, d, l.tables[d])
		if err != nil || len(filled) == 0 {
			return err
		}
		err = d.Run(ctx, func(ctx context.Context) error {
			for _, name := range slices.Backward(filled) {
				if _, err := d.In(ctx).Exec(ctx, "DELETE FROM "+name); err != nil {
					return fmt.Errorf("table %s: %w", name, err)
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// filled returns the tables that have rows, in the same order.
func filled(ctx context.Context, d store.Database, tables []string) (names []string, err error) {
	questions := make([]string, len(tables))
	for i, name := range tables {
		questions[i] = fmt.Sprintf("SELECT %d WHERE EXISTS (SELECT 1 FROM %s)", i, name)
	}
	rows, err := d.In(ctx).Query(ctx, strings.Join(questions, " UNION ALL ")+" ORDER BY 1")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var i int
		if err := rows.Scan(&i); err != nil {
			return nil, err
		}
		names = append(names, tables[i])
	}
	return names, rows.Err()
}
