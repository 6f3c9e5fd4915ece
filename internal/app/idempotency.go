package app

import (
	"context"

	"keepsake/internal/app/instance"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/memory/seal"
	clusterpg "keepsake/internal/store/cluster/postgres"
)

// newReplays creates the service that replays responses. On a shared database, claims say which requests run.
func newReplays(
	i *instance.Instance, deps *Deps, subjects *seal.Subjects, maxStorage func(workspaceID string) *int64, claims *clusterpg.Claims,
) *idempotency.Service {
	replays := idempotency.NewService(i.Store.Idempotency, i.Store, i.Secrets.Get(seal.Replay), deps.Now)
	replays.SealBy(answerKeys{subjects, i.Binding})
	replays.Limit(maxStorage)
	if claims != nil {
		replays.Among(claims)
	}
	return replays
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
