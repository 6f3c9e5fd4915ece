// Package document keeps what search finds.
package document

import (
	"context"
	"time"

	"keepsake/internal/revision"
)

// Document is a text with a title, tags and metadata (decisions.md, F). No protected health information belongs here.
type Document struct {
	ID         string // chosen by the client, or doc_…; unique in a workspace
	Collection string
	Title      string
	Text       string
	URL        string // empty for none
	Tags       []string
	Metadata   map[string]any // string, float64 or bool
	CreatedAt  time.Time
	UpdatedAt  time.Time
	Revision   int64
	Change     int64 // number of the workspace's change that wrote this revision
}

// Change is one step of a workspace's documents: the latest change of one document, in rising order of Number.
type Change struct {
	Number   int64
	ID       string
	Document *Document // nil: deleted
}

// Put says under which condition a document is written.
type Put struct {
	CreateOnly    bool              // an existing id is a conflict
	Exists        bool              // an absent id is a mismatch
	Absent        bool              // an existing id is a mismatch
	IfRevision    revision.Expected // the stored revision must be one of these; absent documents mismatch too
	IfNotRevision revision.Expected // the stored revision must be none of these
	Max           int64             // documents the workspace may hold, 0 for no limit: a new one over it is LimitReached
	MaxBytes      *int64            // bytes the workspace may store, nil for no limit: what would pass it is StorageFull
}

// Write is a document and the condition under which it is written.
type Write struct {
	Document *Document
	Put      Put
}

// Written is what became of a Write.
type Written struct {
	Created bool
	Refused error // the problem for which it was not written; the others were
}

// Filter narrows a list of documents, which is by id, rising.
type Filter struct {
	Collection string
	Tags       []string // all must match
	AfterID    string
	Limit      int
}

// Store keeps documents. Every method answers problem.Missing for an id of another workspace.
type Store interface {
	// PutDocument creates d or replaces the one with its id. It sets d.CreatedAt (of the first revision), d.Revision and
	// d.Change, and says whether it was created. The change number is taken last before the commit, so numbers of one
	// workspace are without gaps and in commit order.
	PutDocument(ctx context.Context, workspaceID string, d *Document, p Put) (created bool, err error)
	// PutDocuments is PutDocument for several in their order, in one unit and on the way to the database together. Those
	// that are refused are told of and the others written.
	PutDocuments(ctx context.Context, workspaceID string, writes []Write) ([]Written, error)
	// Document reads one.
	Document(ctx context.Context, workspaceID, id string) (*Document, error)
	// Documents reads those of ids that exist, in no order.
	Documents(ctx context.Context, workspaceID string, ids []string) ([]Document, error)
	// DeleteDocument removes one if ifRevision allows the stored revision.
	DeleteDocument(ctx context.Context, workspaceID, id string, ifRevision revision.Expected) error
	// ListDocuments reads at most f.Limit.
	ListDocuments(ctx context.Context, workspaceID string, f Filter) ([]Document, error)
	// DocumentChanges reads at most limit changes after a number; an index follows them.
	DocumentChanges(ctx context.Context, workspaceID string, after int64, limit int) ([]Change, error)
	// DocumentChange is the number of the workspace's last change, 0 before the first.
	DocumentChange(ctx context.Context, workspaceID string) (int64, error)
	// ChangedWorkspaces gives the last change number of every workspace that has one.
	ChangedWorkspaces(ctx context.Context) (map[string]int64, error)
}
