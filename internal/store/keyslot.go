package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/base/unit"
)

// A memory is sealed by the data key of its subject together with a key of its own, and so is a cached response that contains
// memories. These small keys have a table of their own, in slots. Erasing the key of a memory erases the memory: whatever the
// database leaves of its text, in free pages, copies or old row versions, can no longer be opened.

// ownKeys stores the keys of memories and cached responses.
type ownKeys struct {
	main  *DB
	keys  *DB                                                                              // of subjects
	alone func(ctx context.Context, name string, fn func(ctx context.Context) error) error // see Engine
}

// KeySize is the size of a key in a slot.
const KeySize = 32

var insertOwnKeys = &Bulk{Into: `erasable_key (slot, key, free)`, Columns: 3, Rest: `ON CONFLICT DO NOTHING`}

// keepOwnKeys stores keys, and returns their slots in the order of the keys.
func (s *ownKeys) keepOwnKeys(ctx context.Context, keys [][]byte) ([]int64, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	slots, err := s.main.Dialect.ReuseKeySlots(ctx, s.main.In(ctx), keys)
	if err != nil {
		return nil, fmt.Errorf("store keys of memories: %w", err)
	}
	more := keys[len(slots):]
	next, err := s.main.Dialect.NextKeySlot(ctx, s.main.In(ctx))
	if err != nil {
		return nil, fmt.Errorf("find a slot for a key: %w", err)
	}
	added, err := s.main.Insert(ctx, insertOwnKeys, len(more), func(i int, values []any) []any {
		slots = append(slots, next+int64(i))
		return append(values, next+int64(i), more[i], false)
	})
	if err == nil && added < int64(len(more)) {
		err = &unit.StaleError{Problem: errors.New("another process took the same slots")}
	}
	if err != nil {
		return nil, fmt.Errorf("store keys of memories: %w", err)
	}
	return slots, nil
}

// eraseOwnKeys erases the keys in the slots that a SELECT names.
func (s *ownKeys) eraseOwnKeys(ctx context.Context, slots string, args ...any) error {
	if err := s.main.Dialect.EraseKeys(ctx, s.main.In(ctx), slots, args...); err != nil {
		return fmt.Errorf("erase keys of memories: %w", err)
	}
	return nil
}

// noteErased records that the transaction erases something, for ScrubErased.
func (s *ownKeys) noteErased(ctx context.Context, at time.Time) error {
	type noted struct{}
	there := unit.Local(ctx, noted{}, func() *bool { return new(bool) })
	if *there {
		return nil
	}
	*there = true
	if _, err := s.main.In(ctx).Exec(ctx, `INSERT INTO unscrubbed (id, at) VALUES ($1, $2)`, rand.Text(), Micros(at)); err != nil {
		return fmt.Errorf("record an erasure: %w", err)
	}
	return nil
}

// ScrubErased implements memory.Store.
func (s *ownKeys) ScrubErased(ctx context.Context, before time.Time) error {
	const due = `SELECT id FROM unscrubbed WHERE at <= $1 ORDER BY at LIMIT 1`
	if list, err := names(ctx, s.main, due, Micros(before)); err != nil || len(list) == 0 {
		return err
	}
	return s.alone(ctx, "scrub", func(ctx context.Context) error {
		if list, err := names(ctx, s.main, due, Micros(before)); err != nil || len(list) == 0 {
			return err // another process was faster
		}
		// These are committed, and so are their erasures. Later ones stay recorded.
		noted, err := names(ctx, s.main, `SELECT id FROM unscrubbed`)
		if err != nil {
			return fmt.Errorf("list erasures: %w", err)
		}
		if err := s.scrubErased(ctx); err != nil {
			return err
		}
		return s.main.Run(ctx, func(ctx context.Context) error {
			for some := range slices.Chunk(noted, ListSize) {
				_, err := s.main.In(ctx).Exec(ctx, `DELETE FROM unscrubbed WHERE id IN (`+Parameters(1, ListSize)+`)`, Padded(nil, some)...)
				if err != nil {
					return fmt.Errorf("remove records of erasures: %w", err)
				}
			}
			return nil
		})
	})
}

// scrubErased removes erased keys from the files: those of memories and those of subjects. An embedded engine has removed those
// of subjects before their erasure was acknowledged.
func (s *ownKeys) scrubErased(ctx context.Context) error {
	if err := s.main.Scrub(ctx); err != nil {
		return err
	}
	if err := rewrite(ctx, s.main, "erasable_key"); err != nil {
		return err
	}
	return rewrite(ctx, s.keys, "subject_key")
}

// rewrite rewrites a table without its deleted rows, on an engine that needs it. It is an error if some remain.
func rewrite(ctx context.Context, d *DB, table string) error {
	left, err := d.Rewrite(ctx, table)
	if err == nil && left > 0 {
		err = fmt.Errorf("%d deleted rows of %s stay in its file, because an older transaction can still read them", left, table)
	}
	return err
}
