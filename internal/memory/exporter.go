package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"keepsake/internal/audit"
	"keepsake/internal/auth"
)

// Portable is a memory with its history, as it is exported and imported.
type Portable struct {
	Memory  *Memory
	History []*Memory // older revisions, oldest first; an import ignores what they share with Memory: ID, names, CreatedAt, CreatedBy
}

// Exporter exports the memories of a subject.
type Exporter struct {
	store    exportStore
	opener   *opener
	subjects *SubjectReader
	lookup   Lookup
	log      accessLog
	now      clock
}

type exportStore interface {
	ListMemories(ctx context.Context, workspaceID string, f *RowFilter) ([]*Row, error)
	MemoryRevisions(ctx context.Context, workspaceID string, ids []string, before int64, limit int) ([]*Row, error)
}

// exportPage is the number of memories that an export reads at a time.
const exportPage = 500

// Export reads all memories of a subject with their history, oldest first.
func (e *Exporter) Export(ctx context.Context, p *auth.Principal, subjectID string) (iter.Seq2[*Portable, error], error) {
	subject, err := e.subjects.find(ctx, p, subjectID)
	if err != nil {
		return nil, err
	}
	f := &RowFilter{Visibility: visibilityOf(e.lookup, p), Subject: subject.hash, OldestFirst: true, Now: e.now(), Limit: exportPage}
	return func(yield func(*Portable, error) bool) {
		for first := true; ; first = false {
			page, last, err := e.page(ctx, p, f)
			if err == nil && (first || len(page) > 0) {
				ids := make([]string, len(page))
				for i, m := range page {
					ids[i] = m.Memory.ID
				}
				err = e.log.read(ctx, e.log.entries(p, audit.MemoryExported, subject.SubjectID, ids)...)
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

// page reads the next page of a list and moves the filter after it.
func (e *Exporter) page(ctx context.Context, p *auth.Principal, f *RowFilter) (page []*Portable, last bool, err error) {
	rows, err := e.store.ListMemories(ctx, p.WorkspaceID, f)
	if err != nil || len(rows) == 0 {
		return nil, true, err
	}
	f.After = &Position{At: rows[len(rows)-1].At, ID: rows[len(rows)-1].ID}
	current, err := e.opener.memories(ctx, p.WorkspaceID, rows)
	if err != nil {
		return nil, false, err
	}
	older, err := e.histories(ctx, p, current)
	if err != nil {
		return nil, false, err
	}
	for _, m := range current {
		page = append(page, &Portable{Memory: m, History: older[m.ID]})
	}
	return page, len(rows) < f.Limit, nil
}

// histories reads the older revisions of memories, oldest first.
func (e *Exporter) histories(ctx context.Context, p *auth.Principal, memories []*Memory) (map[string][]*Memory, error) {
	var ids []string
	current := map[string]int64{}
	for _, m := range memories {
		if m.Revision > 1 {
			ids = append(ids, m.ID)
			current[m.ID] = m.Revision
		}
	}
	older := map[string][]*Memory{}
	if len(ids) == 0 {
		return older, nil
	}
	rows, err := e.store.MemoryRevisions(ctx, p.WorkspaceID, ids, 0, 0)
	if err != nil {
		return nil, err
	}
	revisions, err := e.opener.memories(ctx, p.WorkspaceID, rows)
	if err != nil {
		return nil, err
	}
	for _, m := range slices.Backward(revisions) { // the store returns the newest first
		// If a memory was changed since it was read, its revision is now an older one, too.
		if m.Revision < current[m.ID] && visible(p, m) {
			older[m.ID] = append(older[m.ID], m)
		}
	}
	return older, nil
}
