package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/govern/account"
)

// Guesses stores counters of failed logins.
type Guesses struct{ main *DB }

// Clock returns the time of the database.
func (s *Guesses) Clock(ctx context.Context) (time.Time, error) {
	var now int64
	if err := s.main.In(ctx).QueryRow(ctx, `SELECT `+s.main.Dialect.Clock()).Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the clock: %w", err)
	}
	return TimeOf(now), nil
}

// Guesses implements account.GuessStore.
func (s *Guesses) Guesses(ctx context.Context, names []account.GuessName) (time.Time, [][]byte, error) {
	in, args := make([]string, len(names)), make([]any, len(names))
	for i := range names {
		in[i], args[i] = "$"+strconv.Itoa(i+1), names[i][:]
	}
	return s.readGuesses(ctx, names, `
		SELECT c.now, g.name, g.state FROM (SELECT `+s.main.Dialect.Clock()+` AS now) c
		LEFT JOIN login_guess g ON g.name IN (`+strings.Join(in, ", ")+`)`, args)
}

// readGuesses runs a query that returns the time, a name and its state.
func (s *Guesses) readGuesses(ctx context.Context, names []account.GuessName, query string, args []any) (now time.Time, states [][]byte, err error) {
	rows, err := s.main.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return now, nil, fmt.Errorf("read guesses: %w", err)
	}
	defer rows.Close()
	states = make([][]byte, len(names))
	for rows.Next() {
		var at int64
		var name, state []byte
		if err := rows.Scan(&at, &name, &state); err != nil {
			return now, nil, fmt.Errorf("read guesses: %w", err)
		}
		// Each row is locked at its own time. At the latest of them all rows are locked.
		if t := TimeOf(at); t.After(now) {
			now = t
		}
		if i := slices.IndexFunc(names, func(n account.GuessName) bool { return bytes.Equal(n[:], name) }); i >= 0 && len(state) > 0 {
			states[i] = bytes.Clone(state)
		}
	}
	if err := rows.Err(); err != nil {
		return now, nil, fmt.Errorf("read guesses: %w", err)
	}
	return now, states, nil
}

// ChangeGuesses implements account.GuessStore.
func (s *Guesses) ChangeGuesses(ctx context.Context, names []account.GuessName, change func(now time.Time, states [][]byte) ([]account.GuessState, error)) error {
	// A missing row cannot be locked, so it is inserted. All transactions lock in one order, so none waits in a circle.
	ordered := slices.SortedFunc(slices.Values(names), func(a, b account.GuessName) int { return bytes.Compare(a[:], b[:]) })
	hold := putGuesses(len(names), `until = login_guess.until`) + ` RETURNING ` + s.main.Dialect.Clock() + `, name, state`
	var nothing []any
	for i := range ordered {
		nothing = append(nothing, ordered[i][:], []byte{}, int64(0))
	}
	return s.main.Run(ctx, func(ctx context.Context) error {
		if err := s.main.Dialect.Relax(ctx, s.main.In(ctx)); err != nil {
			return fmt.Errorf("relax a transaction: %w", err)
		}
		now, states, err := s.readGuesses(ctx, names, hold, nothing)
		if err != nil {
			return err
		}
		changed, err := change(now, states)
		if err != nil {
			return err
		}
		return s.writeGuesses(ctx, names, changed)
	})
}

func (s *Guesses) writeGuesses(ctx context.Context, names []account.GuessName, states []account.GuessState) error {
	var put, gone []any
	var in []string
	for i, state := range states {
		if len(state.Text) == 0 {
			gone = append(gone, names[i][:])
			in = append(in, "$"+strconv.Itoa(len(gone)))
		} else {
			put = append(put, names[i][:], state.Text, Micros(state.Until))
		}
	}
	if len(put) > 0 {
		if _, err := s.main.In(ctx).Exec(ctx, putGuesses(len(put)/3, `state = excluded.state, until = excluded.until`), put...); err != nil {
			return fmt.Errorf("write guesses: %w", err)
		}
	}
	if len(gone) > 0 {
		if _, err := s.main.In(ctx).Exec(ctx, `DELETE FROM login_guess WHERE name IN (`+strings.Join(in, ", ")+`)`, gone...); err != nil {
			return fmt.Errorf("remove guesses: %w", err)
		}
	}
	return nil
}

// putGuesses is the statement that inserts n rows, or changes existing ones.
func putGuesses(n int, set string) string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("($%d, $%d, $%d)", 3*i+1, 3*i+2, 3*i+3)
	}
	return `INSERT INTO login_guess (name, state, until) VALUES ` + strings.Join(values, ", ") +
		` ON CONFLICT (name) DO UPDATE SET ` + set
}

// PruneGuesses implements account.GuessStore.
func (s *Guesses) PruneGuesses(ctx context.Context) error {
	return s.main.Run(ctx, func(ctx context.Context) error {
		if _, err := s.main.In(ctx).Exec(ctx, `DELETE FROM login_guess WHERE until <= `+s.main.Dialect.Clock()); err != nil {
			return fmt.Errorf("prune guesses: %w", err)
		}
		return nil
	})
}
