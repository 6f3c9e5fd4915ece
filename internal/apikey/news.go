package apikey

import (
	"context"
	"fmt"

	"keepsake/internal/id"
)

// What is in this file is for a process that shares its database: it hears from others what they changed.

// Sharer reads keys for a directory that others change behind its back.
type Sharer interface {
	// APIKeys reads the keys with these ids, also revoked ones. k is used again for the next one.
	APIKeys(ctx context.Context, ids []string, fn func(k *APIKey) error) error
}

// Hear reads anew keys that another process has made, changed or revoked.
func (d *Directory) Hear(ctx context.Context, by Sharer, ids []string) error {
	return by.APIKeys(ctx, ids, func(k *APIKey) error {
		d.Put(k)
		return nil
	})
}

// HearAll reads all keys anew. Those the store no longer counts among the live ones are read one by one: they were revoked.
func (d *Directory) HearAll(ctx context.Context, by Sharer) error {
	known := d.known()
	err := d.store.EachAPIKey(ctx, func(k *APIKey) error {
		if key, ok := id.Parse(id.APIKey, k.ID); ok {
			delete(known, key)
		}
		d.Put(k)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read API keys: %w", err)
	}
	var ids []string
	for key := range known {
		ids = append(ids, id.Format(id.APIKey, key))
	}
	if err := by.APIKeys(ctx, ids, func(k *APIKey) error {
		if key, ok := id.Parse(id.APIKey, k.ID); ok {
			delete(known, key)
		}
		d.Put(k)
		return nil
	}); err != nil {
		return fmt.Errorf("read API keys that are live no longer: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range known { // of a store that was set back: it never had them
		d.refuse(key)
	}
	return nil
}

// known are the keys here that are not revoked.
func (d *Directory) known() map[id.UUID]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := make(map[id.UUID]bool, len(d.byID))
	for key, i := range d.byID {
		var f facts
		if d.shelf(i).read(i%shelfLen, &f); f.flags&flagRevoked == 0 {
			known[key] = true
		}
	}
	return known
}

// refuse revokes a key in memory alone. The caller holds the lock.
func (d *Directory) refuse(key id.UUID) {
	i, ok := d.byID[key]
	if !ok {
		return
	}
	var f facts
	shelf := d.shelf(i)
	shelf.read(i%shelfLen, &f)
	if f.flags&flagRevoked == 0 {
		f.flags |= flagRevoked
		shelf.write(i%shelfLen, &f)
		d.removed = append(d.removed, removal{key, d.now()})
	}
}
