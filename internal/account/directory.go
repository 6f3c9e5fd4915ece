package account

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/limit"
	"keepsake/internal/usage"
)

// Used says what an owner (a workspace's or a key's id) has been charged in the UTC day and month of now; counters
// start from it, so that a restart gives no quota away.
type Used func(ownerID string) (day, month int64)

// Owners makes the handle under which usage counts what is charged to a workspace. *usage.Recorder is one.
type Owners interface {
	Owner(workspaceID, keyID string) usage.Owner
}

// Directory holds every workspace in memory, so that a request learns its tier, its budgets and whether it is suspended
// without asking the store. It is safe for concurrent use; reading takes no lock.
type Directory struct {
	store  Store
	tiers  *limit.Table
	owners Owners
	now    func() time.Time

	late func(id string) *Entry // looks for one that nobody has heard of; nil where nobody else makes any

	mu      sync.Mutex // orders writers
	entries atomic.Pointer[table]
}

// table is what readers see. It is never changed once published; entries stay in place for as long as the process lives.
type table struct {
	list []*Entry
	byID map[string]*Entry
}

func (t *table) clone() *table {
	return &table{list: slices.Clone(t.list), byID: maps.Clone(t.byID)}
}

// NewDirectory makes an empty directory that knows these tiers.
func NewDirectory(store Store, tiers []limit.Tier, owners Owners, now func() time.Time) *Directory {
	d := &Directory{store: store, tiers: limit.NewTable(tiers), owners: owners, now: now}
	d.entries.Store(&table{byID: map[string]*Entry{}})
	return d
}

// Load fills the directory from the store. used may be nil.
func (d *Directory) Load(ctx context.Context, used Used) error {
	workspaces, err := d.store.Workspaces(ctx)
	if err != nil {
		return fmt.Errorf("read workspaces: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.entries.Load().clone()
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
	d.entries.Store(next)
	return nil
}

// Put adds a workspace that was committed, or brings the entry of a changed one up to date; an older revision than the
// one known changes nothing.
func (d *Directory) Put(w *Workspace) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.entries.Load()
	if next.byID[w.ID] == nil { // a change is the entry's own; only a new one makes a new table
		next = next.clone()
	}
	if _, err := d.put(next, w); err != nil {
		return err
	}
	d.entries.Store(next)
	return nil
}

// Tiers are the tiers in force.
func (d *Directory) Tiers() *limit.Table { return d.tiers }

// Knows refuses a tier that is not configured.
func (d *Directory) Knows(tier string) error {
	if d.tiers.Lookup(tier) == nil {
		return fmt.Errorf("the setting tiers has no tier %q", tier)
	}
	return nil
}

func (d *Directory) put(t *table, w *Workspace) (*Entry, error) {
	if err := d.Knows(w.Tier); err != nil {
		return nil, fmt.Errorf("workspace %s: %w", w.ID, err)
	}
	latest := &facts{name: w.Name, tier: d.tiers.Lookup(w.Tier), suspended: w.Suspended, revision: w.Revision}
	if e := t.byID[w.ID]; e != nil {
		if e.facts.Load().revision < w.Revision {
			e.facts.Store(latest)
		}
		return e, nil
	}
	e := &Entry{id: w.ID, operator: w.Operator, index: uint32(len(t.list)), owner: d.owners.Owner(w.ID, "")}
	e.use.Init(w.ID)
	e.facts.Store(latest)
	t.list = append(t.list, e)
	t.byID[w.ID] = e
	return e, nil
}

// Entry finds a workspace by id. Only where other processes make some, too, one that is not known costs a read.
func (d *Directory) Entry(id string) (*Entry, bool) {
	e := d.entries.Load().byID[id]
	if e == nil && d.late != nil {
		e = d.late(id)
	}
	return e, e != nil
}

// At finds a workspace by its Index.
func (d *Directory) At(index uint32) *Entry { return d.entries.Load().list[index] }

// Operator is the workspace made at first start; false before there is one.
func (d *Directory) Operator() (*Entry, bool) {
	for _, e := range d.entries.Load().list {
		if e.operator {
			return e, true
		}
	}
	return nil, false
}

// Entry is a workspace in memory: what requests need to know of it, and its counters.
type Entry struct {
	id       string
	operator bool
	index    uint32
	owner    usage.Owner
	facts    atomic.Pointer[facts]
	use      limit.Use
}

// facts is what may change of a workspace, replaced as a whole.
type facts struct {
	name      string
	tier      *limit.InForce
	suspended bool
	revision  int64
}

// ID is the workspace's id, wsp_….
func (e *Entry) ID() string { return e.id }

// Name is the workspace's name.
func (e *Entry) Name() string { return e.facts.Load().name }

// Index is a small number that finds the entry again with Directory.At, for tables without pointers.
func (e *Entry) Index() uint32 { return e.index }

// Operator reports whether this is the operator workspace.
func (e *Entry) Operator() bool { return e.operator }

// Usage is the owner of what the workspace's callers do without a key.
func (e *Entry) Usage() usage.Owner { return e.owner }

// Suspended reports whether the workspace's credentials are refused for now.
func (e *Entry) Suspended() bool { return e.facts.Load().suspended }

// Tier is what the workspace may use at this moment. It is shared: read it only.
func (e *Entry) Tier() *limit.Tier { return e.facts.Load().tier.Tier() }

// Account is the workspace's counters with its tier's numbers, to be charged.
func (e *Entry) Account() limit.Account {
	return limit.Account{Use: &e.use, Allowance: e.Tier().Allowance()}
}
