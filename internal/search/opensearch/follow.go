package opensearch

import (
	"context"
	"crypto/sha256"
	"errors"
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

// worker follows a workspace.
type worker struct {
	o     FollowerOptions
	owner *Owner
	id    string
	names names
	claim [32]byte

	cancel context.CancelFunc // nil: not started
	ended  chan struct{}
	wake   chan struct{} // holds one token
	report report
	retry  func() time.Duration // between two attempts to get the claim
	heard  document.State       // the last state for which watch woke the worker; used by watch alone

	// Used by run alone.
	label             string
	serving, building *filled
	check             time.Time // when to look at the indexes again
	expunge           expunging
	counting          counting
	idle              idle
}

func newWorker(o FollowerOptions, owner *Owner, workspaceID string) *worker {
	w := &worker{
		o: o, owner: owner, id: workspaceID, names: namesOf(o.Prefix, workspaceID), claim: sha256.Sum256([]byte("opensearch " + workspaceID)),
		ended: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	w.report.set(func(p *Progress) { p.State, p.Filling = Healthy, -1 }, o.Now())
	w.counting.next = o.Now().Add(countEvery)
	return w
}

func (w *worker) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop ends a worker and waits for it.
func (w *worker) stop() {
	if w.cancel != nil {
		w.cancel()
		<-w.ended
	}
}

// run follows the workspace until ctx ends.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		claimed := w.o.Claims == nil || w.o.Claims.Take(ctx, w.claim)
		if !claimed && !w.abandoned(ctx) {
			w.report.set(func(p *Progress) { p.Here = false }, w.o.Now())
			w.wait(ctx, w.retry(), false)
			continue
		}
		w.report.set(func(p *Progress) { p.Here = true }, w.o.Now())
		w.doubt()
		long := insteadFor
		if claimed {
			long = claimFor
		}
		yields := w.hold(ctx, long)
		if claimed && w.o.Claims != nil {
			w.o.Claims.Release(w.claim, true)
		}
		if yields { // for so long that another process gets the claim
			w.wait(ctx, max(w.pause(), w.retry()*3/2), false)
		}
	}
}

// hold follows the workspace for as long as one claim is good. yields means that it has failed for some time: perhaps another process succeeds,
// such as one that reaches the cluster.
func (w *worker) hold(ctx context.Context, long time.Duration) (yields bool) {
	until := w.o.Now().Add(long)
	for ctx.Err() == nil && (w.o.Claims == nil || w.o.Now().Before(until)) {
		more, err := w.step(ctx)
		if ctx.Err() != nil {
			return false
		}
		w.record(err)
		switch {
		case err != nil && w.o.Claims != nil && w.o.Now().Sub(w.report.get().Since) >= claimRetry:
			return true
		case err != nil:
			w.wait(ctx, w.pause(), false)
		case !more && !w.check.IsZero():
			w.wait(ctx, w.rest(), true)
		}
	}
	return false
}

// record records the result of a step. A state is logged when it begins and ends.
func (w *worker) record(err error) {
	state := StateOf(err)
	before := w.report.get().State
	w.report.set(func(p *Progress) { p.State = state }, w.o.Now())
	switch {
	case state == before:
	case err == nil:
		w.o.Log.Info("the index of a workspace in OpenSearch is followed again", "workspace", w.id)
	case state == Foreign:
		w.o.Log.Error("a workspace is not followed in OpenSearch", "workspace", w.id, "error", err)
	default:
		w.o.Log.Warn("following a workspace in OpenSearch failed; retrying", "workspace", w.id, "state", string(state), "error", err)
	}
}

// pause returns how long to wait after a failure: as long as it lasts, up to a limit.
func (w *worker) pause() time.Duration {
	return min(longPause, max(firstPause, w.o.Now().Sub(w.report.get().Since)))
}

// wait waits for a time, and less if wakes is set and documents change.
func (w *worker) wait(ctx context.Context, long time.Duration, wakes bool) {
	timer := time.NewTimer(long)
	defer timer.Stop()
	var wake chan struct{}
	if wakes {
		wake = w.wake
	}
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
	}
}

// forget makes the next step look at everything again.
func (w *worker) forget() { w.check, w.serving, w.building = time.Time{}, nil, nil }

// doubt makes the next step look at the indexes and what they contain, because another process can have changed everything.
func (w *worker) doubt() {
	w.check = time.Time{}
	for _, f := range []*filled{w.serving, w.building} {
		if f != nil {
			f.has.Change, f.dictionary.trusted = unknown, false
		}
	}
}

// step does the next part of what is to do. more means that there is more.
func (w *worker) step(ctx context.Context) (more bool, err error) {
	defer func() {
		switch StateOf(err) {
		case Missing, Refused, Conflicting, Foreign:
			w.forget() // the indexes are not what they were
		}
	}()
	if !w.o.Now().Before(w.check) {
		if err := w.look(ctx); err != nil {
			return false, err
		}
		w.check = w.o.Now().Add(checkEvery)
	}
	now, err := w.o.Source.State(ctx, w.id)
	if err != nil {
		return false, fmt.Errorf("read the state of the documents: %w", err)
	}
	last := now.Change
	var failed error
	for _, f := range []*filled{w.serving, w.building} {
		if f == nil {
			continue
		}
		again, err := w.advance(ctx, f, now)
		more = more || again
		switch {
		case errors.Is(err, document.ErrLost):
			return true, w.startAnew(ctx, f)
		case err != nil && (f == w.building || w.building == nil):
			return false, err
		case err != nil:
			failed = err // perhaps the reason for which it is replaced, so the other goes on
		}
	}
	w.show(last)
	if failed != nil && !more {
		return false, failed
	}
	if w.building != nil && w.building.has.Change >= last {
		return true, w.replace(ctx)
	}
	if err := w.count(ctx, now); err != nil {
		return false, err
	}
	if w.serving != nil {
		return more, w.expunge.run(ctx, w.o.Client, w.serving, w.o.Now())
	}
	return more, nil
}

// show reports how far the indexes are.
func (w *worker) show(last int64) {
	w.report.set(func(p *Progress) {
		p.Last, p.Filling, p.Serving = last, -1, w.serving != nil
		if w.serving != nil {
			p.Position = w.serving.has.Change
		}
		if w.building != nil {
			p.Filling = w.building.has.Change
			if w.serving == nil {
				p.Position = w.building.has.Change
			}
		}
	}, w.o.Now())
}

// look looks at the indexes of the workspace, and creates or deletes some.
func (w *worker) look(ctx context.Context) error {
	label, err := w.o.Source.Label(ctx, w.id)
	if err != nil {
		return fmt.Errorf("read how documents are indexed: %w", err)
	}
	if err := w.owner.Take(ctx); err != nil {
		return err
	}
	list, err := w.o.Client.generations(ctx, w.names, w.o.Owner)
	if err != nil {
		return err
	}
	size, expected, err := w.sizes(ctx, list)
	if err != nil {
		return err
	}
	a := arrange(list, label, func(g *generation) bool { return g.outgrown(size, w.o.ShardBytes) })
	for _, g := range a.drop {
		if err := w.o.Client.drop(ctx, g); err != nil {
			return err
		}
	}
	if a.serving != nil && a.serving.meta.Label != label {
		if err := w.o.Client.markOutdated(ctx, a.serving); err != nil {
			return err
		}
	}
	if a.create > 0 {
		if a.building, err = w.o.Client.create(ctx, w.names, a.create, meta{
			Layout: Layout, Label: label, Owner: w.o.Owner, Shards: shardsFor(expected, w.o.ShardBytes),
		}); err != nil {
			return err
		}
	}
	w.label, w.serving, w.building = label, w.serving.of(a.serving), w.building.of(a.building)
	return nil
}

// startAnew deletes an index that contains changes which the database has lost. It answers no search until then: it would not take
// later changes that have the same numbers.
func (w *worker) startAnew(ctx context.Context, f *filled) error {
	w.o.Log.Warn("creating an index in OpenSearch again that was ahead of its documents", "workspace", w.id)
	w.forget()
	return w.o.Client.drop(ctx, f.generation)
}

// replace lets searches read the index that was filled, if documents are still to be indexed like that.
func (w *worker) replace(ctx context.Context) error {
	label, err := w.o.Source.Label(ctx, w.id)
	if err != nil {
		return fmt.Errorf("read how documents are indexed: %w", err)
	}
	if label != w.label {
		w.check = time.Time{}
		return nil
	}
	filled, old := w.building, w.serving
	for _, name := range []string{filled.index, filled.index + wordsEnd} {
		if err := w.o.Client.refresh(ctx, name); err != nil {
			return err
		}
	}
	var instead *generation
	if old != nil {
		instead = old.generation
	}
	if err := w.o.Client.serve(ctx, w.names, filled.generation, instead); err != nil {
		return err
	}
	w.serving, w.building = filled, nil
	w.check = time.Time{} // deletes the old one
	return nil
}

// report is a Progress that others can read.
type report struct {
	mu sync.Mutex
	p  Progress
}

func (r *report) get() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.p
}

func (r *report) set(change func(p *Progress), now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.p.State
	if change(&r.p); r.p.State != before {
		r.p.Since = now
	}
}
