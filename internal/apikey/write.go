package apikey

import (
	"fmt"
	"maps"
	"time"

	"keepsake/internal/id"
	"keepsake/internal/limit"
	"keepsake/internal/usage"
)

// Put adds a key whose creation was committed, or brings a changed one up to date. A revoked key is refused from then
// on. Hooks of two commits may arrive in either order: an older revision than the one known changes nothing.
//
// A key that cannot be placed is not in the directory and has never been, so there is nothing to take back: its use then
// ends in the same error, from the look into the store.
func (d *Directory) Put(k *APIKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	_ = d.put(k)
}

func (d *Directory) put(k *APIKey) error {
	d.sweep()
	i, err := d.place(k)
	if err != nil {
		return err
	}
	for n, s := range k.Secrets {
		if _, known := (*d.shards[s.Hash[0]].index.Load())[s.Hash]; !known {
			d.reindex(s.Hash, func(in index) { in[s.Hash] = i<<1 | uint32(n) })
		}
	}
	return nil
}

// place writes k into its slot, a new one if it has none, and says which. A key keeps the secrets it was made with, in
// their order. The caller holds the lock and indexes them.
func (d *Directory) place(k *APIKey) (uint32, error) {
	key, ok := id.Parse(id.APIKey, k.ID)
	if !ok {
		return 0, fmt.Errorf("API key %q: its id is none", k.ID)
	}
	workspace, ok := d.accounts.Entry(k.WorkspaceID)
	if !ok {
		return 0, fmt.Errorf("API key %q: its workspace %q is not there", k.ID, k.WorkspaceID)
	}
	if len(k.Secrets) == 0 || len(k.Secrets) > maxSecrets {
		return 0, fmt.Errorf("API key %q has %d secrets", k.ID, len(k.Secrets))
	}
	f := facts{
		key: key, workspace: workspace.Index(), scopes: k.Scopes, revision: k.Revision,
		expiresAt: milliseconds(k.ExpiresAt),
		perMinute: orZero(k.RequestsPerMinute), daily: orZero(k.Daily), monthly: orZero(k.Monthly),
	}
	if k.DisabledAt != nil {
		f.flags |= flagDisabled
	}
	if k.RevokedAt != nil {
		f.flags |= flagRevoked
	}
	if k.SubjectID != "" || k.AgentID != "" || len(k.AllowedIPs) > 0 {
		f.bounds = &bounds{subjectID: k.SubjectID, agentID: k.AgentID, allowedIPs: k.AllowedIPs}
	}

	i, known := d.byID[key]
	var old facts
	if known {
		d.shelf(i).read(i%shelfLen, &old)
		if old.revision >= k.Revision {
			return i, nil
		}
		f.owner = old.owner
	} else {
		i = d.allot()
		d.slot(i).use.Init(k.ID)
		d.byID[key] = i
		f.owner = d.recorder.Owner(k.WorkspaceID, k.ID)
	}
	for n, s := range k.Secrets {
		f.secrets[n] = secretFacts{milliseconds(s.ValidUntil), old.secrets[n].usage}
		if !known {
			f.secrets[n].usage = d.recorder.Secret(k.ID, s.Hint)
		}
	}
	d.shelf(i).write(i%shelfLen, &f)
	if k.RevokedAt != nil && old.flags&flagRevoked == 0 {
		hashes := make([][32]byte, len(k.Secrets))
		for n, s := range k.Secrets {
			hashes[n] = s.Hash
		}
		d.removed = append(d.removed, removal{key, hashes, d.now()})
	}
	return i, nil
}

// allot gives a slot that nobody uses.
func (d *Directory) allot() uint32 {
	if n := len(d.free); n > 0 {
		i := d.free[n-1]
		d.free = d.free[:n-1]
		*d.slot(i) = slot{}
		return i
	}
	i := d.length
	d.length++
	if shelves := *d.shelves.Load(); int(i/shelfLen) == len(shelves) {
		// Readers see only the length they loaded, so appending behind it does not disturb them.
		shelves = append(shelves, &shelf{slots: new([shelfLen]slot)})
		d.shelves.Store(&shelves)
	}
	return i
}

// sweep forgets keys whose quarantine is over. From then on they are found in the store, and still refused.
func (d *Directory) sweep() {
	now := d.now()
	for len(d.removed) > 0 && now.Sub(d.removed[0].at) > quarantine {
		r := d.removed[0]
		d.removed = d.removed[1:]
		for _, hash := range r.hashes {
			d.reindex(hash, func(in index) { delete(in, hash) })
		}
		d.free = append(d.free, d.byID[r.key])
		delete(d.byID, r.key)
		d.evicted.Add(1)
	}
}

// reindex publishes a changed copy of the index of hash's shard.
func (d *Directory) reindex(hash [32]byte, change func(index)) {
	shard := &d.shards[hash[0]]
	next := maps.Clone(*shard.index.Load())
	change(next)
	shard.index.Store(&next)
}

func (d *Directory) shelf(i uint32) *shelf { return (*d.shelves.Load())[i/shelfLen] }

// use is a key's counters; fresh ones for a key the directory has forgotten.
func (d *Directory) use(keyID string) *limit.Use {
	key, _ := id.Parse(id.APIKey, keyID)
	d.mu.Lock()
	defer d.mu.Unlock()
	if i, ok := d.byID[key]; ok {
		return &d.slot(i).use
	}
	fresh := new(limit.Use)
	fresh.Init(keyID)
	return fresh
}

// lastUsed is the last use of one of a key's secrets since the program started; the zero time when there was none.
func (d *Directory) lastUsed(key id.UUID, which int) time.Time {
	d.mu.Lock()
	i, ok := d.byID[key]
	d.mu.Unlock()
	if !ok || which >= maxSecrets {
		return time.Time{}
	}
	return d.recorder.LastUsed(usage.Secret(d.slot(i).secrets[which].Load()))
}

// milliseconds is a moment as slots keep it, 0 for none.
func milliseconds(t *time.Time) int64 {
	if t == nil {
		return 0
	}
	return t.UnixMilli()
}

func orZero(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
