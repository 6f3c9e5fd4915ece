package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/govern/limit"
)

// This file is for processes that share a database: they reload what other processes have changed.

// ErrUnknownTier means that a workspace has a tier that is in the settings of another process and not in those of this one.
var ErrUnknownTier = errors.New("the tier is not in the settings of this process")

// readTimeout bounds the read of a workspace that is not in memory.
const readTimeout = 2 * time.Second

// ReadMissing makes Entry read the database for a workspace that is not in memory, because another process can have created
// it. Call it before the directory is used.
func (d *Directory) ReadMissing() { d.load = d.readMissing }

// readMissing reads a workspace that another process has perhaps just created: its key or user can be used here before the
// event that announces it arrives.
func (d *Directory) readMissing(id string) *Entry {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	_ = d.Reload(ctx, id) // after an error the workspace counts as missing, and the next use reads again
	return (*d.entries.Load())[id]
}

// Reload reads a workspace again that another process has created or changed. After ErrUnknownTier the rest of the change is
// in force; the workspace keeps its tier, and a new one has limit.TierFree.
func (d *Directory) Reload(ctx context.Context, workspaceID string) error {
	w, err := d.store.Workspace(ctx, workspaceID)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read workspace %s: %w", workspaceID, err)
	}
	return d.putForeign(w)
}

// ReloadAll reads all workspaces again, like Reload.
func (d *Directory) ReloadAll(ctx context.Context) error {
	workspaces, err := d.store.Workspaces(ctx)
	if err != nil {
		return fmt.Errorf("read workspaces: %w", err)
	}
	var unknown error
	for i := range workspaces {
		if err := d.putForeign(&workspaces[i]); err != nil {
			unknown = err
		}
	}
	return unknown
}

// putForeign puts a workspace whose tier this process possibly does not know.
func (d *Directory) putForeign(w *Workspace) error {
	unknown := d.CheckTier(w.Tier)
	if unknown != nil {
		tier := limit.TierFree
		if e := (*d.entries.Load())[w.ID]; e != nil {
			tier = e.Tier().Name
		}
		unknown = fmt.Errorf("workspace %s has the tier %q: %w", w.ID, w.Tier, ErrUnknownTier)
		w.Tier = tier
	}
	return errors.Join(unknown, d.Put(w))
}

// ForgetUser removes a user's sessions from memory, because the user was changed, disabled or deleted, or sessions ended.
func (b *Bearers) ForgetUser(userID string) { b.sessions.removeUser(userID, "") }

// ForgetSession removes a session that ended from memory.
func (b *Bearers) ForgetSession(sessionID string) { b.sessions.removeSession(sessionID) }

// ForgetAll removes every session from memory.
func (b *Bearers) ForgetAll() { b.sessions.removeAll() }
