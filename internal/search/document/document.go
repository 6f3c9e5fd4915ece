// Package document stores the documents that search finds.
//
// Read document.go (types and the store), validate.go, comparison.go (metadata filters), service.go, writegroup.go (single
// writes that share a transaction), patch.go, list.go, deletion.go and import.go.
package document

import (
	"context"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
)

// Document is a text with a title, tags and metadata (docs/spec/documents.md). It must not contain protected health information.
type Document struct {
	ID         string // set by the client or generated (doc_…); unique within a workspace
	Collection string
	Title      string
	Text       string
	URL        string // empty: none
	Tags       []string
	Metadata   map[string]any // string, float64, bool, or a list ([]any) of these
	Language   string         // a code of text.LanguageOf; empty: the default of the collection, or that of the text itself
	CreatedAt  time.Time      // times are whole milliseconds
	UpdatedAt  time.Time
	Revision   int64
	Change     int64 // number of the change that wrote this revision
}

// Change is the latest change of a document, or of the settings of a collection. Changes of a workspace are read in the order of
// their numbers.
type Change struct {
	Number     int64
	ID         string    // empty for settings
	Document   *Document // nil: deleted
	Collection string    // whose settings were changed or removed; empty for documents
}

// Put contains the conditions and limits of a write.
type Put struct {
	CreateOnly    bool              // an existing document is a conflict
	Exists        bool              // a missing document is a mismatch
	Absent        bool              // an existing document is a mismatch
	IfRevision    revision.Expected // the stored revision must be one of these; a missing document is a mismatch
	IfNotRevision revision.Expected // the stored revision must be none of these
	Max           *int64            // documents that the workspace can have; nil: no limit
	MaxBytes      *int64            // bytes that the workspace can store; nil: no limit
	IfChange      *int64            // a document that changed after this change is ErrRepeated; nil: no condition
}

// ErrRepeated refuses a line whose document the same import has already stored.
var ErrRepeated error = problem.Conflicts("An equal line was already imported.")

// Write is a document with the conditions of its write.
type Write struct {
	Document *Document
	Put      Put
}

// Written is the outcome of a Write.
type Written struct {
	Created bool
	Mark    int64 // of the transaction, see State
	Refused error // the problem because of which it was not written
}

// Filter selects a page of documents.
type Filter struct {
	IDs        []string // at most MaxIDs; nil: any
	Collection string   // empty: any
	Tags       []string // all must match
	Sort       Sort
	After      *Position // nil: from the start
	Limit      int
	Brief      bool // leave Title, Text, URL and Tags empty
}

// MaxIDs is the number of IDs that a Filter can have.
const MaxIDs = 100

// Sort is the order of a list. The ID decides between documents that were changed at the same time.
type Sort string

// The orders.
const (
	ByID   Sort = "id"
	Oldest Sort = "updatedAt"
	Newest Sort = "-updatedAt"
)

// Position is the position of a document in a list.
type Position struct {
	ID        string
	UpdatedAt time.Time
}

// Store stores documents. A document of another workspace is problem.Missing.
type Store interface {
	// PutDocument creates d or replaces the document with its ID. It sets d.CreatedAt (of the first revision), d.Revision and
	// d.Change. Change numbers of a workspace have no gaps and the order of the commits.
	PutDocument(ctx context.Context, workspaceID string, d *Document, p Put) (created bool, err error)
	// PutDocuments does the same for several documents, in one transaction and in their order. A document that is refused
	// does not affect the others.
	PutDocuments(ctx context.Context, workspaceID string, writes []Write) ([]Written, error)
	// Document reads a document.
	Document(ctx context.Context, workspaceID, id string) (*Document, error)
	// Documents reads the existing documents of ids, in any order.
	Documents(ctx context.Context, workspaceID string, ids []string) ([]Document, error)
	// HoldDocuments lets no other transaction change documents of the workspace before the transaction of ctx ends.
	HoldDocuments(ctx context.Context, workspaceID string) error
	// DeleteDocuments removes the existing documents of ids, and returns how many these were.
	DeleteDocuments(ctx context.Context, workspaceID string, ids []string) (int, error)
	// DeleteDocument removes a document if ifRevision allows the stored revision.
	DeleteDocument(ctx context.Context, workspaceID, id string, ifRevision revision.Expected) error
	// ListDocuments reads at most f.Limit documents in the order of f.Sort.
	ListDocuments(ctx context.Context, workspaceID string, f Filter) ([]Document, error)
	// FollowDocuments reads changes for an index, and the state of the documents that has them. It returns ErrLost if the documents did not
	// have the state f.Has.
	FollowDocuments(ctx context.Context, workspaceID string, f Following) ([]Change, State, error)
	// DocumentState returns the state of the documents.
	DocumentState(ctx context.Context, workspaceID string) (State, error)
	// HadDocumentState reports whether the transaction that made a change had a mark. It also returns false if at least 10,000 changes
	// more than there are documents were made since.
	HadDocumentState(ctx context.Context, workspaceID string, had State) (bool, error)
	// DocumentCount returns how many documents a workspace has.
	DocumentCount(ctx context.Context, workspaceID string) (int64, error)
	// ChangedWorkspaces returns the state of the documents of each workspace that has had any.
	ChangedWorkspaces(ctx context.Context) (map[string]State, error)
}
