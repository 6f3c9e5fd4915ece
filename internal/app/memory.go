package app

import (
	"context"
	"crypto/rand"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/backup"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/memory"
	"keepsake/internal/memory/seal"
)

// assembleMemories creates the memory service.
func (s *services) assembleMemories(ctx context.Context, cfg *config.Config, deps *Deps) error {
	i := s.instance
	// A new secret would make old receipts unverifiable. But it is stored with the data keys, so losing it alone is unlikely.
	secret, err := i.Secrets.Ensure(ctx, seal.Receipts)
	if err != nil {
		return err
	}
	s.receipts = auth.NewReceiptKey(secret)
	s.memories = memory.NewService(memory.Options{
		Store: i.Store.Memories, Units: i.Store, Keys: s.subjects, Lookup: s.lookup, Audit: s.audit, Events: s.events, Journal: erasures{i.Store, s.lookup},
		Alone: !i.Engine.Shared(), MaxMemories: s.maxMemories, MaxBytes: s.maxStorage, Sign: s.receipts.Sign,
		SealAnswerWith: func(ctx context.Context, workspaceID string, subject memory.Hash, generation int64) {
			idempotency.SealWith(ctx, idempotency.KeyName{WorkspaceID: workspaceID, Subject: subject, Generation: generation})
		},
		Shares: s.shares, DropKey: s.dropped, RecallBytes: recallBytes(cfg.Memory.Cache, memoryLimit()),
		Embeddings:     s.embeddings,
		WithoutVectors: cfg.Recall.Vectors == config.Off,
		Now:            deps.Now, Random: rand.Reader, Log: deps.Log,
	})
	return nil
}

// recallBytes returns the size of the recall index cache: the setting, and at most a quarter of the memory.
func recallBytes(setting int, memory int64) int64 {
	bytes := int64(setting) << 20
	if memory > 0 {
		bytes = min(bytes, memory/4)
	}
	return bytes
}

// dropped waits until no other process has the destroyed data key of a subject in memory.
func (s *services) dropped(ctx context.Context, workspaceID string, subject memory.Hash) error {
	if !s.instance.Engine.Shared() {
		return nil
	}
	number, err := s.instance.Store.News.TellDestroyed(ctx, workspaceID, subject)
	if err != nil || s.peers == nil {
		return err
	}
	return s.peers.members.AwaitConfirmed(ctx, number)
}

// maxMemories returns the limit of the workspace's tier; nil means no limit.
func (s *services) maxMemories(workspaceID string) *int64 {
	if w, ok := s.accounts.Entry(workspaceID); ok {
		return w.Tier().Memories
	}
	return nil
}

// erasures completes an erasure in its transaction: it deletes stored responses about the memories, and the subject from
// the records of revoked keys. Last, it appends the erasure to the journal.
type erasures struct {
	store  *instance.Store
	lookup seal.Lookup
}

// SubjectErased implements memory.Journal.
func (e erasures) SubjectErased(ctx context.Context, workspaceID string, subject memory.Hash, generation int64, at time.Time) error {
	if err := e.store.Idempotency.DropAnswers(ctx, workspaceID, subject); err != nil {
		return err
	}
	is := func(name string) bool { return e.lookup.Subject(workspaceID, name) == subject }
	if err := e.store.APIKeys.ForgetBoundSubject(ctx, workspaceID, is); err != nil {
		return err
	}
	return e.store.Journal.Append(backup.SubjectEntry(workspaceID, subject, generation, at))
}

// MemoriesExpired implements memory.Journal.
func (e erasures) MemoriesExpired(ctx context.Context, workspaceID string, subject memory.Hash) error {
	return e.store.Idempotency.DropAnswers(ctx, workspaceID, subject)
}

// MemoriesErased implements memory.Journal.
func (e erasures) MemoriesErased(ctx context.Context, workspaceID string, subject memory.Hash, ids []string, at time.Time) error {
	if err := e.store.Idempotency.DropAnswers(ctx, workspaceID, subject); err != nil {
		return err
	}
	return e.store.Journal.Append(backup.MemoriesEntry(workspaceID, subject, ids, at))
}
