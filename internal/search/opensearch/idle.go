package opensearch

import (
	"context"
	"time"

	"keepsake/internal/search/document"
)

// A process that is stopped keeps its claim. Two processes can follow a workspace without harm, so another one then does so without the
// claim, until it sees that the first one stores changes again.

// idle is what a process without the claim saw of the index.
type idle struct {
	reached document.State // of the documents, which the index had
	stored  int64          // the last change in the index, which lacks others
	since   time.Time      // when that was seen first; zero: it lacked none
	instead bool           // this process follows the workspace without the claim
}

// abandoned reports whether to follow the workspace although another process has the claim.
func (w *worker) abandoned(ctx context.Context) bool {
	now, err := w.o.Source.State(ctx, w.id)
	if err != nil || !w.idle.instead && now == w.idle.reached {
		return false
	}
	has, err := newestHas(ctx, w.o.Client, w.names, w.o.Owner)
	if err != nil {
		return false
	}
	own := int64(unknown)
	if f := w.building; f != nil {
		own = f.has.Change
	} else if f := w.serving; f != nil {
		own = f.has.Change
	}
	was := w.idle
	w.idle = w.idle.after(now, has.Change, own, w.o.Now())
	if w.idle.instead && !was.instead {
		w.o.Log.Warn("another process follows a workspace in OpenSearch, but stores nothing; this one does so, too", "workspace", w.id)
	}
	return w.idle.instead
}

// after returns what is known when the documents have a state and the index has changes up to a number. own is the last change that this
// process stored.
func (i idle) after(now document.State, has, own int64, at time.Time) idle {
	switch {
	case i.instead && has == own:
		return i
	case has >= now.Change:
		return idle{reached: now}
	case i.instead, i.since.IsZero(), has != i.stored:
		return idle{stored: has, since: at}
	}
	i.instead = at.Sub(i.since) >= patience
	return i
}

// newestHas returns what is in the newest index of a workspace, the one that is filled if there is one.
func newestHas(ctx context.Context, c *Client, n names, owner string) (document.State, error) {
	list, err := c.generations(ctx, n, owner)
	if err != nil {
		return document.State{}, err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].finished {
			has, _, err := c.position(ctx, list[i].index+writeEnd)
			return has, err
		}
	}
	return document.State{}, nil // it is created soon
}
