package account_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func clock() time.Time { return noon }

// rows is a database with these workspaces.
type rows struct {
	account.Store // the other methods are not called
	workspaces    []account.Workspace
}

func (r rows) Workspaces(context.Context) ([]account.Workspace, error) { return r.workspaces, nil }

// owners counts the handles that it created.
type owners struct{ given usage.Owner }

func (o *owners) Owner(string, string) usage.Owner {
	o.given++
	return o.given
}

func TestLoadedDirectoryHasEveryWorkspace(t *testing.T) {
	t.Parallel()
	store := rows{workspaces: []account.Workspace{
		{ID: "wsp_a", Name: "default", Tier: limit.TierUnlimited, Operator: true, Revision: 1},
		{ID: "wsp_b", Name: "tenant", Tier: limit.TierFree, Suspended: true, Revision: 1},
	}}
	d := account.NewDirectory(store, limit.Tiers(), &owners{}, clock)
	if _, ok := d.Operator(); ok {
		t.Error("an empty directory has an operator workspace")
	}
	used := func(id string) (day, month int64) {
		if id == "wsp_b" {
			return 4000, 5000
		}
		return 0, 0
	}
	if err := d.Load(t.Context(), used); err != nil {
		t.Fatal(err)
	}
	a, _ := d.Entry("wsp_a")
	b, ok := d.Entry("wsp_b")
	if !ok || b.ID() != "wsp_b" || b.Name() != "tenant" || b.Operator() || !b.Suspended() || b.Tier().Name != limit.TierFree {
		t.Errorf("the tenant's entry is %+v", b)
	}
	if op, ok := d.Operator(); !ok || op != a || !a.Operator() || a.Suspended() {
		t.Errorf("the operator's entry is %+v, the one found %+v", a, op)
	}
	if a.Usage() == b.Usage() {
		t.Error("two workspaces have one usage handle")
	}
	if v := (limit.Local{}).Peek(noon, 1, b.Account(), limit.Account{}); v.Limit != 60 || v.DailyRemaining != 1000 || v.MonthlyRemaining != 95_000 {
		t.Errorf("after a restart the tenant's budgets are %+v, want 60 a minute, 1000 left today, 95000 this month", v)
	}
	if _, ok := d.Entry("wsp_c"); ok {
		t.Error("a workspace that does not exist is found")
	}
}

func TestChangedWorkspaceKeepsItsCounters(t *testing.T) {
	t.Parallel()
	w := account.Workspace{ID: "wsp_b", Name: "tenant", Tier: limit.TierFree, Revision: 1}
	d := account.NewDirectory(rows{}, limit.Tiers(), &owners{}, clock)
	if err := d.Put(&w); err != nil {
		t.Fatal(err)
	}
	e, _ := d.Entry(w.ID)
	limit.Local{}.Charge(noon, 10, e.Account(), limit.Account{})

	grown := w
	grown.Tier, grown.Suspended, grown.Revision = limit.TierPro, true, 2
	for _, step := range []*account.Workspace{&grown, &w} { // the older one arrives late
		if err := d.Put(step); err != nil {
			t.Fatal(err)
		}
	}
	if same, _ := d.Entry(w.ID); same != e {
		t.Fatal("a changed workspace has another entry")
	}
	if v := (limit.Local{}).Peek(noon, 1, e.Account(), limit.Account{}); v.Limit != 600 || v.Remaining != 590 || v.DailyRemaining != 199_990 || !e.Suspended() {
		t.Errorf("after 10 requests and a change to pro the budgets are %+v", v)
	}
}

func TestUnknownTierIsNamedInTheError(t *testing.T) {
	t.Parallel()
	w := account.Workspace{ID: "wsp_b", Tier: "gold", Revision: 1}
	d := account.NewDirectory(rows{workspaces: []account.Workspace{w}}, limit.Tiers(), &owners{}, clock)
	for _, err := range []error{d.Load(t.Context(), nil), d.Put(&w)} {
		if err == nil || !strings.Contains(err.Error(), `"gold"`) || !strings.Contains(err.Error(), "wsp_b") {
			t.Errorf("the error is %v, want one that names the tier and the workspace", err)
		}
	}
	if _, ok := d.Entry(w.ID); ok {
		t.Error("a workspace without a tier is in the directory")
	}
}

func TestEntryStaysWhileOthersAreAdded(t *testing.T) {
	t.Parallel()
	d := account.NewDirectory(rows{}, limit.Tiers(), &owners{}, clock)
	if err := d.Put(&account.Workspace{ID: "wsp_0", Tier: limit.TierFree, Revision: 1}); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var running sync.WaitGroup
	for range 3 {
		running.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				e, ok := d.Entry("wsp_0")
				if !ok || e.ID() != "wsp_0" {
					t.Error("an entry is missing while others are added")
					return
				}
			}
		})
	}
	for i := range int64(500) {
		w := account.Workspace{ID: "wsp_0", Tier: limit.TierFree, Revision: i + 2}
		if err := d.Put(&w); err != nil {
			t.Fatal(err)
		}
		w = account.Workspace{ID: "wsp_" + time.Duration(i+1).String(), Tier: limit.TierPro, Revision: 1}
		if err := d.Put(&w); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	running.Wait()
}
