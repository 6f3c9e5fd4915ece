package apikey

import (
	"errors"
	"fmt"
	"maps"
	"slices"
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

// Deny has a key refused as a revoked one from now on, also where the store does not say so.
func (d *Directory) Deny(keyID string) {
	key, ok := id.Parse(id.APIKey, keyID)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.denied == nil {
		d.denied = map[id.UUID]bool{}
	}
	d.denied[key] = true
	d.refuse(key)
}

func (d *Directory) put(k *APIKey) error {
	d.sweep()
	_, moves, err := d.place(k)
	if err != nil {
		return err
	}
	for _, m := range moves.list() {
		d.reindex(m)
	}
	return nil
}

// move is a change of the index: a secret that came to lie somewhere, or is gone.
type move struct {
	hash [32]byte
	to   ref
	gone bool
}

func (m move) apply(in index) {
	if m.gone {
		delete(in, m.hash)
		return
	}
	in[m.hash] = m.to
}

// moves are those of one key: at most as many go as come.
type moves struct {
	all [2 * maxSecrets]move
	n   int
}

func (m *moves) add(one move) { m.all[m.n], m.n = one, m.n+1 }

func (m *moves) list() []move { return m.all[:m.n] }

// place writes k into its slot, a new one if it has none, and says what that changes in the index, which is for the
// caller, who holds the lock. A key that is known as it is, or newer, changes nothing.
func (d *Directory) place(k *APIKey) (i uint32, m moves, err error) {
	f, err := d.factsOf(k)
	if err != nil {
		return 0, m, err
	}
	i, known := d.byID[f.key]
	if !known {
		if i, err = d.allot(); err != nil {
			return 0, m, err
		}
		d.slot(i).use.Init(k.ID)
		d.byID[f.key] = i
	}
	var old facts
	shelf := d.shelf(i)
	shelf.read(i%shelfLen, &old)
	switch {
	case !known:
		f.owner = d.recorder.Owner(k.WorkspaceID, k.ID)
	case old.revision >= k.Revision:
		return i, m, nil
	default:
		f.owner = old.owner
	}
	m = d.seat(k, i, &old, &f)
	shelf.write(i%shelfLen, &f)
	if f.flags&flagRevoked != 0 && old.flags&flagRevoked == 0 {
		d.removed = append(d.removed, removal{f.key, d.now()})
	}
	return i, m, nil
}

// factsOf is what a slot says of k, but for what the directory adds.
func (d *Directory) factsOf(k *APIKey) (facts, error) {
	key, ok := id.Parse(id.APIKey, k.ID)
	if !ok {
		return facts{}, fmt.Errorf("API key %q: its id is none", k.ID)
	}
	workspace, ok := d.accounts.Entry(k.WorkspaceID)
	if !ok {
		return facts{}, fmt.Errorf("API key %q: its workspace %q is not there", k.ID, k.WorkspaceID)
	}
	if len(k.Secrets) == 0 || len(k.Secrets) > maxSecrets {
		return facts{}, fmt.Errorf("API key %q has %d secrets", k.ID, len(k.Secrets))
	}
	f := facts{
		key: key, workspace: workspace.Index(), scopes: k.Scopes, revision: k.Revision,
		expiresAt: milliseconds(k.ExpiresAt),
		perMinute: orZero(k.RequestsPerMinute), daily: orZero(k.Daily), monthly: orZero(k.Monthly),
	}
	if k.DisabledAt != nil {
		f.flags |= flagDisabled
	}
	if k.RevokedAt != nil || d.denied[key] {
		f.flags |= flagRevoked
	}
	if k.SubjectID != "" || k.AgentID != "" || len(k.AllowedIPs) > 0 {
		f.bounds = &bounds{subjectID: k.SubjectID, agentID: k.AgentID, allowedIPs: k.AllowedIPs}
	}
	return f, nil
}

// seat gives every secret of k a place. One that has a place keeps it, so that whoever is just being recognised by it
// finds it there; others get the free ones, and with each that comes the turn passes on.
func (d *Directory) seat(k *APIKey, slot uint32, old, f *facts) (m moves) {
	hashes := &d.shelf(slot).hashes[slot%shelfLen]
	var seated [maxSecrets]*Secret
	var standing []*Secret
	for n := range k.Secrets {
		s := &k.Secrets[n]
		if place := slices.Index(hashes[:], s.Hash); place >= 0 {
			seated[place] = s
		} else {
			standing = append(standing, s)
		}
	}
	for place, s := range seated {
		hash, now := &hashes[place], &f.secrets[place]
		now.turn, now.usage = old.secrets[place].turn, old.secrets[place].usage
		if s == nil && *hash != ([32]byte{}) {
			m.add(move{hash: *hash, gone: true})
			*hash, now.usage, now.turn = [32]byte{}, 0, (now.turn+1)%turns
		}
		if s == nil && len(standing) > 0 {
			s, standing = standing[0], standing[1:]
			*hash, now.usage, now.turn = s.Hash, d.recorder.Secret(k.ID, s.Hint), (now.turn+1)%turns
			m.add(move{hash: s.Hash, to: refTo(slot, place, now.turn)})
		}
		if s != nil {
			now.validUntil = milliseconds(s.ValidUntil)
		}
	}
	return m
}

// allot gives a slot that nobody uses.
func (d *Directory) allot() (uint32, error) {
	if n := len(d.free); n > 0 {
		i := d.free[n-1]
		d.free = d.free[:n-1]
		d.slot(i).clear()
		return i, nil
	}
	if d.length == maxSlots {
		return 0, errors.New("the directory of API keys is full")
	}
	i := d.length
	d.length++
	if shelves := *d.shelves.Load(); int(i/shelfLen) == len(shelves) {
		// Readers see only the length they loaded, so appending behind it does not disturb them.
		shelves = append(shelves, newShelf())
		d.shelves.Store(&shelves)
	}
	return i, nil
}

// sweep forgets keys whose quarantine is over. From then on they are found in the store, and still refused.
func (d *Directory) sweep() {
	now := d.now()
	for len(d.removed) > 0 && now.Sub(d.removed[0].at) > quarantine {
		r := d.removed[0]
		d.removed = d.removed[1:]
		i := d.byID[r.key]
		hashes := &d.shelf(i).hashes[i%shelfLen]
		for _, hash := range hashes {
			d.reindex(move{hash: hash, gone: true})
		}
		*hashes = placedHashes{}
		d.free = append(d.free, i)
		delete(d.byID, r.key)
		d.evicted.Add(1)
	}
}

// reindex publishes a changed copy of the index of a secret's shard.
func (d *Directory) reindex(m move) {
	shard := &d.shards[m.hash[0]]
	next := maps.Clone(*shard.index.Load())
	m.apply(next)
	shard.publish(&next)
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
func (d *Directory) lastUsed(key id.UUID, hash [32]byte) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, ok := d.byID[key]
	if !ok {
		return time.Time{}
	}
	place := slices.Index(d.shelf(i).hashes[i%shelfLen][:], hash)
	if place < 0 {
		return time.Time{}
	}
	return d.recorder.LastUsed(usage.Secret(d.slot(i).secrets[place].Load()))
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
