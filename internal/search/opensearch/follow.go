package opensearch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// Source provides the changes of documents.
type Source interface {
	// Follow reads changes, and returns a state that has them. It returns document.ErrLost if the documents have lost changes that the
	// index can have.
	Follow(ctx context.Context, workspaceID string, from document.Following) (*Changes, document.State, error)
	// State returns the state of the documents.
	State(ctx context.Context, workspaceID string) (document.State, error)
	// States returns those of several workspaces. That of a workspace without documents can be missing.
	States(ctx context.Context, workspaceIDs []string) (map[string]document.State, error)
	// HadState reports whether the documents had a state, unless they have lost it.
	HadState(ctx context.Context, workspaceID string, had document.State) (bool, error)
	// Label says how the documents are now to be indexed. If it changes, all are indexed again.
	Label(ctx context.Context, workspaceID string) (string, error)
}

// Changes are consecutive changes of a workspace.
type Changes = search.Changes

// Claims lets one process at a time follow a workspace. While it cannot tell, several can.
type Claims interface {
	Take(ctx context.Context, claim [32]byte) bool
	Release(claim [32]byte, wait bool)
}

// FollowerOptions is what a Follower needs.
type FollowerOptions struct {
	Client *Client
	Prefix string // of the names of all indexes
	Owner  string // identifies the installation, whose processes alone use indexes with the prefix
	Source Source
	Writer *Writer // nil: one of its own
	Claims Claims  // nil: there are no other processes
	// Documents counts the documents of a workspace, for the size of its first index; nil: it is small.
	Documents  func(ctx context.Context, workspaceID string) (int64, error)
	ShardBytes int64 // that a shard is to have at most; 0: 20 GB
	Log        *slog.Logger
	Now        func() time.Time
	Poll       time.Duration // how often the states of the documents are read; 0: 100 ms
	// Background runs a piece of work that no client waits for; nil: at once.
	Background func(ctx context.Context, piece func() error) error
}

const (
	pollEvery  = 100 * time.Millisecond
	claimFor   = time.Minute      // after which a claim is taken again, because it can have been lost
	insteadFor = 10 * time.Second // after which a process without the claim looks again whether another one stores changes
	claimRetry = 2 * time.Second  // between two attempts to get a claim that another process has, of up to a hundred workspaces
	patience   = 20 * time.Second // with a process that has a claim and stores nothing
	checkEvery = time.Minute      // how often the indexes of a workspace are compared with what they should be
	firstPause = 250 * time.Millisecond
	longPause  = 10 * time.Second
)

// Follower keeps the indexes of workspaces up to date with their documents. Each workspace is followed independently, so that none
// waits for another whose index is broken. Everything that it does can be done twice, or by two processes at once.
type Follower struct {
	o     FollowerOptions
	owner *Owner

	mu      sync.Mutex
	ctx     context.Context // of Run; nil before it
	workers map[string]*worker
	running sync.WaitGroup
}

// NewFollower returns a Follower, which follows nothing before Run and Follow.
func NewFollower(o FollowerOptions) *Follower {
	if o.Writer == nil {
		o.Writer = NewWriter(index.NewLexicon())
	}
	if o.ShardBytes == 0 {
		o.ShardBytes = shardBytes
	}
	if o.Poll == 0 {
		o.Poll = pollEvery
	}
	if o.Background == nil {
		o.Background = func(_ context.Context, piece func() error) error { return piece() }
	}
	return &Follower{o: o, owner: NewOwner(o.Client, o.Prefix, o.Owner), workers: map[string]*worker{}}
}

// Run follows workspaces until ctx ends. Call it once.
func (f *Follower) Run(ctx context.Context) error {
	f.mu.Lock()
	f.ctx = ctx
	for _, w := range f.workers {
		f.start(w)
	}
	f.mu.Unlock()
	f.running.Go(func() { f.watch(ctx) })
	<-ctx.Done()
	f.running.Wait()
	return nil
}

// Follow lets a Follower follow exactly these workspaces. It waits until the others are left alone.
func (f *Follower) Follow(workspaceIDs []string) {
	f.mu.Lock()
	wanted := make(map[string]bool, len(workspaceIDs))
	for _, id := range workspaceIDs {
		wanted[id] = true
		if f.workers[id] == nil {
			w := newWorker(f.o, f.owner, id)
			w.retry = f.retry
			f.workers[id] = w
			f.start(w)
		}
	}
	var stopped []*worker
	for id, w := range f.workers {
		if !wanted[id] {
			delete(f.workers, id)
			stopped = append(stopped, w)
		}
	}
	f.mu.Unlock()
	for _, w := range stopped {
		w.stop()
	}
}

// start starts a worker. The caller holds f.mu.
func (f *Follower) start(w *worker) {
	if f.ctx == nil || w.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(f.ctx)
	w.cancel = cancel
	f.running.Go(func() {
		defer close(w.ended)
		w.run(ctx)
	})
}

// Notify reports that documents of a workspace have changed.
func (f *Follower) Notify(workspaceID string) {
	f.mu.Lock()
	w := f.workers[workspaceID]
	f.mu.Unlock()
	if w != nil {
		w.notify()
	}
}

// Take makes the prefix this installation's if it is no installation's. It returns an error if it is another's.
func (f *Follower) Take(ctx context.Context) error { return f.owner.Take(ctx) }

// Reach returns the version of the cluster. It returns an error if the cluster cannot be used now: it is away, of another version, or the
// prefix is another installation's.
func (f *Follower) Reach(ctx context.Context) (version string, err error) {
	if version, err = f.o.Client.version(ctx); err != nil {
		return "", err
	}
	return version, f.owner.Check(ctx)
}

// Behind asks the cluster and the database how many changes the indexes of workspaces lack that other processes follow. Those without an
// index that searches can read are left out.
func (f *Follower) Behind(ctx context.Context, workspaceIDs []string) (map[string]int64, error) {
	aliases := make([]string, len(workspaceIDs))
	for i, id := range workspaceIDs {
		aliases[i] = namesOf(f.o.Prefix, id).documents()
	}
	positions, err := f.o.Client.positions(ctx, aliases)
	if err != nil {
		return nil, err
	}
	states, err := f.o.Source.States(ctx, workspaceIDs)
	if err != nil {
		return nil, fmt.Errorf("read the states of the documents: %w", err)
	}
	behind := map[string]int64{}
	for i, id := range workspaceIDs {
		if position, ok := positions[aliases[i]]; ok {
			behind[id] = max(0, states[id].Change-position)
		}
	}
	return behind, nil
}

// Progress is how far the index of a workspace is.
type Progress struct {
	State    State
	Since    time.Time // when the state began
	Here     bool      // this process follows it
	Serving  bool      // searches can read an index
	Position int64     // the last change in the index that searches read, or in the one that is filled if there is none
	Filling  int64     // the last change in an index that is to replace it; -1: there is none
	Last     int64     // the last change of the workspace
}

// Progress returns how far the index of each workspace is.
func (f *Follower) Progress() map[string]Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	all := make(map[string]Progress, len(f.workers))
	for id, w := range f.workers {
		all[id] = w.report.get()
	}
	return all
}
