package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/text"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// Source provides the documents of the indexes. document.Store implements it.
type Source interface {
	Documents(ctx context.Context, workspaceID string, ids []string) ([]document.Document, error)
	FollowDocuments(ctx context.Context, workspaceID string, f document.Following) ([]document.Change, document.State, error)
	DocumentState(ctx context.Context, workspaceID string) (document.State, error)
	HadDocumentState(ctx context.Context, workspaceID string, had document.State) (bool, error)
	DocumentCount(ctx context.Context, workspaceID string) (int64, error)
	ChangedWorkspaces(ctx context.Context) (map[string]document.State, error)
}

// IndexerOptions is what an Indexer needs.
type IndexerOptions struct {
	Dir    string // contains a folder for each workspace; created if it does not exist
	Source Source
	// Settings provides the settings of collections; nil: there are none.
	Settings SettingsSource
	Log      *slog.Logger
	Now      func() time.Time
	MaxOpen  int           // indexes kept open at once; 0: 64
	Wait     time.Duration // how long a search waits for its workspace's index to catch up; 0: 2 s
	Shared   bool          // other processes change documents, too, without reporting it
	// Foreground is the number of documents up to which a search waits for an index that is built; 0: 50,000.
	Foreground int64
	DiskBudget int64 // bytes of files of indexes beyond which those that were searched least recently are dropped; 0: no bound
	// Background runs a piece of work that no client waits for; nil: at once.
	Background func(ctx context.Context, piece func() error) error
	// Elsewhere reports whether searches of a workspace read an index that is not in this process; nil: there is none.
	Elsewhere func(workspaceID string) bool
	Small     int64 // bytes up to which an index has no files; 0: the default of package index
}

// Indexer builds the indexes of the workspaces that are searched, and keeps them up to date with the documents (hold.go).
//
// An index contains the number of its last change, and later changes are read from the store. An index that cannot be read,
// or that has changes which the store has lost (lost.go), is rebuilt. Workspaces take turns with a limited number of changes each, so
// that a large import delays others by one turn.
type Indexer struct {
	o        IndexerOptions
	analyzer *text.Analyzer
	turns    turns

	lexicon     *index.Lexicon
	maintenance *index.Maintenance
	background  sync.WaitGroup // that reads indexes

	states reads[document.State]

	loaded  chan struct{} // closed when the workspaces with documents are known
	mu      sync.Mutex
	folders map[string]*folder
	open    []*folder

	uses, hits, misses, evictions atomic.Int64
	renewed                       atomic.Int64 // documents that were indexed again

	rebuilds rebuilds
	builds   builds
	trims    trims
}

// NewIndexer returns an Indexer. It opens no index before Run or a search.
func NewIndexer(o IndexerOptions) *Indexer {
	if o.MaxOpen == 0 {
		o.MaxOpen = 64
	}
	if o.Wait == 0 {
		o.Wait = 2 * time.Second
	}
	if o.Foreground == 0 {
		o.Foreground = 50_000
	}
	if o.Background == nil {
		o.Background = func(_ context.Context, piece func() error) error { return piece() }
	}
	return &Indexer{
		o: o, analyzer: text.NewAnalyzer(), turns: newTurns(),
		lexicon: index.NewLexicon(), maintenance: index.NewMaintenance(o.Log),
		states: newReads(o.Wait, o.Source.DocumentState),
		loaded: make(chan struct{}), folders: map[string]*folder{},
		rebuilds: rebuilds{queue: make(chan []*folder, 1)}, trims: trims{due: make(chan struct{}, 1)},
	}
}

// Run brings the indexes in the folder up to date, and then follows the changes of all that are held, until ctx ends. Call it
// once.
func (x *Indexer) Run(ctx context.Context) error {
	if err := os.MkdirAll(x.o.Dir, 0o700); err != nil {
		return fmt.Errorf("make the folder of indexes: %w", err)
	}
	if err := errors.Join(removeLeft(x.o.Dir, unfinished), removeLeft(x.o.Dir, dropped)); err != nil {
		return err
	}
	var away outage
	for err := x.load(ctx); err != nil; err = x.load(ctx) {
		switch again := away.wait(ctx, x.o.Log, err); {
		case ctx.Err() != nil:
			return nil // stopped before it began
		case !again:
			return err
		}
	}
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { x.maintenance.Run(ctx) })
	others.Go(func() { x.sweep(ctx) })
	others.Go(func() { x.rebuild(ctx) })
	if x.o.DiskBudget > 0 {
		others.Go(func() { x.trim(ctx) })
	}
	if x.o.Shared {
		others.Go(func() { x.lookAround(ctx) })
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
		}
	}
}

// outage is a period in which documents cannot be read. It is logged once, not for each workspace and second.
type outage struct{ on bool }

// wait waits a second if err means that the source is unavailable. Otherwise it returns false at once.
func (o *outage) wait(ctx context.Context, log *slog.Logger, err error) bool {
	p, ok := problem.As(err)
	if !ok || p.Kind != problem.Unavailable || p.Message == errBehind.Message { // errBehind is an error of the index
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

// load reads which workspaces have documents, and which indexes are in the folder. Those are brought up to date, after the
// workspaces with requests.
func (x *Indexer) load(ctx context.Context) error {
	changed, err := x.o.Source.ChangedWorkspaces(ctx)
	if err != nil {
		return fmt.Errorf("list workspaces with documents: %w", err)
	}
	held, err := indexesIn(x.o.Dir)
	if err != nil {
		return err
	}
	for workspaceID, now := range changed {
		if !x.o.Shared { // otherwise a search asks for the number
			x.folder(workspaceID).raise(now.Change)
		}
	}
	for _, h := range held {
		f := x.folder(h.workspaceID)
		f.raise(changed[h.workspaceID].Change)
		f.mu.Lock()
		f.size.Files = h.bytes
		f.mu.Unlock()
		f.searched.Store(x.uses.Add(1))
		f.holds.Store(true)
		x.turns.addLater(f)
	}
	close(x.loaded)
	x.trims.check()
	return nil
}

// Notify reports a committed change of a workspace. 0 means that only the store knows its number.
func (x *Indexer) Notify(workspaceID string, change int64) {
	f := x.folder(workspaceID)
	x.welcome(f)
	if change == 0 {
		f.asked.Add(1)
	} else {
		f.raise(change)
	}
	if f.followed(x.o.Shared) {
		x.turns.add(f)
	} else {
		f.handed.clear()
	}
}

// Record reports the committed changes of documents by a transaction with a mark, in their order, which are indexed after the next call
// of Notify. A search waits for them nevertheless. The documents must not be changed any more.
func (x *Indexer) Record(workspaceID string, documents []*document.Document, mark int64) {
	f := x.folder(workspaceID)
	x.welcome(f)
	if f.followed(x.o.Shared) && !x.elsewhere(workspaceID) {
		f.handed.add(documents, mark)
	}
	f.raise(documents[len(documents)-1].Change)
}

// folder returns the folder of a workspace's index.
func (x *Indexer) folder(workspaceID string) *folder {
	x.mu.Lock()
	defer x.mu.Unlock()
	f := x.folders[workspaceID]
	if f == nil {
		f = &folder{workspaceID: workspaceID, dir: filepath.Join(x.o.Dir, workspaceID), moved: make(chan struct{}), batch: firstBatch}
		f.position.Store(unknown)
		f.doubts.Store(1)
		x.folders[workspaceID] = f
	}
	return f
}

// Close closes the indexes. Call it after Run has returned.
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
	x.background.Wait()
	return first
}

// Loaded reports whether it is known which workspaces have documents and which indexes are in the folder.
func (x *Indexer) Loaded() bool {
	select {
	case <-x.loaded:
		return true
	default:
		return false
	}
}
