package app

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"keepsake/internal/account"
	"keepsake/internal/apikey"
	"keepsake/internal/backup"
	"keepsake/internal/seal"
	"keepsake/internal/store"
)

// JournalPath is where the journal of credentials in a data folder is.
func JournalPath(dir string) string { return filepath.Join(dir, "journal.ndjson") }

// journalSigner authenticates the lines of journals. Its secret is as old as the instance, so that every keys file holds it.
func journalSigner(secrets *seal.Secrets) *backup.Signer {
	return backup.NewSigner(secrets.Get(seal.Log))
}

// authenticateJournal has the lines of the journal authenticated from here on. Those that an older release left get their
// authentication at the first start of this release on the folder, of which a secret tells the next ones; an instance that
// this release made has none. What cannot be believed is for an operator to look into, and ends no start.
func (d *data) authenticateJournal(ctx context.Context) error {
	begun := seal.JournalBegun + d.chain
	_, again := d.secrets.Find(begun)
	err := d.store.journal.Authenticate(journalSigner(d.secrets), !again && !d.secrets.Authenticates())
	if _, unread := errors.AsType[*fs.PathError](err); unread {
		return err
	}
	if err != nil {
		d.log.Error("the journal holds what this instance did not write: a restore will refuse it", "error", err)
	}
	_, err = d.secrets.Ensure(ctx, begun)
	return err
}

// journalled is a store that tells the journal of every change of a credential, in the change's unit of work.
type journalled struct {
	*store.Store
	journal *backup.Journal
}

var (
	_ apikey.Store  = (*journalled)(nil)
	_ account.Store = (*journalled)(nil)
)

// UpdateAPIKey implements apikey.Store.
func (s *journalled) UpdateAPIKey(ctx context.Context, k *apikey.APIKey) error {
	return s.both(ctx, backup.KeyEntry(k), func(ctx context.Context) error { return s.Store.UpdateAPIKey(ctx, k) })
}

// UpdateUser implements account.Store.
func (s *journalled) UpdateUser(ctx context.Context, u *account.User) error {
	return s.both(ctx, backup.UserEntry(u, false), func(ctx context.Context) error { return s.Store.UpdateUser(ctx, u) })
}

// DeleteUser implements account.Store.
func (s *journalled) DeleteUser(ctx context.Context, u *account.User) error {
	return s.both(ctx, backup.UserEntry(u, true), func(ctx context.Context) error { return s.Store.DeleteUser(ctx, u) })
}

// UpdateWorkspace implements account.Store.
func (s *journalled) UpdateWorkspace(ctx context.Context, w *account.Workspace) error {
	return s.both(ctx, backup.WorkspaceEntry(w), func(ctx context.Context) error { return s.Store.UpdateWorkspace(ctx, w) })
}

// both makes a change and, in the same unit of work, tells the journal of it. The writer waits for the journal's fsync:
// that credentials change is rare, and what a backup would undo must not be known to the database alone.
func (s *journalled) both(ctx context.Context, e backup.Entry, change func(ctx context.Context) error) error {
	return s.Run(ctx, func(ctx context.Context) error {
		if err := change(ctx); err != nil {
			return err
		}
		return s.journal.Append(e)
	})
}
