package account

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

// Used returns what a workspace or API key has been charged in the current UTC day and month. Counters start from it, so
// that a restart does not reset quotas.
type Used func(ownerID string) (day, month int64)

// Owners creates the handle under which usage counts what is charged to a workspace. *usage.Recorder is one.
type Owners interface {
	Owner(workspaceID, keyID string) usage.Owner
}

// Directory holds every workspace in memory, so that requests do not read the database for tiers, limits and suspensions.
// It is safe for concurrent use. Readers take no lock: an Entry stays for as long as the process runs and publishes changes
// with one atomic store; the map that finds entries is copied when a workspace is added.
type Directory struct {
	store  Store
	tiers  *limit.Table
	owners Owners
	now    func() time.Time

	load func(id string) *Entry // reads a workspace that is not in memory; nil if no other process creates any

	mu       sync.Mutex // serializes writers
	entries  atomic.Pointer[entries]
	operator atomic.Pointer[Entry]
}

// entries are workspaces by ID. A published map never changes.
type entries map[string]*Entry

// NewDirectory returns an empty directory with these tiers.
func NewDirectory(store Store, tiers []limit.Tier, owners Owners, now func() time.Time) *Directory {
	d := &Directory{store: store, tiers: limit.NewTable(tiers), owners: owners, now: now}
	d.entries.Store(&entries{})
	return d
}

// Load fills the directory from the database at start. used can be nil.
func (d *Directory) Load(ctx context.Context, used Used) error {
	workspaces, err := d.store.Workspaces(ctx)
	if err != nil {
		return fmt.Errorf("read workspaces: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	next := maps.Clone(*d.entries.Load())
	for i := range workspaces {
		e, err := d.put(next, &workspaces[i])
		if err != nil {
			return err
		}
		if used != nil {
			day, month := used(e.id)
			e.use.Restore(d.now(), day, month)
		}
	}
	d.entries.Store(&next)
	return nil
}

// Put adds a workspace whose creation was committed, or updates one that was changed. An older revision than the one in
// memory changes nothing.
func (d *Directory) Put(w *Workspace) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := *d.entries.Load()
	if next[w.ID] == nil { // a change needs no new map
		next = maps.Clone(next)
	}
	if _, err := d.put(next, w); err != nil {
		return err
	}
	d.entries.Store(&next)
	return nil
}

// Tiers are the current tiers.
func (d *Directory) Tiers() *limit.Table { return d.tiers }

// CheckTier returns an error if a tier is not configured.
func (d *Directory) CheckTier(tier string) error {
	if d.tiers.Lookup(tier) == nil {
		return fmt.Errorf("the setting tiers has no tier %q", tier)
	}
	return nil
}

// put adds w to next, or updates its entry. The caller holds mu.
func (d *Directory) put(next entries, w *Workspace) (*Entry, error) {
	if err := d.CheckTier(w.Tier); err != nil {
		return nil, fmt.Errorf("workspace %s: %w", w.ID, err)
	}
	latest := &snapshot{name: w.Name, tier: d.tiers.Lookup(w.Tier), suspended: w.Suspended, embeddings: w.Embeddings, search: w.Search, revision: w.Revision}
	if e := next[w.ID]; e != nil {
		if e.snapshot.Load().revision < w.Revision {
			e.snapshot.Store(latest)
		}
		return e, nil
	}
	e := &Entry{id: w.ID, operator: w.Operator, owner: d.owners.Owner(w.ID, "")}
	e.use.Init(w.ID)
	e.snapshot.Store(latest)
	next[w.ID] = e
	if w.Operator {
		d.operator.Store(e)
	}
	return e, nil
}

// Entry finds a workspace by its ID. If other processes create workspaces, one that is not in memory costs a read of the
// database.
func (d *Directory) Entry(id string) (*Entry, bool) {
	e := (*d.entries.Load())[id]
	if e == nil && d.load != nil {
		e = d.load(id)
	}
	return e, e != nil
}

// WithEmbeddings lists the workspaces whose texts are sent to the embeddings endpoint.
func (d *Directory) WithEmbeddings() (ids []string) {
	for id, e := range *d.entries.Load() {
		if e.Embeddings() {
			ids = append(ids, id)
		}
	}
	return ids
}

// Operator is the workspace that the first start created; false before it did.
func (d *Directory) Operator() (*Entry, bool) {
	e := d.operator.Load()
	return e, e != nil
}

// Entry is a workspace in memory: what requests need of it, and its counters.
type Entry struct {
	id       string
	operator bool
	owner    usage.Owner
	snapshot atomic.Pointer[snapshot]
	use      limit.Use
}

// snapshot is the part of a workspace that can change. It is replaced as a whole.
type snapshot struct {
	name       string
	tier       *limit.InForce
	suspended  bool
	embeddings bool
	search     SearchPlace
	revision   int64
}

// ID is the workspace's ID, wsp_….
func (e *Entry) ID() string { return e.id }

// Name is the workspace's name.
func (e *Entry) Name() string { return e.snapshot.Load().name }

// Operator reports whether this is the operator workspace.
func (e *Entry) Operator() bool { return e.operator }

// Usage is the handle under which requests without an API key are counted.
func (e *Entry) Usage() usage.Owner { return e.owner }

// Suspended reports whether the workspace's credentials are refused.
func (e *Entry) Suspended() bool { return e.snapshot.Load().suspended }

// Embeddings reports whether texts of the workspace are sent to the embeddings endpoint. They are not while it is suspended.
func (e *Entry) Embeddings() bool {
	s := e.snapshot.Load()
	return s.embeddings && !s.suspended
}

// Tier is the workspace's current tier. The caller must not change it.
func (e *Entry) Tier() *limit.Tier { return e.snapshot.Load().tier.Tier() }

// Account is the workspace's counters with the limits of its tier.
func (e *Entry) Account() limit.Account {
	return limit.Account{Use: &e.use, Allowance: e.Tier().Allowance()}
}
