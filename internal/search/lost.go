package search

import (
	"context"
	"errors"
	"log/slog"

	"keepsake/internal/search/document"
)

// A database that was restored, or whose standby took over without the last changes, gives their numbers to later changes. An index that
// contains the lost ones would neither drop nor replace them. So an index knows the last state of the documents of which it can contain
// changes, and each read of changes finds out whether the documents had it. If they did not, or so long ago that it is unknown, the index
// is rebuilt.
//
// A search of an index without new changes asks no more than before: the state of the documents, which is not that of the index or an
// earlier one unless the changes were lost. If the process is alone, this can only happen before it starts.

// next returns the next changes for f's index, and a state of the documents that has them.
func (f *folder) next(ctx context.Context, from Source, after int64, limit int) ([]document.Change, document.State, error) {
	handed, of := f.handed.take(after, limit)
	if handed == nil {
		return from.FollowDocuments(ctx, f.workspaceID, document.Following{After: after, Limit: limit, Has: f.sees()})
	}
	now, err := f.confirm(ctx, from)
	if err != nil {
		return nil, now, err
	}
	if of.Change <= now.Change {
		had, err := from.HadDocumentState(ctx, f.workspaceID, of)
		if had || err != nil {
			return handed, now, err
		}
	}
	f.handed.clear() // they are lost
	return f.next(ctx, from, after, limit)
}

// confirm returns the state of the documents, if they had that of f's index.
func (f *folder) confirm(ctx context.Context, from Source) (document.State, error) {
	_, now, err := from.FollowDocuments(ctx, f.workspaceID, document.Following{Has: f.sees()})
	return now, err
}

// settle finds out whether f's index can contain changes that the documents have lost.
func (f *folder) settle(ctx context.Context, from Source) error {
	doubts := f.doubts.Load()
	now, err := f.confirm(ctx, from)
	if err != nil {
		return err
	}
	f.raise(now.Change)
	f.settled.Store(doubts)
	f.announce()
	return nil
}

// lose has f's index rebuilt, because it can contain changes that the documents have lost.
func (f *folder) lose(log *slog.Logger) {
	log.Warn("rebuilding an index whose last changes the documents do not have", "workspace", f.workspaceID)
	f.handed.clear()
	f.mu.Lock()
	f.broken = true
	f.mu.Unlock()
	f.announce()
}

// errLost ends the wait for an index that is to be rebuilt.
var errLost = errors.New("the index is to be rebuilt")
