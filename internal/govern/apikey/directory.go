package apikey

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

// Directory keeps in memory every API key that is not revoked, so that authenticating a request reads no database. It is
// safe for concurrent use.
//
// Entries are immutable. A changed key gets a new entry; each of its secrets switches to that entry with an atomic store,
// and all have switched when Put returns. So readers take no lock, and a revocation is in force at once. A revoked key
// keeps its entry for an hour (see forgetAfter); then only the database knows it.
type Directory struct {
	store    Reader
	hasher   *Hasher
	accounts *account.Directory
	recorder Recorder
	now      func() time.Time

	index    index              // the entries by the hashes of their secrets
	reads    singleflight.Group // of keys that are not in memory
	refusals *refusals          // what those reads refused, for a short time

	revokedUses revokedUses

	mu        sync.Mutex // serializes writers and guards what follows
	byID      map[id.UUID]*entry
	toForget  []forgettable    // oldest first
	denied    map[id.UUID]bool // keys given to Deny; newEntry treats them as revoked, even if the database does not
	forgotten int64            // revoked keys that were removed from memory
}

// forgettable is a revoked key whose entry is still in memory.
type forgettable struct {
	key   id.UUID
	since time.Time
}

// Reader reads the keys for a Directory. *store.APIKeys is one. fn must not keep k or its Secrets, which are reused.
type Reader interface {
	// EachAPIKey calls fn for every key that is not revoked.
	EachAPIKey(ctx context.Context, fn func(k *APIKey) error) error
	// APIKeysByID calls fn for every key with one of these IDs, revoked ones included.
	APIKeysByID(ctx context.Context, ids []string, fn func(k *APIKey) error) error
	// APIKeyBySecret returns the key that has a secret with this hash, in any state, or problem.Missing.
	APIKeyBySecret(ctx context.Context, hash [32]byte) (*APIKey, error)
}

// Recorder creates the handles under which usage counts a key (Owner) and its secrets (Secret), and records what is done
// with them. *usage.Recorder is one.
type Recorder interface {
	Owner(workspaceID, keyID string) usage.Owner
	Secret(o usage.Owner, hint string) usage.Secret
	Touch(s usage.Secret, at time.Time)
	LastUsed(s usage.Secret) time.Time
	Charge(o usage.Owner, at time.Time, cost int64)
}

// ErrNotInMemory is Lookup's answer to a well-formed text of no key in memory: LookupStored finds out whether one exists.
var ErrNotInMemory = errors.New("the API key is not in memory")

// ErrInvalid is the problem of a text of no key, or of a secret that has expired.
var ErrInvalid = problem.New(problem.Unauthenticated, problem.CodeInvalidAPIKey, "This API key is not valid. Check that it is complete and of this instance.")

// The problems of a key that exists and cannot be used.
var (
	errExpired  = problem.New(problem.Unauthenticated, problem.CodeAPIKeyExpired, "This API key has expired.")
	errRevoked  = problem.New(problem.Unauthenticated, problem.CodeAPIKeyRevoked, "This API key has been revoked.")
	errDisabled = problem.New(problem.Unauthenticated, problem.CodeAPIKeyDisabled, "This API key is disabled.")
)

// NewDirectory returns an empty directory.
func NewDirectory(store Reader, hasher *Hasher, accounts *account.Directory, recorder Recorder, now func() time.Time) *Directory {
	d := &Directory{
		store: store, hasher: hasher, accounts: accounts, recorder: recorder, now: now,
		refusals: newRefusals(), byID: map[id.UUID]*entry{}, denied: map[id.UUID]bool{},
	}
	d.index.init()
	return d
}

// Load fills the directory from the database at start. used gives what each key has used of its quotas; it can be nil.
func (d *Directory) Load(ctx context.Context, used account.Used) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	edit := d.index.begin()
	now := d.now()
	err := d.store.EachAPIKey(ctx, func(k *APIKey) error {
		e, err := d.put(edit, k)
		if err == nil && used != nil {
			day, month := used(k.ID)
			e.counters.Restore(now, day, month)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("read API keys: %w", err)
	}
	edit.publish()
	return nil
}

// Lookup finds the key with this text in memory. Its errors are a *problem.Problem, which says why the key cannot be used
// now, and ErrNotInMemory. The caller still has to check the client's address (LiveKey.AllowedFrom) and whether the
// workspace is suspended.
func (d *Directory) Lookup(text string, now time.Time) (LiveKey, error) {
	if len(text) != textLen {
		return LiveKey{}, ErrInvalid
	}
	hash := d.hasher.Hash(text)
	e := d.index.find(hash)
	if e == nil {
		if !WellFormed(text) { // checked last, because a text that was found has a right checksum
			return LiveKey{}, ErrInvalid
		}
		return LiveKey{}, ErrNotInMemory
	}
	d.index.shardOf(hash).hits.Add(1)
	return d.liveKey(e, hash, now)
}

// Put adds a key whose creation was committed, or replaces a key that was changed. A revoked key is refused from then on.
// Commits can be reported in either order: an older revision than the one in memory changes nothing.
//
// Put ignores a key with a malformed ID, an unknown workspace or a wrong number of secrets; LookupStored returns these
// errors when a request sends the key. If such a key is revoked, the entry in memory is refused all the same.
func (d *Directory) Put(k *APIKey) { _ = d.add(k) }

func (d *Directory) add(k *APIKey) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	edit := d.index.begin()
	defer edit.publish()
	d.forgetRevoked(edit)
	_, err := d.put(edit, k)
	return err
}

// Deny refuses a key like a revoked one from now on, even if the database does not say that it is revoked.
func (d *Directory) Deny(keyID string) {
	key, ok := id.Parse(id.APIKey, keyID)
	if !ok {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	edit := d.index.begin()
	defer edit.publish()
	d.denied[key] = true
	d.revoke(edit, key, 0)
}

// put replaces the entry of k, unless the one in memory is as new or newer, and returns the one that is in memory then.
// The caller holds mu.
func (d *Directory) put(edit *edit, k *APIKey) (*entry, error) {
	key, ok := id.Parse(id.APIKey, k.ID)
	if !ok {
		return nil, fmt.Errorf("API key %q: malformed ID", k.ID)
	}
	old := d.byID[key]
	if old != nil && old.revision >= k.Revision {
		return old, nil
	}
	e, err := d.newEntry(key, k, old)
	if err != nil {
		if k.RevokedAt != nil {
			d.revoke(edit, key, k.Revision)
		}
		return nil, err
	}
	d.replace(edit, old, e)
	return e, nil
}

// revoke replaces the entry of a key, if it has one, by a revoked one of at least this revision. The caller holds mu.
func (d *Directory) revoke(edit *edit, key id.UUID, revision int64) {
	old := d.byID[key]
	if old == nil {
		return
	}
	e := *old
	e.revoked, e.revision = true, max(e.revision, revision)
	d.replace(edit, old, &e)
}

// replace replaces old, which can be nil, by e. The caller holds mu.
func (d *Directory) replace(edit *edit, old, e *entry) {
	if old != nil {
		edit.remove(old)
	}
	edit.add(e)
	d.byID[e.id] = e
	if e.revoked && (old == nil || !old.revoked) {
		d.toForget = append(d.toForget, forgettable{e.id, d.now()})
	}
}

// forgetAfter is how long a revoked key stays in memory. Its entry answers without a read of the database, and its
// revision keeps a late report of an earlier commit from bringing the key back. Reports are late by seconds at most.
const forgetAfter = time.Hour

// forgetRevoked removes the keys that were revoked more than forgetAfter ago, so that creating and revoking keys does not
// fill the memory. The caller holds mu.
func (d *Directory) forgetRevoked(edit *edit) {
	now := d.now()
	for len(d.toForget) > 0 && now.Sub(d.toForget[0].since) > forgetAfter {
		key := d.toForget[0].key
		d.toForget = d.toForget[1:]
		if e := d.byID[key]; e != nil && e.revoked {
			edit.remove(e)
			delete(d.byID, key)
			d.forgotten++
		}
	}
}

// counters returns the counters of a key of a workspace; new ones if the key is not in memory.
func (d *Directory) counters(keyID string, workspace *account.Entry) *limit.Use {
	key, _ := id.Parse(id.APIKey, keyID)
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.byID[key]; e != nil {
		return e.counters
	}
	fresh := new(limit.Use)
	fresh.InitKey(keyID, workspace.Account().Use)
	return fresh
}

// EachUsed calls fn for the API keys of a workspace that were charged in the UTC month of now. It leaves out keys that were
// revoked some time ago.
func (d *Directory) EachUsed(workspaceID string, now time.Time, fn func(keyID string, today, thisMonth int64)) {
	for _, e := range d.entriesOf(workspaceID) {
		if today, thisMonth := e.counters.Used(now); thisMonth > 0 {
			fn(id.Format(id.APIKey, e.id), today, thisMonth)
		}
	}
}

func (d *Directory) entriesOf(workspaceID string) (list []*entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.byID {
		if e.workspace.ID() == workspaceID {
			list = append(list, e)
		}
	}
	return list
}

// lastUsed is when a secret was last used since the program started; the zero time if it was not.
func (d *Directory) lastUsed(hash [32]byte) time.Time {
	if e := d.index.find(hash); e != nil {
		return d.recorder.LastUsed(e.secretWith(hash).usageSecret)
	}
	return time.Time{}
}
