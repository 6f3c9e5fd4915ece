package memory

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// Subject is a person with the statistics of the memories.
type Subject struct {
	SubjectID string
	Memories  int64
	Bytes     int64      // of their texts
	FirstAt   *time.Time // the earliest Memory.At; nil without memories
	LastAt    *time.Time // the latest Memory.At
	CreatedAt time.Time  // of the first memory since the last erasure
	UpdatedAt time.Time
}

// SubjectPosition is the position of a subject in a list.
type SubjectPosition struct {
	CreatedAt time.Time `json:"at"`
	Hash      []byte    `json:"of"`
}

// SubjectReader reads subjects and the access log about them.
type SubjectReader struct {
	store  subjectStore
	opener *opener
	lookup Lookup
	log    accessLog
	now    clock
}

// Subjects lists subjects by CreatedAt, newest first. Nothing moves in this order while a client reads it. The list goes on
// after next, which is nil at its end. A page leaves out subjects whose data key is missing, so it can be short or empty.
func (r *SubjectReader) Subjects(ctx context.Context, p *auth.Principal, after *SubjectPosition, limit int) (list []*Subject, next *SubjectPosition, err error) {
	rows, err := r.store.ListMemorySubjects(ctx, p.WorkspaceID, visibilityOf(r.lookup, p), after, r.now(), limit+1)
	if err != nil {
		return nil, nil, fmt.Errorf("list subjects: %w", err)
	}
	if len(rows) > limit {
		rows = rows[:limit]
		last := rows[limit-1]
		next = &SubjectPosition{CreatedAt: last.CreatedAt, Hash: last.Hash[:]}
	}
	var entries []audit.Entry
	for _, row := range rows {
		subject, err := r.open(ctx, p.WorkspaceID, row)
		if err != nil {
			return nil, nil, err
		}
		if subject == nil {
			continue
		}
		list = append(list, subject)
		entries = append(entries, r.log.entry(p, audit.SubjectListed, subject.SubjectID, nil))
	}
	return list, next, r.log.read(ctx, entries...)
}

// Subject reads a subject.
func (r *SubjectReader) Subject(ctx context.Context, p *auth.Principal, id string) (*Subject, error) {
	subject, err := r.findFor(ctx, p, audit.SubjectRead, id)
	if err != nil {
		return nil, err
	}
	return subject, r.log.read(ctx, r.log.entry(p, audit.SubjectRead, subject.SubjectID, nil))
}

// AccessLog reads at most limit entries about a subject's memories that are older than before, newest first.
func (r *SubjectReader) AccessLog(ctx context.Context, p *auth.Principal, subjectID, before string, limit int) (rows []*audit.Row, more bool, err error) {
	subjectID, err = subjectNamed(p, subjectID)
	if err != nil {
		return nil, false, err
	}
	a := audit.Accesses{WorkspaceID: p.WorkspaceID, SubjectID: subjectID, Before: before, Limit: limit + 1}
	if p.AgentID != "" { // an agent sees its own entries, about subjects that it has memories of
		if _, err := r.find(ctx, p, subjectID); err != nil {
			return nil, false, err
		}
		a.Actor = p.Actor()
	} else {
		row, err := r.store.MemorySubject(ctx, p.WorkspaceID, r.lookup.Subject(p.WorkspaceID, subjectID))
		if err != nil {
			return nil, false, fmt.Errorf("read subject: %w", err)
		}
		if row == nil || len(row.SealedID) == 0 && row.ErasedAt == nil {
			return nil, false, problem.Missing()
		}
	}
	if rows, err = r.log.log.Accesses(ctx, a); err != nil {
		return nil, false, fmt.Errorf("read access log: %w", err)
	}
	if more = len(rows) > limit; more {
		rows = rows[:limit]
	}
	if err := r.log.read(ctx, r.log.entry(p, audit.SubjectAccessLogRead, subjectID, nil)); err != nil {
		return nil, false, err
	}
	return rows, more, nil
}

// findFor reads a subject. If there is none, it writes an entry about the attempt.
func (r *SubjectReader) findFor(ctx context.Context, p *auth.Principal, action audit.Action, id string) (*Subject, error) {
	id, err := subjectNamed(p, id)
	if err != nil {
		return nil, err
	}
	subject, err := r.find(ctx, p, id)
	if missing, ok := problem.As(err); ok && missing.Kind == problem.NotFound {
		entry := r.log.entry(p, action, id, nil)
		entry.Outcome = audit.Failed // so that it does not read as if the person had been seen
		if err := r.log.read(ctx, entry); err != nil {
			return nil, err
		}
	}
	return subject, err
}

// find reads a subject without an entry in the access log.
func (r *SubjectReader) find(ctx context.Context, p *auth.Principal, id string) (*Subject, error) {
	id, err := subjectNamed(p, id)
	if err != nil {
		return nil, err
	}
	visibility := visibilityOf(r.lookup, p)
	visibility.Subject = r.lookup.Subject(p.WorkspaceID, id)
	rows, err := r.store.ListMemorySubjects(ctx, p.WorkspaceID, visibility, nil, r.now(), 1)
	if err != nil {
		return nil, fmt.Errorf("read subject: %w", err)
	}
	if len(rows) == 0 {
		return nil, problem.Missing()
	}
	subject, err := r.open(ctx, p.WorkspaceID, rows[0])
	if err == nil && subject == nil {
		err = problem.Missing()
	}
	return subject, err
}

// open decrypts the ID of a subject. It returns nil if the data key was destroyed after the row was read.
func (r *SubjectReader) open(ctx context.Context, workspaceID string, row *SubjectRow) (*Subject, error) {
	name, err := r.opener.name(ctx, workspaceID, row)
	if err != nil || name == "" {
		return nil, err
	}
	return &Subject{
		SubjectID: name, Memories: row.Memories, Bytes: row.Bytes, FirstAt: row.FirstAt, LastAt: row.LastAt,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt,
	}, nil
}
