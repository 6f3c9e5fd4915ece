package account_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/limit"
)

// others is a database that other processes change.
type others struct {
	account.Store // the other methods are not called
	mu            sync.Mutex
	workspaces    map[string]account.Workspace
	tiers         []account.Tier
}

func (o *others) Workspace(_ context.Context, id string) (*account.Workspace, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, ok := o.workspaces[id]
	if !ok {
		return nil, problem.Missing()
	}
	return &w, nil
}

func (o *others) Workspaces(context.Context) ([]account.Workspace, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []account.Workspace
	for _, w := range o.workspaces {
		list = append(list, w)
	}
	return list, nil
}

func (o *others) ChangedTiers(context.Context) ([]account.Tier, error) {
	return slices.Clone(o.tiers), nil
}

func (o *others) put(w account.Workspace) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.workspaces[w.ID] = w
}

func TestReloadAppliesWorkspacesOfOthers(t *testing.T) {
	t.Parallel()
	store := &others{workspaces: map[string]account.Workspace{}}
	alone := account.NewDirectory(store, limit.Tiers(), &owners{}, clock)
	d := account.NewDirectory(store, limit.Tiers(), &owners{}, clock)
	d.ReadMissing()
	store.put(account.Workspace{ID: "wsp_a", Name: "a", Tier: limit.TierFree, Revision: 1})
	if _, ok := alone.Entry("wsp_a"); ok {
		t.Error("a directory that shares no database read it")
	}
	e, ok := d.Entry("wsp_a")
	if !ok || e.Name() != "a" {
		t.Fatal("a workspace that is not in memory was not read")
	}
	if _, ok := d.Entry("wsp_unknown"); ok {
		t.Error("a workspace that does not exist is found")
	}
	store.put(account.Workspace{ID: "wsp_a", Name: "a", Tier: limit.TierPro, Suspended: true, Revision: 2})
	if err := d.Reload(t.Context(), "wsp_a"); err != nil {
		t.Fatal(err)
	}
	if !e.Suspended() || e.Tier().Name != limit.TierPro {
		t.Errorf("suspended %v in tier %s", e.Suspended(), e.Tier().Name)
	}
	if err := d.Reload(t.Context(), "wsp_unknown"); err != nil {
		t.Error(err)
	}

	// The rest of the change is in force if the tier is unknown.
	store.put(account.Workspace{ID: "wsp_a", Name: "a", Tier: "theirs", Revision: 3})
	store.put(account.Workspace{ID: "wsp_b", Name: "b", Tier: "theirs", Suspended: true, Revision: 1})
	if err := d.ReloadAll(t.Context()); !errors.Is(err, account.ErrUnknownTier) {
		t.Errorf("got %v", err)
	}
	if e.Suspended() || e.Tier().Name != limit.TierPro {
		t.Errorf("suspended %v in tier %s", e.Suspended(), e.Tier().Name)
	}
	if e, ok := d.Entry("wsp_b"); !ok || !e.Suspended() || e.Tier().Name != limit.TierFree {
		t.Error("a new workspace with an unknown tier is wrong or missing")
	}
}

func TestOlderRevisionOfATierChangesNothing(t *testing.T) {
	t.Parallel()
	store := &others{}
	d := account.NewDirectory(store, limit.Tiers(), &owners{}, clock)
	s := account.NewService(account.Options{Store: store, Directory: d, Now: clock})
	for _, step := range []struct{ revision, perMinute, want int64 }{{3, 30, 30}, {2, 20, 30}, {3, 30, 30}, {4, 40, 40}} {
		free := *d.Tiers().Lookup(limit.TierFree).Tier()
		free.RequestsPerMinute = step.perMinute
		store.tiers = []account.Tier{{Tier: free, Revision: step.revision}}
		if err := s.LoadTiers(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := d.Tiers().Lookup(limit.TierFree).Tier().RequestsPerMinute; got != step.want {
			t.Errorf("after revision %d: %d a minute, want %d", step.revision, got, step.want)
		}
	}
}
