package instance

import (
	"errors"
	"io/fs"

	"keepsake/internal/govern/backup"
	"keepsake/internal/memory/seal"
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
