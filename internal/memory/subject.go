package memory

import (
	"context"
	"fmt"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/problem"
)

// Subjects lists subjects by when their first memory came, newest first: an order in which nothing moves while somebody
// reads it.
func (s *Service) Subjects(ctx context.Context, p *auth.Principal, after *PersonPosition, limit int) (list []*Person, more bool, err error) {
	rows, err := s.o.Store.ListMemorySubjects(ctx, p.WorkspaceID, s.reach(p), after, s.o.Now(), limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("list subjects: %w", err)
	}
	if more = len(rows) > limit; more {
		rows = rows[:limit]
	}
	var entries []audit.Entry
	for _, row := range rows {
		person, err := s.person(ctx, p.WorkspaceID, row)
		if err != nil {
			return nil, false, err
		}
		if person == nil {
			continue
		}
		list = append(list, person)
		entries = append(entries, s.entry(p, audit.SubjectListed, person.SubjectID, nil))
	}
	return list, more, s.log(ctx, entries)
}

// Subject reads one.
func (s *Service) Subject(ctx context.Context, p *auth.Principal, id string) (*Person, error) {
	person, err := s.known(ctx, p, id)
	if err != nil {
		return nil, err
	}
	return person, s.o.Audit.Read(ctx, s.entry(p, audit.SubjectRead, person.SubjectID, nil))
}

// known reads a subject without a word to the log.
func (s *Service) known(ctx context.Context, p *auth.Principal, id string) (*Person, error) {
	id, err := subjectNamed(p, id)
	if err != nil {
		return nil, err
	}
	reach := s.reach(p)
	reach.Subject = s.o.Lookup.Subject(p.WorkspaceID, id)
	rows, err := s.o.Store.ListMemorySubjects(ctx, p.WorkspaceID, reach, nil, s.o.Now(), 1)
	if err != nil {
		return nil, fmt.Errorf("read subject: %w", err)
	}
	if len(rows) == 0 {
		return nil, problem.Missing()
	}
	person, err := s.person(ctx, p.WorkspaceID, rows[0])
	if err == nil && person == nil {
		err = problem.Missing()
	}
	return person, err
}

// person opens the name of a subject; nil where its key was destroyed since the row was read.
func (s *Service) person(ctx context.Context, workspaceID string, row *Subject) (*Person, error) {
	name, err := s.openName(ctx, workspaceID, row)
	if err != nil || name == "" {
		return nil, err
	}
	return &Person{
		SubjectID: name, Memories: row.Memories, Bytes: row.Bytes, FirstAt: row.FirstAt, LastAt: row.LastAt,
		CreatedAt: row.CreatedAt, UpdatedAt: row.UpdatedAt, place: row.Hash,
	}, nil
}
