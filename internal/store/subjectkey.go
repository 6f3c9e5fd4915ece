package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/memory/seal"
)

// SubjectKeys stores the encrypted data keys of subjects.
type SubjectKeys struct{ keys *DB }

// subjectsAtOnce are the numbers of subjects in a query. They are few, so that statements stay prepared; a shorter list repeats
// its last subject.
var subjectsAtOnce = [...]int{1, 8, 64, 512}

const selectSubjectKey = `SELECT workspace_id, subject, generation, wrapped, wrapped_with, created_at FROM subject_key`

// SubjectKeys implements seal.SubjectStore.
func (s *SubjectKeys) SubjectKeys(ctx context.Context, workspaceID string, subjects []seal.SubjectHash) ([]seal.SubjectKey, error) {
	var all []seal.SubjectKey
	for some := range slices.Chunk(subjects, subjectsAtOnce[len(subjectsAtOnce)-1]) {
		size := 0
		for subjectsAtOnce[size] < len(some) {
			size++
		}
		args := make([]any, 1, 1+subjectsAtOnce[size])
		args[0] = workspaceID
		for i := range subjectsAtOnce[size] {
			args = append(args, some[min(i, len(some)-1)][:])
		}
		keys, err := s.subjectKeys(ctx, selectSubjectKey+` WHERE workspace_id = $1 AND subject IN (`+Parameters(2, subjectsAtOnce[size])+`)`, args...)
		if err != nil {
			return nil, err
		}
		all = append(all, keys...)
	}
	return all, nil
}

func (s *SubjectKeys) subjectKeys(ctx context.Context, query string, args ...any) ([]seal.SubjectKey, error) {
	rows, err := s.keys.In(ctx).Query(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read data keys: %w", err)
	}
	defer rows.Close()
	var keys []seal.SubjectKey
	for rows.Next() {
		var k seal.SubjectKey
		var subject []byte
		var created int64
		if err := rows.Scan(&k.WorkspaceID, &subject, &k.Generation, &k.Wrapped, &k.With, &created); err != nil {
			return nil, fmt.Errorf("read data key: %w", err)
		}
		copy(k.Subject[:], subject)
		k.CreatedAt = TimeOf(created)
		keys = append(keys, k)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read data keys: %w", err)
	}
	return keys, nil
}

var insertSubjectKeys = &Bulk{
	Into:    `subject_key (workspace_id, subject, generation, wrapped, wrapped_with, created_at)`,
	Columns: 6, Rest: `ON CONFLICT DO NOTHING`,
}

// AddSubjectKeys implements seal.SubjectStore.
func (s *SubjectKeys) AddSubjectKeys(ctx context.Context, workspaceID string, keys []seal.SubjectKey) (all []seal.SubjectKey, err error) {
	var subjects []seal.SubjectHash
	for _, k := range keys {
		subjects = append(subjects, k.Subject)
	}
	err = s.keys.Run(ctx, func(ctx context.Context) error {
		if err := s.holdWrapping(ctx, keys); err != nil {
			return err
		}
		if all, err = s.SubjectKeys(ctx, workspaceID, subjects); err != nil {
			return err
		}
		missing := missingKeys(keys, all)
		if len(missing) == 0 {
			return nil
		}
		_, err := s.keys.Insert(ctx, insertSubjectKeys, len(missing), func(i int, values []any) []any {
			k := missing[i]
			return append(values, k.WorkspaceID, k.Subject[:], k.Generation, k.Wrapped, k.With, Micros(k.CreatedAt))
		})
		if err != nil {
			return fmt.Errorf("add data keys: %w", err)
		}
		all, err = s.SubjectKeys(ctx, workspaceID, subjects) // another process can have been faster
		return err
	})
	return all, err
}

// missingKeys are the keys to add to the existing ones.
func missingKeys(keys, all []seal.SubjectKey) []*seal.SubjectKey {
	there := make(map[seal.SubjectGeneration]bool, len(all))
	destroyed := map[seal.SubjectHash]int64{}
	for _, k := range all {
		there[k.SubjectGeneration] = true
		if len(k.Wrapped) == 0 {
			destroyed[k.Subject] = max(destroyed[k.Subject], k.Generation)
		}
	}
	var missing []*seal.SubjectKey
	for i, k := range keys {
		if !there[k.SubjectGeneration] && k.Generation > destroyed[k.Subject] {
			missing = append(missing, &keys[i])
		}
	}
	return missing
}

// holdWrapping locks the wrapping secrets of keys, so that no secret is removed before its keys are stored: nothing could open
// them.
func (s *SubjectKeys) holdWrapping(ctx context.Context, keys []seal.SubjectKey) error {
	held := ""
	for _, k := range keys {
		if k.With == held {
			continue
		}
		err := s.keys.HoldRow(ctx, `SELECT name FROM wrapped_secret WHERE name = $1`, k.With).Scan(&held)
		if errors.Is(err, sql.ErrNoRows) {
			return seal.ErrWrappingGone
		}
		if err != nil {
			return fmt.Errorf("hold a wrapping secret: %w", err)
		}
	}
	return nil
}

// DestroySubjectKeys implements seal.SubjectStore.
func (s *SubjectKeys) DestroySubjectKeys(ctx context.Context, workspaceID string, subject seal.SubjectHash, upTo int64, at time.Time) error {
	err := s.keys.Run(ctx, func(ctx context.Context) error {
		q := s.keys.In(ctx)
		// The row of the last generation stays without its key. It is written even if there was none: a concurrent insert comes
		// either before, and the key is destroyed, or after, and fails.
		_, err := q.Exec(ctx, `
			INSERT INTO subject_key (workspace_id, subject, generation, wrapped, wrapped_with, created_at) VALUES ($1, $2, $3, $4, '', $5)
			ON CONFLICT (workspace_id, subject, generation) DO UPDATE SET wrapped = excluded.wrapped, wrapped_with = '',
				created_at = excluded.created_at WHERE subject_key.wrapped_with <> ''`,
			workspaceID, subject[:], upTo, []byte{}, Micros(at))
		if err != nil {
			return fmt.Errorf("destroy data key: %w", err)
		}
		if _, err := q.Exec(ctx, `DELETE FROM subject_key WHERE workspace_id = $1 AND subject = $2 AND generation < $3`,
			workspaceID, subject[:], upTo); err != nil {
			return fmt.Errorf("destroy data keys: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.keys.Scrub(ctx)
}

// SubjectKeysWith implements seal.SubjectStore.
func (s *SubjectKeys) SubjectKeysWith(ctx context.Context, with string, after *seal.SubjectKey, limit int) ([]seal.SubjectKey, error) {
	const order = ` ORDER BY workspace_id, subject, generation LIMIT `
	if after == nil {
		return s.subjectKeys(ctx, selectSubjectKey+` WHERE wrapped_with = $1`+order+`$2`, with, limit)
	}
	return s.subjectKeys(ctx, selectSubjectKey+` WHERE wrapped_with = $1 AND (workspace_id, subject, generation) > ($2, $3, $4)`+order+`$5`,
		with, after.WorkspaceID, after.Subject[:], after.Generation, limit)
}

// RewrapSubjectKeys implements seal.SubjectStore. A key that was destroyed since stays destroyed.
func (s *SubjectKeys) RewrapSubjectKeys(ctx context.Context, old string, keys []seal.SubjectKey) error {
	return s.keys.Run(ctx, func(ctx context.Context) error {
		if err := s.holdWrapping(ctx, keys); err != nil {
			return err
		}
		for _, k := range keys {
			if _, err := s.keys.In(ctx).Exec(ctx, `
				UPDATE subject_key SET wrapped = $1, wrapped_with = $2
				WHERE workspace_id = $3 AND subject = $4 AND generation = $5 AND wrapped_with = $6`,
				k.Wrapped, k.With, k.WorkspaceID, k.Subject[:], k.Generation, old); err != nil {
				return fmt.Errorf("rewrap data key: %w", err)
			}
		}
		return nil
	})
}

// EachDestroyedKey calls fn for every subject whose data keys were destroyed, with the last destroyed generation and the time.
func (s *SubjectKeys) EachDestroyedKey(ctx context.Context, fn func(k *seal.SubjectKey) error) error {
	const atOnce = 1000
	var after *seal.SubjectKey
	for {
		keys, err := s.SubjectKeysWith(ctx, "", after, atOnce)
		if err != nil || len(keys) == 0 {
			return err
		}
		for i := range keys {
			if err := fn(&keys[i]); err != nil {
				return err
			}
		}
		last := keys[len(keys)-1]
		after = &last
	}
}
