package memory

import (
	"context"
	"fmt"
	"slices"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/problem"
	"keepsake/internal/revision"
)

// Delete erases one memory with its history.
func (s *Service) Delete(ctx context.Context, p *auth.Principal, id string, ifRevision revision.Expected) error {
	row, m, err := s.find(ctx, p, id)
	if err != nil {
		return err
	}
	err = s.o.Units.Run(ctx, func(ctx context.Context) error {
		held, err := s.hold(ctx, p.WorkspaceID, row.Subject)
		if err != nil {
			return err
		}
		// Held, and read again: what has come in between counts.
		there, err := s.o.Store.Memory(ctx, p.WorkspaceID, id, s.reach(p), s.o.Now())
		if err != nil {
			return err
		}
		if !ifRevision.Allows(there.Revision) {
			return problem.RevisionMismatch()
		}
		return s.erase(ctx, p, m.SubjectID, held, []*Row{there}, audit.MemoryErasedOne)
	})
	if err != nil {
		return fmt.Errorf("erase memory: %w", err)
	}
	return nil
}

// hold keeps the row of one subject from others until the unit ends.
func (s *Service) hold(ctx context.Context, workspaceID string, subject Hash) (*Subject, error) {
	held, err := s.o.Store.HoldMemorySubjects(ctx, workspaceID, []Hash{subject}, s.now())
	if err != nil {
		return nil, err
	}
	return held[0], nil
}

// eraseAtOnce is how many memories are erased by statements that belong together.
const eraseAtOnce = 1000

// erase removes memories of one subject, whose row the unit holds, and logs that.
func (s *Service) erase(ctx context.Context, p *auth.Principal, subjectID string, held *Subject, rows []*Row, action audit.Action) error {
	if len(rows) == 0 {
		return nil
	}
	now := s.now()
	held.Change++
	held.UpdatedAt = now
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
		held.Memories--
		held.Bytes -= r.Size
	}
	if err := s.o.Store.AddMemoryCount(ctx, p.WorkspaceID, -int64(len(rows))); err != nil { // before the rows, as a write does
		return err
	}
	for some := range slices.Chunk(ids, eraseAtOnce) {
		if err := s.o.Store.EraseMemories(ctx, p.WorkspaceID, held.Hash, some, held.Change, now); err != nil {
			return err
		}
		for _, e := range s.entries(p, action, subjectID, some) {
			if err := s.o.Audit.Record(ctx, e); err != nil {
				return err
			}
		}
	}
	if err := s.o.Store.CountMemorySubjects(ctx, p.WorkspaceID, []*Subject{held}); err != nil {
		return err
	}
	if action == audit.MemoryExpired { // a backup that brings it back brings its end back, too
		return s.o.Journal.MemoriesExpired(ctx, p.WorkspaceID, held.Hash)
	}
	return s.o.Journal.MemoriesErased(ctx, p.WorkspaceID, held.Hash, ids, now)
}
