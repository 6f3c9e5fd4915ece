package apikey

import (
	"context"
	"fmt"

	"keepsake/internal/base/id"
)

// Reload reads keys again that another process has created, changed or revoked.
func (d *Directory) Reload(ctx context.Context, ids []string) error {
	err := d.store.APIKeysByID(ctx, ids, func(k *APIKey) error {
		d.Put(k)
		return nil
	})
	if err != nil {
		return fmt.Errorf("reload API keys: %w", err)
	}
	return nil
}

// ReloadAll reads all keys again, for a process that has possibly missed changes. A key in memory that EachAPIKey does not
// return was revoked, or does not exist any more because a backup was restored; it is refused either way.
func (d *Directory) ReloadAll(ctx context.Context) error {
	unseen := d.ids()
	put := func(k *APIKey) error {
		if key, ok := id.Parse(id.APIKey, k.ID); ok {
			delete(unseen, key)
		}
		d.Put(k)
		return nil
	}
	if err := d.store.EachAPIKey(ctx, put); err != nil {
		return fmt.Errorf("reload API keys: %w", err)
	}
	var ids []string
	for key := range unseen {
		ids = append(ids, id.Format(id.APIKey, key))
	}
	if err := d.store.APIKeysByID(ctx, ids, put); err != nil {
		return fmt.Errorf("reload revoked API keys: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	edit := d.index.begin()
	defer edit.publish()
	for key := range unseen { // not in the database
		d.revoke(edit, key, 0)
	}
	return nil
}

// ids returns the IDs of the keys in memory that are not revoked.
func (d *Directory) ids() map[id.UUID]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	ids := make(map[id.UUID]bool, len(d.byID))
	for key, e := range d.byID {
		if !e.revoked {
			ids[key] = true
		}
	}
	return ids
}
