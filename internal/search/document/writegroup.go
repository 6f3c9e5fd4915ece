package document

import (
	"context"

	"keepsake/internal/base/coalesce"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
)

// Transactions of one workspace run one after the other. If each write had its own, many of them would be as slow as the disk
// and would hold the connections that other workspaces need. So writes that wait share the next transaction.

// The limits of a transaction that single writes share.
const (
	maxGroup      = 64
	maxGroupBytes = 1 << 20
)

// single is a write that shares a transaction, and its outcome.
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
		Calls: maxGroup, Bytes: maxGroupBytes, Run: s.writeGroup,
		Size: func(w *single) int { return len(w.fields.Title) + len(w.fields.Text) },
		Shared: func(err error) bool {
			p, ok := problem.As(err)
			return ok && p.Kind == problem.Unavailable
		},
	})
}

// writeTogether stores a document in a transaction that it can share.
func (s *Service) writeTogether(ctx context.Context, workspaceID, id string, f Fields, put Put) (*Document, bool, error) {
	w := &single{id: id, fields: f, put: put}
	if err := s.batches.Do(ctx, workspaceID, w); err != nil {
		return nil, false, problem.Busy(err)
	}
	return w.written, w.created, w.refused
}

func (s *Service) writeGroup(ctx context.Context, workspaceID string, singles []*single) error {
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
