package opensearch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"keepsake/internal/base/coalesce"
	"keepsake/internal/base/problem"
)

// Readiness lets searches wait until an index shows them every change that was committed before. Another process may follow the
// workspace, so the position is read from the index.
type Readiness struct {
	client *Client
	prefix string
	wait   time.Duration
	reads  *coalesce.Batcher[*shown]

	mu    sync.Mutex
	shown map[string]refreshed // by workspace
}

// refreshed is an index with the last change in it that searches find.
type refreshed struct {
	index  string
	change int64
}

// shown is a call that waits for a change.
type shown struct {
	change, shown int64
}

const (
	defaultWait = 2 * time.Second
	askAgain    = 15 * time.Millisecond
)

// passing are the states that can end while a search waits.
var passing = map[State]bool{Missing: true, Unavailable: true, Throttled: true}

// NewReadiness returns a Readiness. A search waits for at most wait; 0: 2 s.
func NewReadiness(c *Client, prefix string, wait time.Duration) *Readiness {
	if wait == 0 {
		wait = defaultWait
	}
	r := &Readiness{client: c, prefix: prefix, wait: wait, shown: map[string]refreshed{}}
	r.reads = coalesce.New(coalesce.Options[*shown]{Run: r.look, Abandon: true})
	return r
}

// Alias returns what searches of a workspace read: its documents and their words.
func (r *Readiness) Alias(workspaceID string) (documents, words string) {
	n := namesOf(r.prefix, workspaceID)
	return n.documents(), n.words()
}

// Wait waits until searches find every change of a workspace up to a number, which is the last one of the database. It returns
// problem.Unavailable if that takes too long, and while the index is not there or OpenSearch is away.
func (r *Readiness) Wait(ctx context.Context, workspaceID string, change int64) error {
	// A higher number is perhaps that of an index which contained changes that the database has lost.
	if r.known(workspaceID).change == change {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.wait)
	defer cancel()
	for {
		s := &shown{change: change}
		err := r.reads.Do(ctx, workspaceID, s)
		switch {
		case err == nil && s.shown >= change:
			return nil
		case err != nil && ctx.Err() == nil && !passing[StateOf(err)]:
			return unavailable(err)
		}
		timer := time.NewTimer(askAgain)
		select {
		case <-ctx.Done():
			timer.Stop()
			if context.Cause(ctx) == context.DeadlineExceeded {
				return unavailable(fmt.Errorf("change %d is not in the index, which has %d: %w", change, s.shown, ctx.Err()))
			}
			return ctx.Err()
		case <-timer.C:
		}
	}
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
	return refreshed{change: unknown}
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
	if known.index != index || known.change > position {
		known = refreshed{index, unknown}
	}
	for _, c := range calls {
		if known.change < c.change && c.change <= position {
			if err := r.client.refresh(ctx, alias+","+words); err != nil {
				return err
			}
			known.change = position
			break
		}
	}
	r.mu.Lock()
	r.shown[workspaceID] = known
	r.mu.Unlock()
	for _, c := range calls {
		c.shown = known.change
	}
	return nil
}

// unavailable is what a search answers while an index cannot be read.
func unavailable(cause error) error {
	return problem.NotAvailable("The search index of this workspace is not available. Try again later.", time.Second).Because(cause)
}
