package memory

import (
	"context"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/govern/event"
)

// eventLog records events about memories. They hold IDs and revisions, and nothing of a memory or about its subject.
type eventLog struct{ to event.Recorder }

// itemsOf names memories in an event.
func itemsOf(rows []*Row) []event.Item {
	items := make([]event.Item, len(rows))
	for i, r := range rows {
		items[i] = event.Item{ID: r.ID, Revision: r.Revision}
	}
	return items
}

// report records the events of a write in its transaction.
type report func(ctx context.Context, workspaceID string, created, changed []*Row) error

// each reports each memory by an event of its own.
func (l eventLog) each(ctx context.Context, workspaceID string, created, changed []*Row) error {
	if err := l.record(ctx, event.MemoryCreated, workspaceID, created); err != nil {
		return err
	}
	return l.record(ctx, event.MemoryUpdated, workspaceID, changed)
}

// together reports those that were created by one event, and those that were changed by another.
func (l eventLog) together(ctx context.Context, workspaceID string, created, changed []*Row) error {
	for _, e := range []struct {
		what event.Type
		rows []*Row
	}{{event.MemoryCreated, created}, {event.MemoryUpdated, changed}} {
		if len(e.rows) == 0 {
			continue
		}
		if err := l.to.Record(ctx, event.Many(e.what, workspaceID, itemsOf(e.rows))); err != nil {
			return err
		}
	}
	return nil
}

// reportErased records the events of an erasure in its transaction.
type reportErased func(ctx context.Context, workspaceID string, rows []*Row) error

// forgotten reports memories that were erased one by one.
func (l eventLog) forgotten(ctx context.Context, workspaceID string, rows []*Row) error {
	return l.record(ctx, event.MemoryForgotten, workspaceID, rows)
}

// eachUpTo is how many items a batch has at most whose memories are reported one by one.
const eachUpTo = 20

// record records one event for each memory, in the transaction of ctx.
func (l eventLog) record(ctx context.Context, what event.Type, workspaceID string, rows []*Row) error {
	for _, r := range rows {
		err := l.to.Record(ctx, event.Event{
			Type: what, WorkspaceID: workspaceID, Data: map[string]any{"memoryId": r.ID, "revision": r.Revision},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// erased records that a subject was erased. It can be called more than once.
func (e *SubjectEraser) erased(ctx context.Context, erasure *Erasure, destroyed time.Time) error {
	return e.events.Record(ctx, event.Event{
		Type: event.SubjectErased, WorkspaceID: erasure.WorkspaceID, At: destroyed, Once: "subject.erased:" + erasure.ID,
		Data: map[string]any{"receiptId": erasure.receiptID(), "memories": erasure.Memories, "erasedAt": destroyed},
	})
}

// receiptID is known before the receipt is signed, so that events can name it.
func (e *Erasure) receiptID() string {
	u, _ := id.Parse("ers", e.ID) // the zero UUID for a malformed ID, which no release has written
	return id.Format("rcp", u)
}
