package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

// Portable is a memory with its history, as it is exported and imported.
type Portable struct {
	Memory *Memory
	// History has the older revisions, oldest first. An import ignores what they share with Memory: ID, names, CreatedAt,
	// CreatedBy and ImportedBy.
	History []*Memory
}

// Exporter exports the memories of a subject.
type Exporter struct {
	store    rowStore
	opener   *opener
	subjects *SubjectReader
	lookup   Lookup
	log      accessLog
	now      clock
}

// An export reads exportPage memories at a time, and the older revisions of as many of them as have up to exportRevisions in
// all.
const (
	exportPage      = 500
	exportRevisions = 500
)

// Export reads all memories of a subject with their history, oldest first.
func (e *Exporter) Export(ctx context.Context, p *auth.Principal, subjectID string) (iter.Seq2[*Portable, error], error) {
	subject, err := e.subjects.findFor(ctx, p, audit.MemoryExported, subjectID)
	if err != nil {
		return nil, err
	}
	f := newRowFilter(e.lookup, p, subject.SubjectID, "", "")
	f.OldestFirst, f.Now, f.Limit = true, e.now(), exportPage
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
			for len(page) > 0 {
				n := fewRevisions(page)
				if err := e.addHistories(ctx, p, page[:n]); err != nil {
					yield(nil, fmt.Errorf("export memories: %w", err))
					return
				}
				for _, m := range page[:n] {
					if !yield(m, nil) {
						return
					}
				}
				clear(page[:n]) // so that they are not kept in memory
				page = page[n:]
			}
			if last {
				return
			}
		}
	}, nil
}

// fewRevisions returns how many memories from the first have up to exportRevisions older revisions, at least one.
func fewRevisions(page []*Portable) (n int) {
	revisions := int64(0)
	for n < len(page) {
		revisions += min(page[n].Memory.Revision, maxRevisions) - 1
		if n > 0 && revisions > exportRevisions {
			break
		}
		n++
	}
	return n
}

// page reads the next page of a list without histories and moves the filter after it.
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
	for _, m := range current {
		page = append(page, &Portable{Memory: m})
	}
	return page, len(rows) < f.Limit, nil
}

// addHistories reads the older revisions of memories, oldest first.
func (e *Exporter) addHistories(ctx context.Context, p *auth.Principal, memories []*Portable) error {
	var ids []string
	byID := map[string]*Portable{}
	for _, m := range memories {
		if m.Memory.Revision > 1 {
			ids = append(ids, m.Memory.ID)
			byID[m.Memory.ID] = m
		}
	}
	if len(ids) == 0 {
		return nil
	}
	rows, err := e.store.MemoryRevisions(ctx, p.WorkspaceID, ids, 0, 0)
	if err != nil {
		return err
	}
	revisions, err := e.opener.memories(ctx, p.WorkspaceID, rows)
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(revisions) { // the store returns the newest first
		// If a memory was changed since it was read, its revision is now an older one, too.
		if line := byID[m.ID]; m.Revision < line.Memory.Revision && visible(p, m) {
			line.History = append(line.History, m)
		}
	}
	return nil
}
