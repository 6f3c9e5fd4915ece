package memory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// Eraser erases single memories.
type Eraser struct {
	store  rowStore
	units  unit.Runner
	reader *Reader
	rows   *rowEraser
	lookup Lookup
	now    clock
}

// Delete erases a memory with its history, if ifRevision allows the current revision.
func (e *Eraser) Delete(ctx context.Context, p *auth.Principal, id string, ifRevision revision.Expected) error {
	row, m, err := e.reader.find(ctx, p, id)
	if err != nil {
		return err
	}
	err = e.units.Run(ctx, func(ctx context.Context) error {
		subject, err := e.rows.lock(ctx, p.WorkspaceID, row.Subject)
		if err != nil {
			return err
		}
		current, err := e.store.Memory(ctx, p.WorkspaceID, id, visibilityOf(e.lookup, p), e.now())
		if err != nil {
			return err
		}
		if !ifRevision.Allows(current.Revision) {
			return problem.RevisionMismatch()
		}
		return e.rows.erase(ctx, p, m.SubjectID, subject, []*Row{current}, audit.MemoryErasedOne, e.rows.events.forgotten)
	})
	if err != nil {
		return fmt.Errorf("erase memory: %w", err)
	}
	return nil
}

// rowEraser erases memories of one subject in a transaction.
type rowEraser struct {
	store interface {
		subjectLocker
		eraseStore
		countStore
	}
	log     accessLog
	events  eventLog
	journal Journal
	now     clock
}

// eraseStore erases memories.
type eraseStore interface {
	// EraseMemories removes memories of one subject with their older revisions, overwrites their own keys, and adds tombstones
	// with the number of a change.
	EraseMemories(ctx context.Context, workspaceID string, subject Hash, ids []string, change int64, at time.Time) error
}

// eraseChunk is the maximum number of memories that one statement erases.
const eraseChunk = 1000

// lock locks the row of a subject until the transaction ends.
func (e *rowEraser) lock(ctx context.Context, workspaceID string, subject Hash) (*SubjectRow, error) {
	rows, err := e.store.LockMemorySubjects(ctx, workspaceID, []Hash{subject}, e.now.stored())
	if err != nil {
		return nil, err
	}
	return rows[0], nil
}

// erase erases memories of a subject whose row is locked, and records and tells the action.
func (e *rowEraser) erase(ctx context.Context, p *auth.Principal, subjectID string, subject *SubjectRow, rows []*Row, action audit.Action, tell reportErased) error {
	if len(rows) == 0 {
		return nil
	}
	now := e.now.stored()
	subject.Change++
	subject.UpdatedAt = now
	ids := make([]string, len(rows))
	for i, r := range rows {
		ids[i] = r.ID
		subject.Memories--
		subject.Bytes -= r.Size
	}
	if err := e.store.AddMemoryCount(ctx, p.WorkspaceID, -int64(len(rows))); err != nil { // before the rows, which lock the count of bytes
		return err
	}
	for chunk := range slices.Chunk(ids, eraseChunk) {
		if err := e.store.EraseMemories(ctx, p.WorkspaceID, subject.Hash, chunk, subject.Change, now); err != nil {
			return err
		}
		if err := e.log.record(ctx, e.log.entries(p, action, subjectID, chunk)...); err != nil {
			return err
		}
	}
	if err := e.store.SaveMemorySubjectCounts(ctx, p.WorkspaceID, []*SubjectRow{subject}); err != nil {
		return err
	}
	if err := tell(ctx, p.WorkspaceID, rows); err != nil {
		return err
	}
	if action == audit.MemoryExpired {
		return e.journal.MemoriesExpired(ctx, p.WorkspaceID, subject.Hash)
	}
	return e.journal.MemoriesErased(ctx, p.WorkspaceID, subject.Hash, ids, now)
}
