package app

import (
	"context"
	"crypto/rand"
	"time"

	"keepsake/internal/auth"
	"keepsake/internal/backup"
	"keepsake/internal/config"
	"keepsake/internal/idempotency"
	"keepsake/internal/instance"
	"keepsake/internal/memory"
	"keepsake/internal/seal"
)

// assembleMemories makes what keeps memories.
func (p *parts) assembleMemories(ctx context.Context, cfg *config.Config, deps *Deps) error {
	i := p.instance
	// A lost one would leave old receipts that nobody can check; but it lies in the same file as the data keys, without which
	// nobody can erase either.
	secret, err := i.Secrets.Ensure(ctx, seal.Receipts)
	if err != nil {
		return err
	}
	p.receipts = auth.NewReceiptKey(secret)
	p.memories = memory.NewService(memory.Options{
		Store: i.Store, Units: i.Store, Keys: p.subjects, Lookup: p.lookup, Audit: p.audit, Journal: erased{i.Store, p.lookup},
		Alone: !i.Engine.Shared(), Max: p.maxMemories, MaxBytes: p.maxStorage, Sign: p.receipts.Sign,
		Answered: func(ctx context.Context, workspaceID string, subject memory.Hash, generation int64) {
			idempotency.SealWith(ctx, idempotency.KeyName{WorkspaceID: workspaceID, Subject: subject, Generation: generation})
		},
		Shares: p.shares, Dropped: p.dropped, RecallBytes: recallBytes(cfg.Memory.Cache, memoryLimit()),
		Now: deps.Now, Random: rand.Reader, Log: deps.Log,
	})
	return nil
}

// recallBytes is what recall indexes can take: what the setting says, and at most a quarter of the memory there is.
func recallBytes(setting int, memory int64) int64 {
	bytes := int64(setting) << 20
	if memory > 0 {
		bytes = min(bytes, memory/4)
	}
	return bytes
}

// dropped returns once no other process has a subject's data key in memory, which was destroyed here.
func (p *parts) dropped(ctx context.Context, workspaceID string, subject memory.Hash) error {
	if !p.instance.Engine.Shared() {
		return nil
	}
	number, err := p.instance.Store.TellDestroyed(ctx, workspaceID, subject)
	if err != nil || p.neighbours == nil {
		return err
	}
	return p.neighbours.members.AwaitHeard(ctx, number)
}

// maxMemories is what the workspace's tier allows, 0 for no limit.
func (p *parts) maxMemories(workspaceID string) int64 {
	if w, ok := p.accounts.Entry(workspaceID); ok {
		return w.Tier().Memories
	}
	return 0
}

// erased does what an erasure takes besides its own rows, in the unit of work in which it happens: answers that tell of the
// memories are dropped, records of revoked keys forget whom they were bound to, and the journal is told, last of all.
type erased struct {
	store  *instance.Store
	lookup seal.Lookup
}

// SubjectErased implements memory.Journal.
func (e erased) SubjectErased(ctx context.Context, workspaceID string, subject memory.Hash, generation int64, at time.Time) error {
	if err := e.store.DropAnswers(ctx, workspaceID, subject); err != nil {
		return err
	}
	is := func(name string) bool { return e.lookup.Subject(workspaceID, name) == subject }
	if err := e.store.ForgetBoundSubject(ctx, workspaceID, is); err != nil {
		return err
	}
	return e.store.Journal.Append(backup.SubjectEntry(workspaceID, subject, generation, at))
}

// MemoriesExpired implements memory.Journal.
func (e erased) MemoriesExpired(ctx context.Context, workspaceID string, subject memory.Hash) error {
	return e.store.DropAnswers(ctx, workspaceID, subject)
}

// MemoriesErased implements memory.Journal.
func (e erased) MemoriesErased(ctx context.Context, workspaceID string, subject memory.Hash, ids []string, at time.Time) error {
	if err := e.store.DropAnswers(ctx, workspaceID, subject); err != nil {
		return err
	}
	return e.store.Journal.Append(backup.MemoriesEntry(workspaceID, subject, ids, at))
}
