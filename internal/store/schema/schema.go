// Package schema reads and runs the migrations of a database. A migration declares which programs can use its schema.
package schema

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
)

// Step is one migration of a part.
type Step struct {
	Number int64
	Name   string // of its file
	Text   string
	Hash   string // of Text
	// Oldest is the lowest number that a program must know to use the schema after this migration. A file that does not
	// declare it keeps the previous value.
	Oldest int64
	Said   bool // the file declares Oldest
}

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
	text = strings.ReplaceAll(text, "\r\n", "\n") // a checkout on Windows is the same migration
	sum := sha256.Sum256([]byte(text))
	s := Step{Name: name, Text: text, Hash: hex.EncodeToString(sum[:])}
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

const (
	// Table contains the migrations that a database has: their number, the hash of their file, and what they declare.
	Table = "schema_migration"
	// UnreleasedTable is where builds before the first release counted their migrations, whose numbers are used again.
	UnreleasedTable = "schema_version"
	// Applied reads Table.
	Applied = "SELECT version_id, hash, oldest FROM " + Table + " ORDER BY version_id"
)

// ErrUnreleased is the error of a database that another program than a release created. This program would misread it.
var ErrUnreleased = errors.New("was created by an unreleased build of Keepsake and cannot be read by this one: export its documents " +
	"and memories with that build, import them into a new instance, and create API keys and users again")

// State is the schema that a database has of a part.
type State struct {
	Version int64 // the number of its last migration; 0 if there is none
	Oldest  int64 // the lowest number that a program must know
	Hashes  map[int64]string
	// Unreleased reports that the database has UnreleasedTable.
	Unreleased bool
}

// Add adds a row of Applied.
func (s *State) Add(number int64, hash string, oldest int64) {
	if s.Hashes == nil {
		s.Hashes = map[int64]string{}
	}
	s.Version, s.Oldest = max(s.Version, number), max(s.Oldest, oldest)
	s.Hashes[number] = hash
}

// Check returns ErrUnreleased unless every migration of the database that is among steps is the same there.
func (s *State) Check(steps []Step) error {
	if s.Unreleased {
		return ErrUnreleased
	}
	for _, step := range steps {
		if hash, has := s.Hashes[step.Number]; has && hash != step.Hash {
			return ErrUnreleased
		}
	}
	return nil
}

// Dialect contains the differences between engines.
type Dialect struct {
	Goose  goose.Dialect
	First  string // begins the transaction of each migration
	Table  string // creates Table
	Exists string // reads whether Table exists
}

// Provider runs migrations in order, each in a transaction of its own. The same transaction stores what a program must
// know, so that both become visible together.
func Provider(d Dialect, db *sql.DB, steps []Step) (*goose.Provider, error) {
	var runs []*goose.Migration
	for _, s := range steps {
		runs = append(runs, goose.NewGoMigration(s.Number, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			for _, text := range []string{d.First, s.Text} {
				if text == "" {
					continue
				}
				if _, err := tx.ExecContext(ctx, text); err != nil {
					return fmt.Errorf("%s: %w", s.Name, err)
				}
			}
			return nil
		}}, nil))
	}
	numbers, err := database.NewStore(d.Goose, Table)
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectCustom, db, nil, goose.WithGoMigrations(runs...),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()), goose.WithStore(applied{numbers, d, steps}))
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return p, nil
}

// applied is Table, for goose.
type applied struct {
	database.Store
	dialect Dialect
	steps   []Step
}

// CreateVersionTable implements database.Store.
func (a applied) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	_, err := db.ExecContext(ctx, a.dialect.Table)
	return err
}

// Insert implements database.Store. It is also called for the number 0, by which goose recognizes the table.
func (a applied) Insert(ctx context.Context, db database.DBTxConn, r database.InsertRequest) error {
	var s Step
	if i := slices.IndexFunc(a.steps, func(s Step) bool { return s.Number == r.Version }); i >= 0 {
		s = a.steps[i]
	}
	_, err := db.ExecContext(ctx, "INSERT INTO "+Table+" (version_id, is_applied, hash, oldest) VALUES ($1, $2, $3, $4)", r.Version, true, s.Hash, s.Oldest)
	return err
}

// TableExists is optional for goose, which otherwise reads a table that may not exist.
func (a applied) TableExists(ctx context.Context, db database.DBTxConn) (exists bool, err error) {
	err = db.QueryRowContext(ctx, a.dialect.Exists).Scan(&exists)
	return exists, err
}
