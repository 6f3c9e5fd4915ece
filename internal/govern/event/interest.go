package event

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Interests says, from memory, which types of events the webhooks of a workspace can want. It can name too many types, which
// costs a transaction one statement, but never too few: see Service.prepare.
type Interests struct {
	read func(ctx context.Context, workspaceID string) (map[string]TypeSet, error)
	// fresh reports whether the memory includes every change that is older than Settle. Nil means always, because no other
	// process changes it.
	fresh func() bool

	mu  sync.Mutex
	all atomic.Pointer[interests]
}

type interests struct {
	byWorkspace map[string]TypeSet
	union       TypeSet
}

// NewInterests returns Interests that must be loaded. read returns the interests of a workspace, or of all if its ID is empty.
// While fresh reports false, Interests assumes that every event is wanted.
func NewInterests(read func(ctx context.Context, workspaceID string) (map[string]TypeSet, error), fresh func() bool) *Interests {
	i := &Interests{read: read, fresh: fresh}
	i.all.Store(&interests{})
	return i
}

// Load reads the interests of all workspaces.
func (i *Interests) Load(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	all, err := i.read(ctx, "")
	if err != nil {
		return fmt.Errorf("read which events are wanted: %w", err)
	}
	i.replace(all)
	return nil
}

// Reload reads the interests of a workspace again.
func (i *Interests) Reload(ctx context.Context, workspaceID string) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	one, err := i.read(ctx, workspaceID)
	if err != nil {
		return fmt.Errorf("read which events are wanted: %w", err)
	}
	i.put(workspaceID, one[workspaceID])
	return nil
}

// set replaces the interests of a workspace.
func (i *Interests) set(workspaceID string, types TypeSet) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.put(workspaceID, types)
}

func (i *Interests) put(workspaceID string, types TypeSet) {
	all := maps.Clone(i.all.Load().byWorkspace)
	if all == nil {
		all = map[string]TypeSet{}
	}
	if all[workspaceID] = types; types == 0 {
		delete(all, workspaceID)
	}
	i.replace(all)
}

func (i *Interests) replace(all map[string]TypeSet) {
	next := &interests{byWorkspace: all}
	for _, types := range all {
		next.union |= types
	}
	i.all.Store(next)
}

// Any reports whether a workspace can have webhooks.
func (i *Interests) Any() bool {
	return i.fresh != nil && !i.fresh() || i.all.Load().union != 0
}

// Workspaces lists the workspaces that can have webhooks.
func (i *Interests) Workspaces() []string {
	return slices.Sorted(maps.Keys(i.all.Load().byWorkspace))
}

// want reports whether a webhook can want an event.
func (i *Interests) want(e *Event) bool {
	all := i.all.Load()
	types := all.union
	if types != 0 && e.WorkspaceID != "" {
		types = all.byWorkspace[e.WorkspaceID]
	}
	return types != 0 && types.Has(e.Type) || i.fresh != nil && !i.fresh()
}

// Settle is how old a change of another process can be before every process that is fresh knows it.
const Settle = time.Second
