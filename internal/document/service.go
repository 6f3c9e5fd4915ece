package document

import (
	"context"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/problem"
	"keepsake/internal/unit"
)

// Options is what a Service needs.
type Options struct {
	Store Store
	Units unit.Runner
	// Max is how many documents a workspace may hold, 0 for no limit.
	Max func(workspaceID string) int64
	// Changed hears of a committed change of a workspace's documents; number is 0 where only the store knows it.
	Changed func(workspaceID string, number int64)
	Now     func() time.Time
	// NewID makes the id of a document whose client chose none: doc_….
	NewID func() string
}

// Service holds the rules of documents. All of it is safe for concurrent use.
type Service struct {
	Options
}

// NewService makes a Service.
func NewService(o Options) *Service { return &Service{Options: o} }

var errTodo = errors.New("todo")

// Condition is what must hold for a document to be replaced. The zero value asks for nothing.
type Condition struct {
	Exists   bool   // there must be one
	Revision *int64 // the stored revision must be this
}

// Put creates the document with this id or replaces it; created says which. A Condition that does not hold is a
// problem.Mismatch.
func (s *Service) Put(ctx context.Context, workspaceID, id string, f Fields, c Condition) (d *Document, created bool, err error) {
	return nil, false, errTodo
}

// Create adds a document; an empty id is made. An id that exists is a problem.Conflict.
func (s *Service) Create(ctx context.Context, workspaceID, id string, f Fields) (*Document, error) {
	return nil, errTodo
}

// Document reads one; problem.Missing where there is none.
func (s *Service) Document(ctx context.Context, workspaceID, id string) (*Document, error) {
	if !ValidID(id) {
		return nil, problem.Missing()
	}
	d, err := s.Store.Document(ctx, workspaceID, id)
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	return d, nil
}

// Delete removes one; ifRevision, when given, must be the stored revision.
func (s *Service) Delete(ctx context.Context, workspaceID, id string, ifRevision *int64) error {
	return errTodo
}

// List reads documents by id, rising, at most f.Limit.
func (s *Service) List(ctx context.Context, workspaceID string, f Filter) ([]Document, error) {
	return nil, errTodo
}
