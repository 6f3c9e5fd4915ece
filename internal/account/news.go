package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"keepsake/internal/limit"
)

// What is in this file is for a process that shares its database: it hears from others what they changed.

// ErrUnknownTier says that a workspace has a tier which the settings of this process do not name. Another process' do.
var ErrUnknownTier = errors.New("a tier that the settings of this process do not have")

// lateTimeout bounds the look for a workspace that nobody has heard of yet.
const lateTimeout = 2 * time.Second

// Share says that other processes make workspaces, too: one that is not known may be there all the same. Call it before
// the directory is used.
func (d *Directory) Share() { d.late = d.findLate }

// findLate reads a workspace that another process may have made so lately that the news of it were not heard yet. Its
// key, or its user, may be here before the news are.
func (d *Directory) findLate(id string) *Entry {
	ctx, cancel := context.WithTimeout(context.Background(), lateTimeout)
	defer cancel()
	_ = d.Hear(ctx, id) // who asked is told that there is none, or asks again
	return d.entries.Load().byID[id]
}

// Hear reads anew a workspace that another process has made or changed. ErrUnknownTier: everything else of it is in
// force, and it keeps the tier it had; one that is new is given limit.TierFree.
func (d *Directory) Hear(ctx context.Context, workspaceID string) error {
	w, err := d.store.Workspace(ctx, workspaceID)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read workspace %s: %w", workspaceID, err)
	}
	return d.hear(w)
}

// HearAll reads all workspaces anew, as Hear does.
func (d *Directory) HearAll(ctx context.Context) error {
	workspaces, err := d.store.Workspaces(ctx)
	if err != nil {
		return fmt.Errorf("read workspaces: %w", err)
	}
	var unknown error
	for i := range workspaces {
		if err := d.hear(&workspaces[i]); err != nil {
			unknown = err
		}
	}
	return unknown
}

func (d *Directory) hear(w *Workspace) error {
	unknown := d.Knows(w.Tier)
	if unknown != nil {
		tier := limit.TierFree
		if e := d.entries.Load().byID[w.ID]; e != nil {
			tier = e.Tier().Name
		}
		unknown = fmt.Errorf("workspace %s has the tier %q: %w", w.ID, w.Tier, ErrUnknownTier)
		w.Tier = tier
	}
	return errors.Join(unknown, d.Put(w))
}

// HearTiers reads anew the tiers that another process has changed.
func (s *Service) HearTiers(ctx context.Context) error { return s.LoadTiers(ctx) }

// HearUser forgets what is known of a user's sessions: the user was changed, disabled or deleted, or sessions ended.
func (b *Bearers) HearUser(userID string) { b.dropUser(userID, "") }

// HearSession forgets what is known of a session that ended.
func (b *Bearers) HearSession(sessionID string) { b.dropSession(sessionID) }

// HearAll forgets what is known of every session.
func (b *Bearers) HearAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	for _, l := range b.live {
		b.remove(l)
	}
}
