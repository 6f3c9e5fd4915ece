package document

import (
	"context"
	"fmt"
	"iter"
)

// Selection selects documents.
type Selection struct {
	Collection string       // empty: any
	Tags       []string     // all must match
	Metadata   []Comparison // all must match
}

// filter returns the part of the selection that the store applies.
func (s *Selection) filter() Filter {
	return Filter{Collection: s.Collection, Tags: s.Tags, Sort: ByID}
}

const (
	// readAtOnce is how many documents a transaction reads if not all that it reads are wanted, or more than a page of them.
	readAtOnce = 500
	// maxRead is how many documents are read for a page. A page of a filter that few documents match then has fewer documents.
	maxRead = 20_000
)

// List returns at most limit documents after a position, in the order of sort. next is the position at which the list goes on; nil
// at its end. If the selection compares metadata, the page can have fewer documents although the list goes on.
func (s *Service) List(ctx context.Context, workspaceID string, sel Selection, sort Sort, after *Position, limit int) (list []Document, next *Position, err error) {
	f := sel.filter()
	f.Sort, f.After, f.Limit = sort, after, limit+1 // one more tells whether the list goes on
	if len(sel.Metadata) > 0 {
		f.Limit = max(readAtOnce, f.Limit)
	}
	for read := 0; read < maxRead; read += f.Limit {
		found, err := s.o.Store.ListDocuments(ctx, workspaceID, f)
		if err != nil {
			return nil, nil, fmt.Errorf("list documents: %w", err)
		}
		for i := range found {
			if !matchesAll(found[i].Metadata, sel.Metadata) {
				continue
			}
			if len(list) == limit {
				return list, list[limit-1].position(), nil
			}
			list = append(list, found[i])
		}
		if len(found) < f.Limit {
			return list, nil, nil
		}
		f.After = found[len(found)-1].position()
	}
	return list, f.After, nil
}

func (d *Document) position() *Position { return &Position{ID: d.ID, UpdatedAt: d.UpdatedAt} }

// Export returns the documents of a collection, or all, in the order of their IDs. It reads them in short transactions, so
// documents that change meanwhile are in it as they are when it reaches them.
func (s *Service) Export(ctx context.Context, workspaceID, collection string) iter.Seq2[*Document, error] {
	f := Filter{Collection: collection, Sort: ByID, Limit: exportAtOnce}
	return func(yield func(*Document, error) bool) {
		for {
			found, err := s.o.Store.ListDocuments(ctx, workspaceID, f)
			if err != nil {
				yield(nil, fmt.Errorf("export documents: %w", err))
				return
			}
			for i := range found {
				if !yield(&found[i], nil) {
					return
				}
			}
			if len(found) < f.Limit {
				return
			}
			f.After = found[len(found)-1].position()
		}
	}
}

// exportAtOnce bounds the memory of an export: documents have at most 256 KiB.
const exportAtOnce = 100
