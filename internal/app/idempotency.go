package app

import (
	"context"
	"sync"

	"keepsake/internal/govern/idempotency"
	"keepsake/internal/memory/seal"
	clusterpg "keepsake/internal/store/cluster/postgres"
	"keepsake/internal/store/postgres"
)

// assembleIdempotency creates the service that replays responses. On a shared database, claims say which requests run.
func (s *services) assembleIdempotency(deps *Deps) {
	i := s.instance
	s.replays = idempotency.NewService(i.Store.Idempotency, i.Store, i.Secrets.Get(seal.Replay), deps.Now)
	s.replays.SealBy(answerKeys{s.subjects, i.Binding})
	s.replays.Limit(s.maxStorage)
	if engine, ok := i.Engine.(*postgres.Engine); ok && !deps.Local {
		s.claims = clusterpg.NewClaims(engine.Connect, deps.Log)
		s.replays.Among(s.claims)
	}
}

// answerKeys encrypt stored responses: with the data key of a subject, or with a key of the instance.
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

// runClaims starts the claims, which must outlive the last request.
func (s *services) runClaims(ctx context.Context, running *sync.WaitGroup) {
	if s.claims != nil {
		running.Go(func() { s.claims.Run(ctx) })
	}
}
