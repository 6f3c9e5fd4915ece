package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/memory"
)

// memorySubjects stores the rows of subjects.
type memorySubjects struct{ main *DB }

// SubjectColumns are the columns of a row s of memory_subject.
const SubjectColumns = `s.subject, s.generation, s.change, s.sealed_id, s.memories, s.bytes, s.created_at, s.updated_at, s.erased_at`

func scanSubject(row Row, more ...any) (*memory.SubjectRow, error) {
	var sub memory.SubjectRow
	var hash []byte
	var created, updated int64
	var erased *int64
	err := row.Scan(append([]any{&hash, &sub.Generation, &sub.Change, &sub.SealedID, &sub.Memories, &sub.Bytes, &created, &updated, &erased}, more...)...)
	if err != nil {
		return nil, err
	}
	sub.Hash, sub.CreatedAt, sub.UpdatedAt, sub.ErasedAt = hashOf(hash), TimeOf(created), TimeOf(updated), maybeTime(erased)
	return &sub, nil
}

const subjectByHash = `SELECT ` + SubjectColumns + ` FROM memory_subject s WHERE s.workspace_id = $1 AND s.subject = $2`

// subjectRow reads one row, or nil if there is none.
func subjectRow(row Row) (*memory.SubjectRow, error) {
	sub, err := scanSubject(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read subject: %w", err)
	}
	return sub, nil
}

// MemorySubject implements memory.Store.
func (s *memorySubjects) MemorySubject(ctx context.Context, workspaceID string, subject memory.Hash) (*memory.SubjectRow, error) {
	return subjectRow(s.main.In(ctx).QueryRow(ctx, subjectByHash, workspaceID, subject[:]))
}

// MemorySubjects implements memory.Store.
func (s *memorySubjects) MemorySubjects(ctx context.Context, workspaceID string, subjects []memory.Hash) (list []*memory.SubjectRow, err error) {
	if len(subjects) == 0 {
		return nil, nil
	}
	err = s.main.Dialect.Subjects(ctx, s.main.In(ctx), workspaceID, hashesOf(subjects), func(row Row) error {
		sub, err := scanSubject(row)
		list = append(list, sub)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read subjects: %w", err)
	}
	return list, nil
}

func hashesOf(subjects []memory.Hash) [][]byte {
	list := make([][]byte, len(subjects))
	for i := range subjects {
		list[i] = subjects[i][:]
	}
	return list
}

var insertSubjects = &Bulk{
	Into:    `memory_subject (workspace_id, subject, generation, change, memories, bytes, created_at, updated_at)`,
	Columns: 8, Rest: `ON CONFLICT DO NOTHING`,
}

func (s *memorySubjects) insertSubjects(ctx context.Context, workspaceID string, subjects []memory.Hash, at time.Time) error {
	_, err := s.main.Insert(ctx, insertSubjects, len(subjects), func(i int, values []any) []any {
		return append(values, workspaceID, subjects[i][:], 1, 0, 0, 0, Micros(at), Micros(at))
	})
	if err != nil {
		return fmt.Errorf("add subjects: %w", err)
	}
	return nil
}

// LockMemorySubjects implements memory.Store.
func (s *memorySubjects) LockMemorySubjects(ctx context.Context, workspaceID string, subjects []memory.Hash, at time.Time) ([]*memory.SubjectRow, error) {
	if len(subjects) > 2 {
		return s.holdManySubjects(ctx, workspaceID, subjects, at)
	}
	list := make([]*memory.SubjectRow, len(subjects))
	for i, subject := range subjects {
		sub, err := subjectRow(s.main.HoldRow(ctx, subjectByHash, workspaceID, subject[:]))
		if err == nil && sub == nil {
			// If another transaction inserts the row first, this one waits and then holds that row.
			if err = s.insertSubjects(ctx, workspaceID, subjects[i:i+1], at); err == nil {
				sub, err = subjectRow(s.main.HoldRow(ctx, subjectByHash, workspaceID, subject[:]))
			}
		}
		if err != nil {
			return nil, err
		}
		list[i] = sub
	}
	return list, nil
}

// holdManySubjects takes few statements for many subjects. It inserts missing rows first, so that every row that it then
// reads is held.
func (s *memorySubjects) holdManySubjects(ctx context.Context, workspaceID string, subjects []memory.Hash, at time.Time) ([]*memory.SubjectRow, error) {
	if err := s.insertSubjects(ctx, workspaceID, subjects, at); err != nil {
		return nil, err
	}
	rising := slices.SortedFunc(slices.Values(hashesOf(subjects)), bytes.Compare)
	for some := range slices.Chunk(rising, holdSize) {
		if err := s.main.Hold(ctx, holdSubjects, PaddedTo([]any{workspaceID}, some, holdSize)...); err != nil {
			return nil, fmt.Errorf("hold subjects: %w", err)
		}
	}
	found, err := s.MemorySubjects(ctx, workspaceID, subjects)
	if err != nil {
		return nil, err
	}
	byHash := make(map[memory.Hash]*memory.SubjectRow, len(found))
	for _, sub := range found {
		byHash[sub.Hash] = sub
	}
	list := make([]*memory.SubjectRow, len(subjects))
	for i, subject := range subjects {
		if list[i] = byHash[subject]; list[i] == nil {
			return nil, errors.New("the row of a subject is missing after it was inserted")
		}
	}
	return list, nil
}

// holdSize is how many subjects one statement holds.
const holdSize = 500

var holdSubjects = `SELECT s.subject FROM memory_subject s WHERE s.workspace_id = $1 AND s.subject IN (` + Parameters(2, holdSize) + `) ORDER BY s.subject`

var saveSubjects = &Bulk{
	Into: `memory_subject (workspace_id, subject, generation, change, sealed_id, memories, bytes, created_at, updated_at,
		erased_at)`,
	Columns: 10,
	Rest: `ON CONFLICT (workspace_id, subject) DO UPDATE SET generation = excluded.generation, change = excluded.change,
		sealed_id = excluded.sealed_id, memories = excluded.memories, bytes = excluded.bytes, created_at = excluded.created_at,
		updated_at = excluded.updated_at, erased_at = excluded.erased_at`,
}

// SaveMemorySubjects implements memory.Store.
func (s *memorySubjects) SaveMemorySubjects(ctx context.Context, workspaceID string, subjects []*memory.SubjectRow) error {
	_, err := s.main.Insert(ctx, saveSubjects, len(subjects), func(i int, values []any) []any {
		sub := subjects[i]
		var name any
		if len(sub.SealedID) > 0 {
			name = sub.SealedID
		}
		return append(values, workspaceID, sub.Hash[:], sub.Generation, sub.Change, name, sub.Memories, sub.Bytes, Micros(sub.CreatedAt),
			Micros(sub.UpdatedAt), maybeMicros(sub.ErasedAt))
	})
	if err != nil {
		return fmt.Errorf("write subjects: %w", err)
	}
	return nil
}

// Statements that count do not touch indexed columns.
var (
	countSubject  = `UPDATE memory_subject SET change = $1, memories = $2, bytes = $3, updated_at = $4 WHERE workspace_id = $5 AND subject = $6`
	countSubjects = &Bulk{
		Into: insertSubjects.Into, Columns: 8,
		Rest: `ON CONFLICT (workspace_id, subject) DO UPDATE SET change = excluded.change, memories = excluded.memories,
			bytes = excluded.bytes, updated_at = excluded.updated_at`,
	}
)

// SaveMemorySubjectCounts implements memory.Store.
func (s *memorySubjects) SaveMemorySubjectCounts(ctx context.Context, workspaceID string, subjects []*memory.SubjectRow) (err error) {
	if len(subjects) == 1 {
		sub := subjects[0]
		_, err = s.main.In(ctx).Exec(ctx, countSubject, sub.Change, sub.Memories, sub.Bytes, Micros(sub.UpdatedAt), workspaceID, sub.Hash[:])
	} else {
		_, err = s.main.Insert(ctx, countSubjects, len(subjects), func(i int, values []any) []any {
			sub := subjects[i]
			return append(values, workspaceID, sub.Hash[:], sub.Generation, sub.Change, sub.Memories, sub.Bytes, Micros(sub.CreatedAt), Micros(sub.UpdatedAt))
		})
	}
	if err != nil {
		return fmt.Errorf("count memories of subjects: %w", err)
	}
	return nil
}

// ListMemorySubjects implements memory.Store.
func (s *memorySubjects) ListMemorySubjects(ctx context.Context, workspaceID string, visibility memory.Visibility, after *memory.SubjectPosition, now time.Time, limit int) ([]*memory.SubjectRow, error) {
	var c Conditions
	c.Where(`s.workspace_id = ?`, workspaceID)
	c.Where(`s.sealed_id IS NOT NULL`)
	if visibility.Subject != (memory.Hash{}) {
		c.Where(`s.subject = ?`, hashValue(visibility.Subject))
	}
	at := c.Arg(Micros(now))
	theirs := `m.subject = s.subject AND m.generation = s.generation AND m.workspace_id || '' = s.workspace_id`
	alive := theirs + ` AND ` + UnexpiredMemory + at
	over := theirs + ` AND m.expires_at <= ` + at
	counts := `s.memories - (SELECT count(*) FROM memory m WHERE ` + over + `),
		s.bytes - (SELECT CAST(coalesce(sum(m.size), 0) AS BIGINT) FROM memory m WHERE ` + over + `)`
	if visibility.Agent != (memory.Hash{}) {
		alive += ` AND ` + unindexed(`m.agent`) + ` = ` + c.Arg(hashValue(visibility.Agent))
		c.Where(`EXISTS (SELECT 1 FROM memory m WHERE ` + alive + `)`)
		counts = `(SELECT count(*) FROM memory m WHERE ` + alive + `),
			(SELECT CAST(coalesce(sum(m.size), 0) AS BIGINT) FROM memory m WHERE ` + alive + `)`
	}
	if after != nil {
		c.Where(`(s.created_at, s.subject) < (?, ?)`, Micros(after.CreatedAt), after.Hash)
	}
	rows, err := s.main.In(ctx).Query(ctx, `
		SELECT `+SubjectColumns+`, `+counts+`,
			(SELECT m.at FROM memory m WHERE `+alive+` ORDER BY m.at LIMIT 1),
			(SELECT m.at FROM memory m WHERE `+alive+` ORDER BY m.at DESC LIMIT 1)
		FROM memory_subject s WHERE `+c.String()+` ORDER BY s.created_at DESC, s.subject DESC LIMIT `+c.Arg(limit), c.Args...)
	if err != nil {
		return nil, fmt.Errorf("list subjects: %w", err)
	}
	defer rows.Close()
	var list []*memory.SubjectRow
	for rows.Next() {
		var memories, bytes int64
		var first, last *int64
		sub, err := scanSubject(rows, &memories, &bytes, &first, &last)
		if err != nil {
			return nil, fmt.Errorf("read subject: %w", err)
		}
		sub.Memories, sub.Bytes, sub.FirstAt, sub.LastAt = memories, bytes, maybeTime(first), maybeTime(last)
		list = append(list, sub)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list subjects: %w", err)
	}
	return list, nil
}
