package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"time"

	"keepsake/internal/unit"
)

// A memory is sealed by its subject's data key together with a key of its own, and so is an answer that tells of memories.
// Own keys are small and of one size, and lie in a table by themselves, in slots. To erase one memory is to erase its key:
// what databases leave behind of its text, in free pages, in copies that they made when they moved rows, or in a row's old
// versions, opens with nothing any more.

// ownKeySize is the size of a key in a slot.
const ownKeySize = 32

var insertOwnKeys = &bulk{insert: `INSERT INTO erasable_key (slot, key, free) VALUES`, columns: 3, rest: `ON CONFLICT DO NOTHING`}

// keepOwnKeys puts keys into slots, and gives these in the order of the keys.
func (s *Store) keepOwnKeys(ctx context.Context, keys [][]byte) ([]int64, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	slots, err := s.reuseSlots(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("keep own keys: %w", err)
	}
	more := keys[len(slots):]
	next, err := s.nextSlot(ctx)
	if err != nil {
		return nil, fmt.Errorf("find a slot for a key: %w", err)
	}
	var added int64
	err = insertOwnKeys.each(s.shared, len(more), func(i int, values []any) []any {
		slots = append(slots, next+int64(i))
		return append(values, next+int64(i), more[i], false)
	}, func(text string, values []any) error {
		n, err := s.main.In(ctx).Exec(ctx, text, values...)
		added += n
		return err
	})
	if err == nil && added < int64(len(more)) {
		err = &unit.StaleError{Problem: errors.New("another process took the same slots")}
	}
	if err != nil {
		return nil, fmt.Errorf("keep own keys: %w", err)
	}
	return slots, nil
}

// reuseSlots puts as many of the keys into slots as there are free ones. On an engine with several writers none is: there
// rows go with their keys.
func (s *Store) reuseSlots(ctx context.Context, keys [][]byte) (slots []int64, err error) {
	if s.shared {
		return nil, nil
	}
	if slots, err = s.numbers(ctx, `SELECT slot FROM erasable_key WHERE free = 1 LIMIT $1`, len(keys)); err != nil {
		return nil, err
	}
	for i, slot := range slots {
		_, err := s.main.In(ctx).Exec(ctx, `UPDATE erasable_key SET key = $1, free = 0 WHERE slot = $2`, keys[i], slot)
		if err != nil {
			return nil, err
		}
	}
	return slots, nil
}

// nextSlot is where new slots begin. A single writer appends. Writers side by side take numbers by the time and by chance,
// far enough apart for the keys of a unit; where two meet all the same, one runs again.
func (s *Store) nextSlot(ctx context.Context) (next int64, err error) {
	if !s.shared {
		err = s.main.In(ctx).QueryRow(ctx, `SELECT coalesce(max(slot), 0) + 1 FROM erasable_key`).Scan(&next)
		return next, err
	}
	chance, err := rand.Int(rand.Reader, big.NewInt(1<<20))
	if err != nil {
		return 0, err
	}
	return time.Now().UnixMilli()<<21 | chance.Int64(), nil
}

func (s *Store) numbers(ctx context.Context, query string, args ...any) (list []int64, err error) {
	rows, err := s.main.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&n); err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, rows.Err()
}

// eraseOwnKeys erases the keys in slots that a SELECT names.
func (s *Store) eraseOwnKeys(ctx context.Context, slots string, args ...any) (err error) {
	if s.shared {
		_, err = s.main.In(ctx).Exec(ctx, `DELETE FROM erasable_key WHERE slot IN (`+slots+`)`, args...)
	} else {
		args = append(slices.Clip(args), make([]byte, ownKeySize))
		_, err = s.main.In(ctx).Exec(ctx, `UPDATE erasable_key SET key = $`+strconv.Itoa(len(args))+`, free = 1 WHERE slot IN (`+slots+`)`, args...)
	}
	if err != nil {
		return fmt.Errorf("erase own keys: %w", err)
	}
	return nil
}

// noteErased notes in a unit that it erases something, for ScrubErased.
func (s *Store) noteErased(ctx context.Context, at time.Time) error {
	type noted struct{}
	there := unit.Local(ctx, noted{}, func() *bool { return new(bool) })
	if *there {
		return nil
	}
	*there = true
	if _, err := s.main.In(ctx).Exec(ctx, `INSERT INTO unscrubbed (id, at) VALUES ($1, $2)`, rand.Text(), micros(at)); err != nil {
		return fmt.Errorf("note an erasure: %w", err)
	}
	return nil
}

// ScrubErased implements memory.Store.
func (s *Store) ScrubErased(ctx context.Context, before time.Time) error {
	const due = `SELECT id FROM unscrubbed WHERE at <= $1 ORDER BY at LIMIT 1`
	if list, err := s.names(ctx, due, micros(before)); err != nil || len(list) == 0 {
		return err
	}
	return s.engine.Alone(ctx, "scrub", func(ctx context.Context) error {
		if list, err := s.names(ctx, due, micros(before)); err != nil || len(list) == 0 {
			return err // another process has done it meanwhile
		}
		// These have committed, and so have their erasures. Those that come later stay noted.
		noted, err := s.names(ctx, `SELECT id FROM unscrubbed`)
		if err != nil {
			return fmt.Errorf("list erasures: %w", err)
		}
		if err := s.scrubErased(ctx); err != nil {
			return err
		}
		return s.main.Run(ctx, func(ctx context.Context) error {
			for some := range slices.Chunk(noted, idsAtOnce) {
				args := make([]any, idsAtOnce)
				for i := range args {
					args[i] = some[min(i, len(some)-1)]
				}
				if _, err := s.main.In(ctx).Exec(ctx, `DELETE FROM unscrubbed WHERE id IN (`+parameters(1, idsAtOnce)+`)`, args...); err != nil {
					return fmt.Errorf("note that erasures are done: %w", err)
				}
			}
			return nil
		})
	})
}

// scrubErased clears the files of erased keys: those of memories, and those of persons, which an embedded engine has cleared
// before their erasure was answered.
func (s *Store) scrubErased(ctx context.Context) error {
	if d, ok := s.main.(Scrubbed); ok {
		if err := d.Scrub(ctx); err != nil {
			return err
		}
	}
	if err := rewrite(ctx, s.main, "erasable_key"); err != nil {
		return err
	}
	return rewrite(ctx, s.keys, "subject_key")
}

// rewrite writes a table anew, so that nothing is left of its deleted rows, on an engine that leaves anything.
func rewrite(ctx context.Context, d Database, table string) error {
	r, ok := d.(Rewriter)
	if !ok {
		return nil
	}
	left, err := r.Rewrite(ctx, table)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d deleted rows of %s stay in its file, because a transaction that began before can still read them", left, table)
	}
	return err
}
