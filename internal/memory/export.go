package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/fairshare"
)

// exportPage is how many memories an export reads at a time.
const exportPage = 500

// Export reads all memories of a subject with their history, oldest first.
func (s *Service) Export(ctx context.Context, p *auth.Principal, subjectID string) (iter.Seq2[*Portable, error], error) {
	person, err := s.known(ctx, p, subjectID)
	if err != nil {
		return nil, err
	}
	f := &RowFilter{Reach: s.reach(p), Subject: person.place, Rising: true, Now: s.o.Now(), Limit: exportPage}
	return func(yield func(*Portable, error) bool) {
		for first := true; ; first = false {
			page, last, err := s.portables(ctx, p, f)
			if err == nil && (first || len(page) > 0) {
				ids := make([]string, len(page))
				for i, m := range page {
					ids[i] = m.Memory.ID
				}
				err = s.o.Audit.Read(ctx, s.entries(p, audit.MemoryExported, person.SubjectID, ids)...)
			}
			if err != nil {
				yield(nil, fmt.Errorf("export memories: %w", err))
				return
			}
			for _, m := range page {
				if !yield(m, nil) {
					return
				}
			}
			if last {
				return
			}
		}
	}, nil
}

// portables reads the next page of f with the history of each memory, and moves f behind it.
func (s *Service) portables(ctx context.Context, p *auth.Principal, f *RowFilter) (page []*Portable, last bool, err error) {
	rows, err := s.o.Store.ListMemories(ctx, p.WorkspaceID, f)
	if err != nil || len(rows) == 0 {
		return nil, true, err
	}
	f.Beyond = &Position{At: rows[len(rows)-1].At, ID: rows[len(rows)-1].ID}
	current, err := s.open(ctx, p.WorkspaceID, rows)
	if err != nil {
		return nil, false, err
	}
	older, err := s.historyOf(ctx, p, current)
	if err != nil {
		return nil, false, err
	}
	for _, m := range current {
		page = append(page, &Portable{Memory: m, History: older[m.ID]})
	}
	return page, len(rows) < f.Limit, nil
}

// historyOf reads the older revisions of memories, oldest first.
func (s *Service) historyOf(ctx context.Context, p *auth.Principal, of []*Memory) (map[string][]*Memory, error) {
	var ids []string
	for _, m := range of {
		if m.Revision > 1 {
			ids = append(ids, m.ID)
		}
	}
	older := map[string][]*Memory{}
	if len(ids) == 0 {
		return older, nil
	}
	rows, err := s.o.Store.MemoryRevisions(ctx, p.WorkspaceID, ids, 0, 0)
	if err != nil {
		return nil, err
	}
	opened, err := s.open(ctx, p.WorkspaceID, rows)
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(opened) { // newest first as they are read
		if mine(p, m) {
			older[m.ID] = append(older[m.ID], m)
		}
	}
	return older, nil
}

// walk opens the memories of a list one by one, as steps of a task.
func (s *Service) walk(ctx context.Context, task *fairshare.Task, workspaceID string, f *RowFilter) iter.Seq2[*Memory, error] {
	return func(yield func(*Memory, error) bool) {
		for {
			task.Release()
			rows, err := s.o.Store.ListMemories(ctx, workspaceID, f)
			if err != nil {
				yield(nil, err)
				return
			}
			opened, err := s.open(ctx, workspaceID, rows)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, m := range opened {
				if err := task.Step(len(m.Text)); err != nil {
					yield(nil, err)
					return
				}
				if !yield(m, nil) {
					return
				}
			}
			if len(rows) < f.Limit {
				return
			}
			last := rows[len(rows)-1]
			f.Beyond = &Position{At: last.At, ID: last.ID}
		}
	}
}
