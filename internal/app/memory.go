package app

import (
	"context"
	"crypto/rand"
	"time"

	"keepsake/internal/backup"
	"keepsake/internal/idempotency"
	"keepsake/internal/memory"
)

// receiptType is the typ of a receipt's signature.
const receiptType = "keepsake-receipt+jws"

// assembleMemories makes what keeps memories.
func (p *parts) assembleMemories(deps *Deps) {
	d := p.data
	p.memories = memory.NewService(memory.Options{
		Store: d.store, Units: d.store, Keys: p.subjects, Lookup: p.lookup, Audit: p.audit, Journal: erased{d.store.journal},
		Max:  p.maxMemories,
		Sign: func(payload []byte) (string, error) { return p.signing.Sign(receiptType, payload) },
		Answered: func(ctx context.Context, workspaceID string, subject memory.Hash, generation int64) {
			idempotency.SealWith(ctx, idempotency.KeyName{WorkspaceID: workspaceID, Subject: subject, Generation: generation})
		},
		Now: deps.Now, Random: rand.Reader, Log: deps.Log,
	})
}

// maxMemories is what the workspace's tier allows, 0 for no limit.
func (p *parts) maxMemories(workspaceID string) int64 {
	if w, ok := p.accounts.Entry(workspaceID); ok {
		return w.Tier().Memories
	}
	return 0
}

// erased tells the journal what was erased, in the unit of work in which it is.
type erased struct{ journal *backup.Journal }

// SubjectErased implements memory.Journal.
func (e erased) SubjectErased(_ context.Context, workspaceID string, subject memory.Hash, generation int64, at time.Time) error {
	return e.journal.Append(backup.Entry{Subject: &backup.ErasedSubject{
		WorkspaceID: workspaceID, Hash: subject, Generation: generation, At: at,
	}})
}

// MemoriesErased implements memory.Journal.
func (e erased) MemoriesErased(_ context.Context, workspaceID string, subject memory.Hash, ids []string, at time.Time) error {
	return e.journal.Append(backup.Entry{Memories: &backup.ErasedMemories{
		WorkspaceID: workspaceID, Hash: subject, IDs: ids, At: at,
	}})
}
