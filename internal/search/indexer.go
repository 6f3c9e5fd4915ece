package search

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"keepsake/internal/document"
)

// Source is where an index gets its documents from; document.Store implements it.
type Source interface {
	Documents(ctx context.Context, workspaceID string, ids []string) ([]document.Document, error)
	DocumentChanges(ctx context.Context, workspaceID string, after int64, limit int) ([]document.Change, error)
	DocumentChange(ctx context.Context, workspaceID string) (int64, error)
	ChangedWorkspaces(ctx context.Context) (map[string]int64, error)
}

// IndexerOptions is what an Indexer needs.
type IndexerOptions struct {
	Dir     string // one folder a workspace below it; made when absent
	Source  Source
	Log     *slog.Logger
	Now     func() time.Time
	MaxOpen int           // indexes kept open at once; 0: 64
	Wait    time.Duration // how long a search waits for its workspace's index to catch up; 0: 2 s
}

// Indexer keeps one index a workspace in step with the documents.
type Indexer struct {
	o IndexerOptions
}

// Stats is what cache-stats tells of the open indexes.
type Stats struct {
	Entries   int64 // indexes open
	Capacity  int64
	Bytes     int64 // on disk
	Hits      int64
	Misses    int64
	Evictions int64
}

var errTodo = errors.New("todo")

// NewIndexer makes an Indexer; nothing is opened before Run or a search asks.
func NewIndexer(o IndexerOptions) *Indexer { return &Indexer{o: o} }

// Run brings every index up to date and then follows the changes, until ctx ends. It is to be called once.
func (x *Indexer) Run(ctx context.Context) error { return errTodo }

// Close closes the indexes. After Run has returned.
func (x *Indexer) Close() error { return nil }

// Notify says that a workspace's documents have reached a change; 0 means that only the store knows which.
func (x *Indexer) Notify(workspaceID string, change int64) {}

// Stats tells how the open indexes are doing.
func (x *Indexer) Stats() Stats { return Stats{} }

// Lag is how many changes are known but not yet in an index, over all workspaces.
func (x *Indexer) Lag() int64 { return 0 }
