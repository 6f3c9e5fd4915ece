package document

import (
	"context"

	"keepsake/internal/coalesce"
	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// Writers of one workspace follow each other, from the first change to the commit. Where each has a unit of its own, a
// crowd of them is as slow as the disk, and holds the connections that writers of other workspaces wait for. So they share
// units.

// Bounds of a unit that is shared: nobody in it waits for long, and it stays small in memory.
const (
	togetherWrites = 64
	togetherBytes  = 1 << 20
)

// single is a document that is written with others, and what became of it.
type single struct {
	id     string
	fields Fields
	put    Put

	written *Document
	created bool
	refused error
}

func (s *Service) newBatcher() *coalesce.Batcher[*single] {
	return coalesce.New(coalesce.Options[*single]{
		Calls: togetherWrites, Bytes: togetherBytes, Run: s.putTogether,
		Size: func(w *single) int { return len(w.fields.Title) + len(w.fields.Text) },
		Shared: func(err error) bool {
			p, known := problem.As(err)
			return known && p.Kind == problem.Unavailable
		},
	})
}

// writeTogether stores one document in a unit that it may share.
func (s *Service) writeTogether(ctx context.Context, workspaceID, id string, f Fields, put Put) (*Document, bool, error) {
	w := &single{id: id, fields: f, put: put}
	if err := s.batches.Do(ctx, workspaceID, w); err != nil {
		return nil, false, problem.Busy(err)
	}
	return w.written, w.created, w.refused
}

func (s *Service) putTogether(ctx context.Context, workspaceID string, singles []*single) error {
	return s.o.Units.Run(ctx, func(ctx context.Context) error {
		writes := make([]Write, len(singles))
		now := s.now()
		for i, w := range singles {
			writes[i] = Write{Document: w.fields.document(w.id, now), Put: w.put}
		}
		written, err := s.o.Store.PutDocuments(ctx, workspaceID, writes)
		if err != nil {
			return err
		}
		last := int64(0)
		for i, w := range singles {
			w.written, w.created, w.refused = writes[i].Document, written[i].Created, written[i].Refused
			if w.refused == nil {
				last = writes[i].Document.Change
			}
		}
		if last > 0 {
			unit.AfterCommit(ctx, func() { s.o.Changed(workspaceID, last) })
		}
		return nil
	})
}
