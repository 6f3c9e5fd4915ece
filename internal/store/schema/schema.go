// Package schema reads and runs the migrations of a database. A migration declares which programs can use its schema.
package schema

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// Step is one migration of a part.
type Step struct {
	Number int64
	Name   string // of its file
	Text   string
	// Oldest is the lowest number that a program must know to use the schema after this migration. A file that does not
	// declare it keeps the previous value.
	Oldest int64
	Said   bool // the file declares Oldest
}

// Table contains the numbers of the migrations that a database has.
const Table = "schema_version"

// note begins the line of a file that declares Oldest.
const note = "-- keepsake: oldest "

// Read reads the migrations of a part from folders in trees, by number.
func Read(part string, trees ...fs.FS) ([]Step, error) {
	var steps []Step
	for _, tree := range trees {
		names, err := fs.Glob(tree, "migration/"+part+"/*.sql")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				return nil, fmt.Errorf("read migrations: %w", err)
			}
			s, err := parse(path.Base(name), string(text))
			if err != nil {
				return nil, fmt.Errorf("migration %s of %s %w", path.Base(name), part, err)
			}
			steps = append(steps, s)
		}
	}
	slices.SortFunc(steps, func(a, b Step) int { return cmp.Compare(a.Number, b.Number) })
	for i := range steps {
		s := &steps[i]
		before := s.Number // a program that creates the first table knows it
		if i > 0 {
			before = steps[i-1].Oldest
		}
		if !s.Said {
			s.Oldest = before
		}
		switch {
		case i > 0 && s.Number == steps[i-1].Number:
			return nil, fmt.Errorf("migrations %s and %s of %s have the same number", steps[i-1].Name, s.Name, part)
		case i > 0 && s.Oldest < before, s.Oldest > s.Number:
			return nil, fmt.Errorf("migration %s of %s says oldest %d: it must be between the previous migration's, %d, and its own number",
				s.Name, part, s.Oldest, before)
		}
	}
	return steps, nil
}

func parse(name, text string) (Step, error) {
	number, _, _ := strings.Cut(name, "_")
	s := Step{Name: name, Text: text}
	var err error
	if s.Number, err = strconv.ParseInt(number, 10, 64); err != nil || s.Number < 1 {
		return s, fmt.Errorf("has no number")
	}
	for line := range strings.Lines(text) {
		value, is := strings.CutPrefix(strings.TrimSpace(line), note)
		if !is {
			continue
		}
		word, _, _ := strings.Cut(value, " ") // a reason can follow
		if s.Oldest, err = strconv.ParseInt(strings.TrimRight(word, ",.:;"), 10, 64); err != nil || s.Said {
			return s, fmt.Errorf("must declare the oldest version once, as a number")
		}
		s.Said = true
	}
	return s, nil
}

// Last returns the number of the last migration, or 0 for none.
func Last(steps []Step) int64 {
	if len(steps) == 0 {
		return 0
	}
	return steps[len(steps)-1].Number
}

// OldestAt returns the lowest number that a program must know to use a schema with the given number.
func OldestAt(number int64, steps []Step) int64 {
	var oldest int64
	for _, s := range steps {
		if s.Number <= number {
			oldest = s.Oldest
		}
	}
	return oldest
}

// Dialect contains the differences between engines.
type Dialect struct {
	Goose goose.Dialect
	First string // begins the transaction of each migration
	// Compat creates the table schema_compat if it does not exist. For each part, it contains the lowest number that a
	// program must know.
	Compat string
}

// Note stores this number in schema_compat.
const Note = "INSERT INTO schema_compat (part, oldest) VALUES ($1, $2) ON CONFLICT (part) DO UPDATE SET oldest = excluded.oldest"

// Provider runs migrations in order, each in a transaction of its own. The same transaction stores what a program must
// know, so that both become visible together.
func Provider(d Dialect, db *sql.DB, part string, steps []Step) (*goose.Provider, error) {
	var runs []*goose.Migration
	for _, s := range steps {
		runs = append(runs, goose.NewGoMigration(s.Number, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			for _, text := range []string{d.First, s.Text, d.Compat} {
				if text == "" {
					continue
				}
				if _, err := tx.ExecContext(ctx, text); err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
			}
			_, err := tx.ExecContext(ctx, Note, part, s.Oldest)
			return err
		}}, nil))
	}
	p, err := goose.NewProvider(d.Goose, db, nil, goose.WithGoMigrations(runs...),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()), goose.WithTableName(Table))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}
