package instance

import (
	"context"
	"errors"
	"io/fs"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/backup"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/usage"
)

// journalSigner authenticates journal lines. Its secret is as old as the instance, so every keys file contains it.
func journalSigner(secrets *seal.Secrets) *backup.Signer {
	return backup.NewSigner(secrets.Get(seal.Log))
}

// authenticateJournal authenticates the journal's lines. A line that fails does not prevent the start: the operator must examine
// it.
func (i *Instance) authenticateJournal() error {
	err := i.Store.Journal.Authenticate(journalSigner(i.Secrets))
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return err
	}
	if err != nil {
		i.opt.Log.Error("journal authentication failed; a restore will refuse it", "error", err)
	}
	return nil
}

// Store is the store of an instance. Its APIKeys and Accounts hide those of the embedded store.
type Store struct {
	*store.Store
	APIKeys  *APIKeys
	Accounts *Accounts
	Usage    *usage.Store
	Journal  *backup.Journal
}

func newStore(engine store.Engine, journal *backup.Journal) *Store {
	s := store.New(engine)
	j := journalled{s, journal}
	return &Store{
		Store: s, APIKeys: &APIKeys{s.APIKeys, j}, Accounts: &Accounts{s.Accounts, j}, Usage: usage.New(engine), Journal: journal,
	}
}

// APIKeys appends every change of an API key to the journal, within the transaction of the change.
type APIKeys struct {
	*store.APIKeys
	journalled journalled
}

// Accounts appends every change of a user or a workspace to the journal, within the transaction of the change.
type Accounts struct {
	*store.Accounts
	journalled journalled
}

var (
	_ apikey.Store  = (*APIKeys)(nil)
	_ account.Store = (*Accounts)(nil)
)

// UpdateAPIKey implements apikey.Store.
func (s *APIKeys) UpdateAPIKey(ctx context.Context, k *apikey.APIKey) error {
	return s.journalled.run(ctx, backup.KeyEntry(k), func(ctx context.Context) error { return s.APIKeys.UpdateAPIKey(ctx, k) })
}

// UpdateUser implements account.Store.
func (s *Accounts) UpdateUser(ctx context.Context, u *account.User) error {
	return s.journalled.run(ctx, backup.UserEntry(u, false), func(ctx context.Context) error { return s.Accounts.UpdateUser(ctx, u) })
}

// DeleteUser implements account.Store.
func (s *Accounts) DeleteUser(ctx context.Context, u *account.User) error {
	return s.journalled.run(ctx, backup.UserEntry(u, true), func(ctx context.Context) error { return s.Accounts.DeleteUser(ctx, u) })
}

// UpdateWorkspace implements account.Store.
func (s *Accounts) UpdateWorkspace(ctx context.Context, w *account.Workspace) error {
	return s.journalled.run(ctx, backup.WorkspaceEntry(w), func(ctx context.Context) error { return s.Accounts.UpdateWorkspace(ctx, w) })
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
