package instance

import (
	"context"
	"time"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/backup"
	"keepsake/internal/store"
	"keepsake/internal/store/usage"
)

// Store has the parts of the store that a server works with. Changes of API keys, users and workspaces cannot bypass the
// journal: the parts without it are private.
type Store struct {
	APIKeys     *APIKeys
	Accounts    *Accounts
	Sessions    *store.Sessions
	Guesses     *store.Guesses
	Audit       *store.Audit
	Documents   *store.Documents
	Memories    *store.Memories
	Idempotency *store.Idempotency
	Events      *store.Events
	Versions    *store.Versions
	Secrets     *store.Secrets
	SubjectKeys *store.SubjectKeys
	News        *store.News
	Usage       *usage.Store
	Journal     *backup.Journal

	rows *store.Store // changes of its APIKeys and Accounts bypass the journal
}

func newStore(engine store.Engine, journal *backup.Journal) *Store {
	rows := store.New(engine)
	j := journalled{rows, journal}
	return &Store{
		APIKeys: &APIKeys{rows.APIKeys, rows.APIKeys, j}, Accounts: &Accounts{rows.Accounts, rows.Accounts, j},
		Sessions: rows.Sessions, Guesses: rows.Guesses, Audit: rows.Audit, Documents: rows.Documents, Memories: rows.Memories,
		Idempotency: rows.Idempotency, Events: rows.Events, Versions: rows.Versions, Secrets: rows.Secrets,
		SubjectKeys: rows.SubjectKeys, News: rows.News, Usage: usage.New(engine), Journal: journal, rows: rows,
	}
}

// Run implements unit.Runner.
func (s *Store) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	return s.rows.Run(ctx, fn)
}

// Ready returns why nothing can be stored right now, or nil.
func (s *Store) Ready(ctx context.Context) error { return s.rows.Ready(ctx) }

// Readable returns why nothing can be read right now, or nil.
func (s *Store) Readable(ctx context.Context) error { return s.rows.Readable(ctx) }

// APIKeys appends every change of an API key to the journal, within the transaction of the change.
type APIKeys struct {
	apiKeysWithoutEntry
	rows       *store.APIKeys
	journalled journalled
}

// apiKeysWithoutEntry are the methods of store.APIKeys that need no entry in the journal. After a restore, a key that the backup
// lacks is missing, which revives nothing.
type apiKeysWithoutEntry interface {
	apikey.Reader
	CreateAPIKey(ctx context.Context, k *apikey.APIKey, max *int64) error
	CountAPIKeys(ctx context.Context, workspaceID string, now time.Time) (int64, error)
	APIKey(ctx context.Context, workspaceID, id string) (*apikey.APIKey, error)
	ListAPIKeys(ctx context.Context, workspaceID string, f apikey.Filter) ([]apikey.APIKey, error)
	ForgetBoundSubject(ctx context.Context, workspaceID string, is func(subjectID string) bool) error // the erasure has an entry
}

// UpdateAPIKey implements apikey.Store.
func (s *APIKeys) UpdateAPIKey(ctx context.Context, k *apikey.APIKey) error {
	return s.journalled.run(ctx, backup.KeyEntry(k), func(ctx context.Context) error { return s.rows.UpdateAPIKey(ctx, k) })
}

// Accounts appends every change of a user or a workspace to the journal, within the transaction of the change.
type Accounts struct {
	accountsWithoutEntry
	rows       *store.Accounts
	journalled journalled
}

// accountsWithoutEntry are the methods of store.Accounts that need no entry in the journal.
type accountsWithoutEntry interface {
	Initialised(ctx context.Context) (bool, error)
	CreateWorkspace(ctx context.Context, w *account.Workspace) error
	Workspace(ctx context.Context, id string) (*account.Workspace, error)
	Workspaces(ctx context.Context) ([]account.Workspace, error)
	ListWorkspaces(ctx context.Context, before string, limit int) ([]account.Workspace, error)
	CreateUser(ctx context.Context, u *account.User) error
	User(ctx context.Context, within account.Visibility, id string) (*account.User, error)
	ListUsers(ctx context.Context, within account.Visibility, f account.UserFilter) ([]account.User, error)
	CountUsers(ctx context.Context, workspaceID string) (users, admins int64, err error)
	ChangedTiers(ctx context.Context) ([]account.Tier, error)
	KeepTier(ctx context.Context, t *account.Tier) error
}

// A method that the compiler misses here goes into apiKeysWithoutEntry or accountsWithoutEntry. One with a change that a restore
// must not undo is written out instead, with an entry in the journal.
var (
	_ apikey.Store  = (*APIKeys)(nil)
	_ account.Store = (*Accounts)(nil)
)

// UpdateUser implements account.Store.
func (s *Accounts) UpdateUser(ctx context.Context, u *account.User) error {
	return s.journalled.run(ctx, backup.UserEntry(u, false), func(ctx context.Context) error { return s.rows.UpdateUser(ctx, u) })
}

// DeleteUser implements account.Store.
func (s *Accounts) DeleteUser(ctx context.Context, u *account.User) error {
	return s.journalled.run(ctx, backup.UserEntry(u, true), func(ctx context.Context) error { return s.rows.DeleteUser(ctx, u) })
}

// UpdateWorkspace implements account.Store.
func (s *Accounts) UpdateWorkspace(ctx context.Context, w *account.Workspace) error {
	return s.journalled.run(ctx, backup.WorkspaceEntry(w), func(ctx context.Context) error { return s.rows.UpdateWorkspace(ctx, w) })
}

// journalled runs transactions with an entry in the journal.
type journalled struct {
	units   unit.Runner
	journal *backup.Journal
}

// run runs change and then appends e, before the commit. The transaction waits for the journal's fsync: a change that only
// the database knows would be lost by a restore.
func (j journalled) run(ctx context.Context, e backup.Entry, change func(ctx context.Context) error) error {
	return j.units.Run(ctx, func(ctx context.Context) error {
		if err := change(ctx); err != nil {
			return err
		}
		return j.journal.Append(e)
	})
}
