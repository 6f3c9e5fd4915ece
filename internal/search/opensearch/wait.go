package opensearch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"keepsake/internal/base/coalesce"
	"keepsake/internal/base/problem"
	"keepsake/internal/search/document"
)

// Readiness lets searches wait until an index shows them every change that was committed before. Another process may follow the
// workspace, so the position is read from the index.
type Readiness struct {
	client *Client
	prefix string
	state  func(ctx context.Context, workspaceID string) (document.State, error)
	wait   time.Duration
	reads  *coalesce.Batcher[*shown]

	mu    sync.Mutex
	shown map[string]refreshed // by workspace
}

// refreshed is an index with what of it searches find.
type refreshed struct {
	index string
	document.State
}

// shown is a call that waits until searches find a state of the documents, or a later one.
type shown struct {
	wanted, shown document.State
}

// shows reports whether searches that find everything of a state find everything of another one. If its number is higher, the documents
// have to be asked whether they still have so many changes.
func shows(state, wanted document.State) bool { return state.Change > wanted.Change || state == wanted }

const (
	defaultWait = 2 * time.Second
	askAgain    = 15 * time.Millisecond
)

// passing are the states that can end while a search waits.
var passing = map[State]bool{Missing: true, Unavailable: true, Throttled: true}

// NewReadiness returns a Readiness. state reads that of the documents. A search waits for at most wait; 0: 2 s.
func NewReadiness(
	c *Client, prefix string, state func(ctx context.Context, workspaceID string) (document.State, error), wait time.Duration,
) *Readiness {
	if wait == 0 {
		wait = defaultWait
	}
	r := &Readiness{client: c, prefix: prefix, state: state, wait: wait, shown: map[string]refreshed{}}
	r.reads = coalesce.New(coalesce.Options[*shown]{Run: r.look, Abandon: true})
	return r
}

// Alias returns what searches of a workspace read: its documents and their words.
func (r *Readiness) Alias(workspaceID string) (documents, words string) {
	n := namesOf(r.prefix, workspaceID)
	return n.documents(), n.words()
}

// Wait waits until searches find every change of a workspace up to a state, which was the last one of the database. It returns
// problem.Unavailable if that takes too long, and while the index is not there or OpenSearch is away.
//
// An index can contain changes that the database has lost. It is noticed here if their numbers are not reached again, or exactly
// reached, and else by the Follower, which then drops the index: a search before that can find them.
func (r *Readiness) Wait(ctx context.Context, workspaceID string, state document.State) error {
	if r.known(workspaceID).State == state {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	for {
		s := &shown{wanted: state}
		err := r.reads.Do(ctx, workspaceID, s)
		if err == nil && s.shown.Change > state.Change { // another search waited for later changes, or they are lost
			var now document.State
			if now, err = r.state(ctx, workspaceID); err == nil && now.Change < s.shown.Change {
				s.shown = document.State{Change: unknown}
			}
		}
		switch {
		case err == nil && shows(s.shown, state):
			return nil
		case err != nil && ctx.Err() == nil && !passing[StateOf(err)]:
			return unavailable(err)
		}
		timer := time.NewTimer(askAgain)
		select {
		case <-ctx.Done():
			timer.Stop()
			if context.Cause(ctx) == context.DeadlineExceeded {
				return unavailable(fmt.Errorf("the index does not have change %d: %w", state.Change, ctx.Err()))
			}
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// Answers returns an error if the index of a workspace does not answer in time, whatever the answer. Later searches then wait until it
// does.
func (r *Readiness) Answers(ctx context.Context, workspaceID string) error {
	short, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	err := r.reads.Do(short, workspaceID, &shown{wanted: document.State{Change: unknown}})
	var answer *Error
	if err == nil || errors.As(err, &answer) && answer.Status > 0 || ctx.Err() != nil {
		return nil
	}
	r.Forget(workspaceID)
	return fmt.Errorf("the index does not answer: %w", err)
}

// Forget forgets what searches find, after one has failed.
func (r *Readiness) Forget(workspaceID string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.shown, workspaceID)
}

func (r *Readiness) known(workspaceID string) refreshed {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.shown[workspaceID]; ok {
		return s
	}
	return refreshed{State: document.State{Change: unknown}}
}

// look reads the position of an index, and refreshes it if a call waits for a change that it has.
func (r *Readiness) look(ctx context.Context, workspaceID string, calls []*shown) error {
	ctx, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	alias, words := r.Alias(workspaceID)
	position, index, err := r.client.position(ctx, alias)
	if err != nil {
		return err
	}
	known := r.known(workspaceID)
	if known.index != index || known.State != position && known.Change >= position.Change {
		known = refreshed{index, document.State{Change: unknown}}
	}
	for _, c := range calls {
		if !shows(known.State, c.wanted) && shows(position, c.wanted) {
			if err := r.client.refresh(ctx, alias+","+words); err != nil {
				return err
			}
			known.State = position
			break
		}
	}
	r.mu.Lock()
	r.shown[workspaceID] = known
	r.mu.Unlock()
	for _, c := range calls {
		c.shown = known.State
	}
	return nil
}

// unavailable is what a search answers while an index cannot be read.
func unavailable(cause error) error {
	return problem.NotAvailable("The search index of this workspace is not available. Try again later.", time.Second).Because(cause)
}
