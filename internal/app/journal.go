package app

import (
	"context"
	"path/filepath"

	"keepsake/internal/account"
	"keepsake/internal/apikey"
	"keepsake/internal/backup"
	"keepsake/internal/store"
)

// JournalPath is where the journal of credentials in a data folder is.
func JournalPath(dir string) string { return filepath.Join(dir, "journal.ndjson") }

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
