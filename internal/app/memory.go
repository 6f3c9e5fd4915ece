package app

import (
	"context"
	"crypto/rand"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/govern/backup"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/memory"
	"keepsake/internal/memory/seal"
)

// assembleMemory creates the memory service, with the embeddings endpoint if one is set.
func assembleMemory(i *instance.Instance, cfg *config.Config, deps *Deps, s *services) remembering {
	embeddings := newEmbeddings(i, cfg, deps, s.identity.accounts)
	service := memory.NewService(memory.Options{
		Store: i.Store.Memories, Units: i.Store, Keys: s.secrets.subjects, Lookup: s.secrets.lookup, Audit: s.records.audit,
		Events: s.events.outbox, Journal: erasures{i.Store, s.secrets.lookup}, Alone: !i.Engine.Shared(),
		MaxMemories: s.identity.maxMemories, MaxBytes: s.identity.maxStorage, Sign: s.secrets.receipts.Sign,
		SealAnswerWith: func(ctx context.Context, workspaceID string, subject memory.Hash, generation int64) {
			idempotency.SealWith(ctx, idempotency.KeyName{WorkspaceID: workspaceID, Subject: subject, Generation: generation})
		},
		Shares: s.search.shares, RecallBytes: recallBytes(cfg.Memory.Cache, memoryLimit()),
		DropKey: func(ctx context.Context, workspaceID string, subject memory.Hash) error {
			return s.members.dropped(ctx, i, workspaceID, subject)
		},
		Embeddings: embeddings, Vectors: deps.vectors,
		Now: deps.Now, Random: rand.Reader, Log: deps.Log,
	})
	return remembering{service: service, embeddings: embeddings, dailyTexts: cfg.Embeddings.DailyTexts}
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
func (m *members) dropped(ctx context.Context, i *instance.Instance, workspaceID string, subject memory.Hash) error {
	if !i.Engine.Shared() {
		return nil
	}
	number, err := i.Store.News.TellDestroyed(ctx, workspaceID, subject)
	if err != nil || m.peers == nil {
		return err
	}
	return m.peers.members.AwaitConfirmed(ctx, number)
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
