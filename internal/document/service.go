package document

import (
	"context"
	"fmt"
	"time"

	"keepsake/internal/coalesce"
	"keepsake/internal/problem"
	"keepsake/internal/revision"
	"keepsake/internal/unit"
)

// Options is what a Service needs.
type Options struct {
	Store Store
	Units unit.Runner
	// Max is how many documents a workspace may hold, 0 for no limit, and MaxBytes how many bytes it may store, nil for no
	// limit.
	Max      func(workspaceID string) int64
	MaxBytes func(workspaceID string) *int64
	// Changed hears of a committed change of a workspace's documents; number is 0 where only the store knows it.
	Changed func(workspaceID string, number int64)
	// Pace holds an import back while the index is too far behind it, so that what was imported is found by the next
	// search instead of keeping it waiting. It returns in bounded time, with an error where the index does not follow;
	// the import then goes on without it. May be nil.
	Pace func(ctx context.Context, workspaceID string) error
	// Together has single writes of a workspace that come while one is under way share the next unit. It is for a store
	// whose units wait for each other's workspace and hold a connection meanwhile.
	Together bool
	Now      func() time.Time
	// NewID makes the id of a document whose client chose none: doc_….
	NewID func() string
}

// Service holds the rules of documents. All of it is safe for concurrent use.
type Service struct {
	o       Options
	batches *coalesce.Batcher[*single]
}

// NewService makes a Service.
func NewService(o Options) *Service {
	s := &Service{o: o}
	s.batches = s.newBatcher()
	return s
}

// Condition is what must hold for a document to be replaced. The zero value asks for nothing.
type Condition struct {
	Exists      bool              // there must be one
	Absent      bool              // there must be none
	Revision    revision.Expected // the stored revision must be one of these
	NotRevision revision.Expected // the stored revision must be none of these
}

// Put creates the document with this id or replaces it; created says which. A Condition that does not hold is a
// problem.Mismatch.
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

// Create adds a document; an empty id is made. An id that exists is a problem.Conflict.
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

// write stores one document.
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

// writeAlone stores one document in a unit of its own, or in the one that ctx carries.
func (s *Service) writeAlone(ctx context.Context, workspaceID, id string, f Fields, put Put) (d *Document, created bool, err error) {
	err = s.o.Units.Run(ctx, func(ctx context.Context) (err error) {
		d = f.document(id, s.now())
		if created, err = s.o.Store.PutDocument(ctx, workspaceID, d, put); err != nil {
			return err
		}
		// The number is set only when the unit commits, which may be that of a caller.
		stored := d
		unit.AfterCommit(ctx, func() { s.o.Changed(workspaceID, stored.Change) })
		return nil
	})
	return d, created, err
}

// Document reads one; problem.Missing where there is none.
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

// Delete removes one; ifRevision must allow the stored revision.
func (s *Service) Delete(ctx context.Context, workspaceID, id string, ifRevision revision.Expected) error {
	if !ValidID(id) {
		return problem.Missing()
	}
	err := s.o.Units.Run(ctx, func(ctx context.Context) error {
		if err := s.o.Store.DeleteDocument(ctx, workspaceID, id, ifRevision); err != nil {
			return err
		}
		unit.AfterCommit(ctx, func() { s.o.Changed(workspaceID, 0) })
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete document: %w", err)
	}
	return nil
}

// List reads documents by id, rising, at most f.Limit.
func (s *Service) List(ctx context.Context, workspaceID string, f Filter) ([]Document, error) {
	list, err := s.o.Store.ListDocuments(ctx, workspaceID, f)
	if err != nil {
		return nil, fmt.Errorf("list documents: %w", err)
	}
	return list, nil
}

// now is the moment as it is kept: what is answered is what is read back.
func (s *Service) now() time.Time { return s.o.Now().UTC().Truncate(time.Millisecond) }

var errBadID = problem.Validation("id", problem.Format,
	"id must begin with a letter or digit and have at most 128 letters, digits and . _ : -")
