package opensearch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"keepsake/internal/search/document"
)

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
