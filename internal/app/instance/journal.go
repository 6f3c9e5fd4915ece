package instance

import (
	"context"
	"errors"
	"io/fs"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/backup"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
)

// journalSigner authenticates journal lines. Its secret is as old as the instance, so every keys file contains it.
func journalSigner(secrets *seal.Secrets) *backup.Signer {
	return backup.NewSigner(secrets.Get(seal.Log))
}

// authenticateJournal authenticates the journal's lines. Lines of an older release are authenticated once, at the first
// start of this release on the folder; a secret records that. A line that fails does not prevent the start: the operator
// must examine it.
func (i *Instance) authenticateJournal(ctx context.Context) error {
	begun := seal.JournalBegun + i.Chain
	_, again := i.Secrets.Find(begun)
	err := i.Store.Journal.Authenticate(journalSigner(i.Secrets), !again && !i.Secrets.Authenticates())
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return err
	}
	if err != nil {
		i.opt.Log.Error("journal authentication failed; a restore will refuse it", "error", err)
	}
	_, err = i.Secrets.Ensure(ctx, begun)
	return err
}

// Store appends every change of a credential to the journal, within the transaction of the change.
type Store struct {
	*store.Store
	Journal *backup.Journal
}

var (
	_ apikey.Store  = (*Store)(nil)
	_ account.Store = (*Store)(nil)
)

// UpdateAPIKey implements apikey.Store.
func (s *Store) UpdateAPIKey(ctx context.Context, k *apikey.APIKey) error {
	return s.journalled(ctx, backup.KeyEntry(k), func(ctx context.Context) error { return s.Store.UpdateAPIKey(ctx, k) })
}

// UpdateUser implements account.Store.
func (s *Store) UpdateUser(ctx context.Context, u *account.User) error {
	return s.journalled(ctx, backup.UserEntry(u, false), func(ctx context.Context) error { return s.Store.UpdateUser(ctx, u) })
}

// DeleteUser implements account.Store.
func (s *Store) DeleteUser(ctx context.Context, u *account.User) error {
	return s.journalled(ctx, backup.UserEntry(u, true), func(ctx context.Context) error { return s.Store.DeleteUser(ctx, u) })
}

// UpdateWorkspace implements account.Store.
func (s *Store) UpdateWorkspace(ctx context.Context, w *account.Workspace) error {
	return s.journalled(ctx, backup.WorkspaceEntry(w), func(ctx context.Context) error { return s.Store.UpdateWorkspace(ctx, w) })
}

// journalled runs change and then appends e, before the commit. The transaction waits for the journal's fsync: a change
// that only the database knows would be lost by a restore.
func (s *Store) journalled(ctx context.Context, e backup.Entry, change func(ctx context.Context) error) error {
	return s.Run(ctx, func(ctx context.Context) error {
		if err := change(ctx); err != nil {
			return err
		}
		return s.Journal.Append(e)
	})
}
