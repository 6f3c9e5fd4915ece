package memory

import (
	"context"
	"time"

	"keepsake/internal/event"
	"keepsake/internal/id"
)

// eventLog records events about memories. They hold IDs and revisions, and nothing of a memory or about its subject.
type eventLog struct{ to event.Recorder }

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
