package app

import (
	"context"
	"sync"

	clusterpg "keepsake/internal/cluster/postgres"
	"keepsake/internal/idempotency"
	"keepsake/internal/seal"
	"keepsake/internal/store/postgres"
)

// assembleReplays makes what answers repeated requests. On a shared database the members tell each other what runs.
func (p *parts) assembleReplays(deps *Deps) {
	i := p.instance
	p.replays = idempotency.NewService(i.Store, i.Store, i.Secrets.Get(seal.Replay), deps.Now)
	p.replays.SealBy(answerKeys{p.subjects, i.Binding})
	p.replays.Limit(p.maxStorage)
	if engine, ok := i.Engine.(*postgres.Engine); ok && !deps.Local {
		p.claims = clusterpg.NewClaims(engine.Connect, deps.Log)
		p.replays.Among(p.claims)
	}
}

// answerKeys are what kept answers are sealed with.
type answerKeys struct {
	subjects *seal.Subjects
	instance *seal.DataKey
}

// AnswerKey implements idempotency.Keys.
func (k answerKeys) AnswerKey(ctx context.Context, name idempotency.KeyName) (idempotency.Key, error) {
	if name == (idempotency.KeyName{}) {
		return k.instance, nil
	}
	key, err := k.subjects.Find(ctx, name.WorkspaceID, name.Subject, name.Generation)
	if err != nil {
		return nil, err
	}
	return key, nil
}

// runClaims ends after the last request.
func (p *parts) runClaims(ctx context.Context, running *sync.WaitGroup) {
	if p.claims != nil {
		running.Go(func() { p.claims.Run(ctx) })
	}
}
