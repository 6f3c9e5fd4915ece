package store

import (
	"context"
	"errors"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/apikey"
	"keepsake/internal/document"
	"keepsake/internal/idempotency"
	"keepsake/internal/seal"
	"keepsake/internal/usage"
)

var errNotYet = errors.New("not yet")

func (s *Store) CreateWorkspace(ctx context.Context, w *account.Workspace) error { return errNotYet }

func (s *Store) Workspaces(ctx context.Context) ([]account.Workspace, error) { return nil, errNotYet }

func (s *Store) CreateUser(ctx context.Context, u *account.User) error { return errNotYet }

func (s *Store) CreateAPIKey(ctx context.Context, k *apikey.APIKey, max int64) error {
	return errNotYet
}

func (s *Store) APIKey(ctx context.Context, workspaceID, id string) (*apikey.APIKey, error) {
	return nil, errNotYet
}

func (s *Store) ListAPIKeys(ctx context.Context, workspaceID string, f apikey.Filter) ([]apikey.APIKey, error) {
	return nil, errNotYet
}
func (s *Store) UpdateAPIKey(ctx context.Context, k *apikey.APIKey) error { return errNotYet }
func (s *Store) APIKeyBySecret(ctx context.Context, hash [32]byte) (*apikey.APIKey, error) {
	return nil, errNotYet
}

func (s *Store) EachAPIKey(ctx context.Context, fn func(k *apikey.APIKey) error) error {
	return errNotYet
}

func (s *Store) CountAPIKeys(ctx context.Context, workspaceID string, now time.Time) (int64, error) {
	return 0, errNotYet
}

func (s *Store) PutDocument(ctx context.Context, workspaceID string, d *document.Document, p document.Put) (bool, error) {
	return false, errNotYet
}

func (s *Store) Document(ctx context.Context, workspaceID, id string) (*document.Document, error) {
	return nil, errNotYet
}

func (s *Store) Documents(ctx context.Context, workspaceID string, ids []string) ([]document.Document, error) {
	return nil, errNotYet
}

func (s *Store) DeleteDocument(ctx context.Context, workspaceID, id string, ifRevision *int64) error {
	return errNotYet
}

func (s *Store) ListDocuments(ctx context.Context, workspaceID string, f document.Filter) ([]document.Document, error) {
	return nil, errNotYet
}

func (s *Store) DocumentChanges(ctx context.Context, workspaceID string, after int64, limit int) ([]document.Change, error) {
	return nil, errNotYet
}

func (s *Store) DocumentChange(ctx context.Context, workspaceID string) (int64, error) {
	return 0, errNotYet
}

func (s *Store) ChangedWorkspaces(ctx context.Context) (map[string]int64, error) {
	return nil, errNotYet
}

func (s *Store) KeepAnswer(ctx context.Context, a *idempotency.Answer) error { return errNotYet }
func (s *Store) KeptAnswer(ctx context.Context, claim [32]byte, now time.Time) (*idempotency.Answer, error) {
	return nil, errNotYet
}
func (s *Store) PruneAnswers(ctx context.Context, now time.Time) error { return errNotYet }

func (s *Store) Secrets(ctx context.Context) ([]seal.Wrapped, error)    { return nil, errNotYet }
func (s *Store) AddSecrets(ctx context.Context, w []seal.Wrapped) error { return errNotYet }
func (s *Store) AddUsage(ctx context.Context, d usage.Delta) error      { return errNotYet }
func (s *Store) PruneUsage(ctx context.Context, before time.Time) error { return errNotYet }
func (s *Store) RollUpUsage(ctx context.Context, before time.Time) error { return errNotYet }
func (s *Store) Quotas(ctx context.Context, periods []string) ([]usage.Quota, error) {
	return nil, errNotYet
}

func (s *Store) LastUses(ctx context.Context, keyIDs []string) ([]usage.LastUse, error) {
	return nil, errNotYet
}

func (s *Store) KeySeries(ctx context.Context, workspaceID, keyID string, from, to time.Time, step time.Duration) ([]usage.Point, error) {
	return nil, errNotYet
}

func (s *Store) InstanceID(ctx context.Context) (string, error) { return "", errNotYet }
