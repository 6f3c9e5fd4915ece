package search

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/document"
	"keepsake/internal/problem"
	"keepsake/internal/text"
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
	Shared  bool          // other processes change documents, too, and do not say so
	Memory  int64         // bytes that the process can use; 0: no bound
}

// Indexer keeps one index a workspace in step with the documents.
//
// An index is derived: it holds the number of the last change that is in it and is brought from there to the store's.
// An index that cannot be read, or is ahead of the store, is rebuilt. Workspaces take turns with a bounded number of changes
// each, so that a large import delays others by one turn.
type Indexer struct {
	o        IndexerOptions
	analyzer *text.Analyzer
	queue    analysisQueue
	turns    turns

	changes changeReads

	loaded  chan struct{} // closed when it is known which workspaces have documents
	awaited atomic.Int64  // indexes that have not been up to date since the start
	mu      sync.Mutex
	folders map[string]*folder
	open    []*folder

	uses, hits, misses, evictions atomic.Int64
}

// NewIndexer makes an Indexer; nothing is opened before Run or a search asks.
func NewIndexer(o IndexerOptions) *Indexer {
	if o.MaxOpen == 0 {
		o.MaxOpen = 64
	}
	if o.Wait == 0 {
		o.Wait = 2 * time.Second
	}
	return &Indexer{
		o: o, analyzer: text.NewAnalyzer(), turns: newTurns(),
		changes: newChangeReads(o.Wait, o.Source.DocumentChange),
		loaded:  make(chan struct{}), folders: map[string]*folder{},
	}
}

// Run brings every index up to date and then follows the changes, until ctx ends. It is to be called once.
func (x *Indexer) Run(ctx context.Context) error {
	if err := os.MkdirAll(x.o.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of indexes: %w", err)
	}
	var away outage
	for err := x.load(ctx); err != nil; err = x.load(ctx) {
		switch again := away.wait(ctx, x.o.Log, err); {
		case ctx.Err() != nil:
			return nil // it is stopped before it has begun
		case !again:
			return err
		}
	}
	if x.o.Shared {
		var looking sync.WaitGroup
		defer looking.Wait()
		looking.Go(func() { x.lookAround(ctx) })
	}
	for {
		f, ok := x.turns.next(ctx)
		if !ok {
			return nil
		}
		again, err := x.catchUp(ctx, f)
		if err == nil {
			away.end(x.o.Log)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			f.fail()
			if away.wait(ctx, x.o.Log, err) {
				x.turns.add(f)
				continue
			}
			x.o.Log.Error("index documents", "workspace", f.workspaceID, "error", err)
			time.AfterFunc(time.Second, func() { x.turns.add(f) })
		case again:
			x.turns.add(f)
		case f.awaited:
			f.awaited = false
			x.awaited.Add(-1)
		}
	}
}

// outage is a time in which the documents cannot be read. It is logged once, not for each workspace and second.
type outage struct{ on bool }

// wait waits a second where err says that it is the source that cannot be reached; else it reports false at once.
func (o *outage) wait(ctx context.Context, log *slog.Logger, err error) bool {
	p, ok := problem.As(err)
	if !ok || p.Kind != problem.Unavailable || p.Message == errBehind.Message { // that one is the index's own
		return false
	}
	if !o.on && ctx.Err() == nil {
		o.on = true
		log.Warn("reading documents to index failed; retrying every second", "error", err)
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(time.Second):
		return true
	}
}

func (o *outage) end(log *slog.Logger) {
	if o.on {
		o.on = false
		log.Info("documents are indexed again")
	}
}

// load reads which workspaces have documents. Workspaces without requests wait until the others are done.
func (x *Indexer) load(ctx context.Context) error {
	changed, err := x.o.Source.ChangedWorkspaces(ctx)
	if err != nil {
		return fmt.Errorf("list workspaces with documents: %w", err)
	}
	for workspaceID, change := range changed {
		f := x.folder(workspaceID)
		f.raise(change)
		f.awaited = true
		x.turns.addLater(f)
	}
	x.awaited.Store(int64(len(changed)))
	close(x.loaded)
	return nil
}

// Notify says that a workspace's documents have reached a change; 0 means that only the store knows which.
func (x *Indexer) Notify(workspaceID string, change int64) {
	f := x.folder(workspaceID)
	if change == 0 {
		f.asked.Add(1)
	} else {
		f.raise(change)
	}
	x.turns.add(f)
}

// folder gives the place of a workspace's index.
func (x *Indexer) folder(workspaceID string) *folder {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.folders[workspaceID]
	if f == nil {
		f = &folder{workspaceID: workspaceID, dir: filepath.Join(x.o.Dir, workspaceID), moved: make(chan struct{}), batch: firstBatch}
		f.position.Store(unknown)
		x.folders[workspaceID] = f
	}
	return f
}

// Close closes the indexes. After Run has returned.
func (x *Indexer) Close() error {
	x.mu.Lock()
	open := x.open
	x.open = nil
	x.mu.Unlock()
	var first error
	for _, f := range open {
		f.mu.Lock()
		if err := f.closeIndex(); err != nil && first == nil {
			first = fmt.Errorf("close index: %w", err)
		}
		f.mu.Unlock()
	}
	x.queue.close()
	return first
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

// Stats tells how the open indexes are doing.
func (x *Indexer) Stats() Stats {
	x.mu.Lock()
	open := append([]*folder(nil), x.open...)
	x.mu.Unlock()
	s := Stats{
		Entries: int64(len(open)), Capacity: int64(x.o.MaxOpen),
		Hits: x.hits.Load(), Misses: x.misses.Load(), Evictions: x.evictions.Load(),
	}
	for _, f := range open {
		s.Bytes += f.bytes()
	}
	return s
}

// Awaited is how many indexes have not been up to date since the start; -1 while it is not known which there are.
func (x *Indexer) Awaited() int64 {
	select {
	case <-x.loaded:
		return x.awaited.Load()
	default:
		return -1
	}
}

// Lag is how many changes are known to be missing in an index, over all workspaces. An index that is closed counts for
// nothing: what it lacks is seen when its turn comes.
func (x *Indexer) Lag() int64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	var lag int64
	for _, f := range x.folders {
		if position := f.position.Load(); position != unknown {
			lag += max(0, f.target.Load()-position)
		}
	}
	return lag
}
