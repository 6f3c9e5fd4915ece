package store

import (
	"context"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/memory"
)

// Restore repeats the erasures that happened after a backup.
type Restore struct {
	main     *DB
	memories *Memories
	answers  *Idempotency
	keys     *SubjectKeys
}

// EraseAgain ends the generations of a subject up to one that have not ended, and reports whether there were any. With all, it
// also ends later ones. FinishErasures does the rest.
func (s *Restore) EraseAgain(ctx context.Context, workspaceID string, subject [16]byte, generation int64, all bool, at time.Time) (again bool, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) error {
		held, err := s.memories.LockMemorySubjects(ctx, workspaceID, []memory.Hash{subject}, at)
		if err != nil {
			return err
		}
		row := held[0]
		upTo := generation
		if all {
			upTo = max(generation, row.Generation)
		}
		if again = row.Generation <= upTo; !again {
			return nil
		}
		e := &memory.Erasure{
			ID: id.New("ers"), WorkspaceID: workspaceID, Subject: subject, Generation: upTo, Change: row.Change + 1,
			Memories: row.Memories, BeganAt: at,
		}
		row.Generation, row.Change = upTo+1, e.Change
		row.SealedID, row.Memories, row.Bytes = nil, 0, 0
		row.UpdatedAt, row.ErasedAt = at, &at
		if err := s.memories.SaveMemorySubjects(ctx, workspaceID, []*memory.SubjectRow{row}); err != nil {
			return err
		}
		if err := s.memories.DeleteMemoryPlans(ctx, workspaceID, subject, generation); err != nil {
			return err
		}
		if err := s.answers.DropAnswers(ctx, workspaceID, subject); err != nil {
			return err
		}
		if err := s.memories.AddMemoryCount(ctx, workspaceID, -e.Memories); err != nil {
			return err
		}
		return s.memories.BeginErasure(ctx, e)
	})
	return again, err
}

// ForgetAgain erases memories of a subject, returns how many still existed, and adds tombstones for all of them.
func (s *Restore) ForgetAgain(ctx context.Context, workspaceID string, subject [16]byte, ids []string, at time.Time) (n int, err error) {
	err = s.main.Run(ctx, func(ctx context.Context) error {
		held, err := s.memories.LockMemorySubjects(ctx, workspaceID, []memory.Hash{subject}, at)
		if err != nil {
			return err
		}
		rows, err := s.memories.MemoriesByID(ctx, workspaceID, ids)
		if err != nil {
			return err
		}
		row := held[0]
		row.Change++
		n = 0
		for _, r := range rows {
			if r.Subject == subject {
				row.Memories--
				row.Bytes -= r.Size
				n++
			}
		}
		if err := s.memories.EraseMemories(ctx, workspaceID, subject, ids, row.Change, at); err != nil {
			return err
		}
		if err := s.memories.SaveMemorySubjects(ctx, workspaceID, held); err != nil {
			return err
		}
		if err := s.answers.DropAnswers(ctx, workspaceID, subject); err != nil {
			return err
		}
		return s.memories.AddMemoryCount(ctx, workspaceID, -int64(n))
	})
	return n, err
}

// FinishErasures completes all erasures that have begun.
func (s *Restore) FinishErasures(ctx context.Context, at time.Time) error {
	all, err := s.memories.Erasures(ctx)
	if err != nil {
		return err
	}
	const atOnce = 1000
	for _, e := range all {
		if err := s.keys.DestroySubjectKeys(ctx, e.WorkspaceID, e.Subject, e.Generation, at); err != nil {
			return err
		}
		for left := true; left; {
			err := s.main.Run(ctx, func(ctx context.Context) error {
				n, err := s.memories.EraseDeadMemories(ctx, e, atOnce, at)
				left = n >= atOnce
				return err
			})
			if err != nil {
				return err
			}
		}
		if err := s.main.Run(ctx, func(ctx context.Context) error { return s.memories.EndErasure(ctx, e) }); err != nil {
			return err
		}
	}
	return nil
}
