package document

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/base/coalesce"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/event"
)

// Options is what a Service needs.
type Options struct {
	Store Store
	Units unit.Runner
	// Events records imports and deletions; nil for no events.
	Events event.Recorder
	// Max returns how many documents a workspace can have, and MaxBytes how many bytes it can store; nil
	// is no limit.
	Max      func(workspaceID string) *int64
	MaxBytes func(workspaceID string) *int64
	// Changed is called after a change is committed. number is 0 if only the store knows it.
	Changed func(workspaceID string, number int64)
	// Stored is called with the documents of a chunk of an import, and the mark of its transaction, after it is committed. Changed follows
	// for several chunks together.
	Stored func(workspaceID string, documents []*Document, mark int64)
	// Pace, if not nil, makes an import wait until the index has a change, so that the next search does not wait for it. It
	// returns in bounded time. After an error, the import continues without it.
	Pace func(ctx context.Context, workspaceID string, number int64) error
	// Background, if not nil, runs the transaction of a part of an import when the machine has time for it.
	Background func(ctx context.Context, piece func() error) error
	// Together lets single writes of a workspace that arrive while a transaction is running share the next one. It is for a
	// store whose transactions wait for each other with a connection each.
	Together bool
	Now      func() time.Time
	// NewID generates the ID of a document, doc_….
	NewID func() string
	// RowKey is the key of the IDs of lines without one. It must move with the documents.
	RowKey []byte
}

// Service stores documents according to their rules. It is safe for concurrent use.
type Service struct {
	o       Options
	batches *coalesce.Batcher[*single]
}

// NewService returns a Service.
func NewService(o Options) *Service {
	if o.Events == nil {
		o.Events = event.Discard{}
	}
	s := &Service{o: o}
	s.batches = s.newBatcher()
	return s
}

// Condition is the condition of a write. The zero value is always true.
type Condition struct {
	Exists      bool              // the document must exist
	Absent      bool              // the document must not exist
	Revision    revision.Expected // the stored revision must be one of these
	NotRevision revision.Expected // the stored revision must be none of these
}

// Put creates or replaces a document. A Condition that is false is a problem.Mismatch.
func (s *Service) Put(ctx context.Context, workspaceID, id string, f Fields, c Condition) (d *Document, created bool, err error) {
	if !ValidID(id) {
		return nil, false, errBadID
	}
	if err := f.check(); err != nil {
		return nil, false, err
	}
	return s.write(ctx, workspaceID, id, f, Put{
		Exists: c.Exists, Absent: c.Absent, IfRevision: c.Revision, IfNotRevision: c.NotRevision,
	})
}

// Create adds a document and generates an empty ID. An existing ID is a problem.Conflict.
func (s *Service) Create(ctx context.Context, workspaceID, id string, f Fields) (*Document, error) {
	if id == "" {
		id = s.o.NewID()
	} else if !ValidID(id) {
		return nil, errBadID
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	d, _, err := s.write(ctx, workspaceID, id, f, Put{CreateOnly: true})
	return d, err
}

// write stores a document.
func (s *Service) write(ctx context.Context, workspaceID, id string, f Fields, put Put) (d *Document, created bool, err error) {
	put.Max, put.MaxBytes = s.o.Max(workspaceID), s.o.MaxBytes(workspaceID)
	if s.o.Together && !unit.Running(ctx) {
		d, created, err = s.writeTogether(ctx, workspaceID, id, f, put)
	} else {
		d, created, err = s.writeAlone(ctx, workspaceID, id, f, put)
	}
	if err != nil {
		return nil, false, fmt.Errorf("write document: %w", err)
	}
	return d, created, nil
}

// writeAlone stores a document in a transaction of its own, or in that of ctx.
func (s *Service) writeAlone(ctx context.Context, workspaceID, id string, f Fields, put Put) (d *Document, created bool, err error) {
	err = s.o.Units.Run(ctx, func(ctx context.Context) (err error) {
		d = f.document(id, s.now())
		if created, err = s.o.Store.PutDocument(ctx, workspaceID, d, put); err != nil {
			return err
		}
		// The number is set when the transaction commits, which can be that of a caller.
		stored := d
		unit.AfterCommit(ctx, func() { s.o.Changed(workspaceID, stored.Change) })
		return nil
	})
	return d, created, err
}

// Document reads a document.
func (s *Service) Document(ctx context.Context, workspaceID, id string) (*Document, error) {
	if !ValidID(id) {
		return nil, problem.Missing()
	}
	d, err := s.o.Store.Document(ctx, workspaceID, id)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return d, nil
}

// Delete removes a document if ifRevision allows the stored revision.
func (s *Service) Delete(ctx context.Context, workspaceID, id string, ifRevision revision.Expected) error {
	if !ValidID(id) {
		return problem.Missing()
	}
	err := s.o.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.o.Store.DeleteDocument(ctx, workspaceID, id, ifRevision); err != nil {
			return err
		}
		unit.AfterCommit(ctx, func() { s.o.Changed(workspaceID, 0) })
		return s.o.Events.Record(ctx, event.Many(event.DocumentDeleted, workspaceID, []event.Item{{ID: id}}))
	})
	if err != nil {
		return fmt.Errorf("delete document: %w", err)
	}
	return nil
}

// itemsOf names documents in an event.
func itemsOf(documents []*Document) []event.Item {
	items := make([]event.Item, len(documents))
	for i, d := range documents {
		items[i] = event.Item{ID: d.ID, Revision: d.Revision}
	}
	return items
}

// now returns the current time as it is stored, so that a response is equal to what is read later.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }

var errBadID = problem.Validation("id", problem.Format,
	"id must begin with a letter or digit and have at most 128 letters, digits and . _ : -")
