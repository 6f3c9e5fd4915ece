package account_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/revision"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/audit/audittest"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
)

// bench is a service on a store, with an operator workspace and a tenant, and an admin in each.
type bench struct {
	*account.Service
	t        *testing.T
	log      *audittest.Recorder
	sessions *told
	units    unit.Runner
	anyone   limit.Allowance // of callers without a credential, when it was changed

	tenant          *account.Workspace
	operator, admin *auth.Principal // admins of the operator workspace and of the tenant
	first, ada      string          // ids of the users they are
	password        account.Hashed  // that of all but the first
}

// told records the calls that sessions receive in committed transactions.
type told struct {
	mu   sync.Mutex
	what []string
}

func (o *told) EndUser(ctx context.Context, userID string) error {
	o.note(ctx, "end "+userID)
	return nil
}

func (o *told) UserChanged(ctx context.Context, userID string) { o.note(ctx, "changed "+userID) }

func (o *told) note(ctx context.Context, what string) {
	unit.AfterCommit(ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.what = append(o.what, what)
	})
}

func people(t *testing.T) *bench {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: sqlitetest.Dir(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	s := store.New(engine)
	b := &bench{t: t, log: &audittest.Recorder{}, sessions: &told{}, units: s}
	b.Service = account.NewService(account.Options{
		Store: s.Accounts, Units: s, Directory: account.NewDirectory(s.Accounts, limit.Tiers(), &owners{}, clock),
		Audit: b.log, Sessions: b.sessions, Anonymous: func(a limit.Allowance) { b.anyone = a },
		Cost: cheap, Random: rand.Reader, Now: clock,
	})
	first, err := b.FirstStart(t.Context(), account.Admin{}, nothingElse)
	if err != nil {
		t.Fatal(err)
	}
	b.first = first.UserID
	b.operator = &auth.Principal{Kind: auth.Local, WorkspaceID: first.WorkspaceID, Operator: true, Scopes: auth.All}
	b.tenant, err = b.CreateWorkspace(t.Context(), b.operator, account.NewWorkspace{Name: "tenant"})
	if err != nil {
		t.Fatal(err)
	}
	b.admin = &auth.Principal{Kind: auth.Local, WorkspaceID: b.tenant.ID, Scopes: auth.All}
	if b.password, err = b.HashPassword(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	b.ada = b.user("ada@example.org", account.RoleAdmin)
	return b
}

// user makes one in the tenant.
func (b *bench) user(email string, role account.Role) string {
	b.t.Helper()
	u, err := b.CreateUser(b.t.Context(), b.admin, account.NewUser{Email: email, Role: role, Password: b.password})
	if err != nil {
		b.t.Fatalf("create %s: %v", email, err)
	}
	return u.ID
}

func wantProblem(t *testing.T, err error, code, field string) {
	t.Helper()
	p, ok := problem.As(err)
	if !ok || p.Code != code || p.Details.Field != field {
		t.Errorf("got %v, want %s %s", err, code, field)
	}
}

func to[T any](v T) *T { return &v }

func TestWorkspaceIsUsableAfterItsCommit(t *testing.T) {
	t.Parallel()
	b := people(t)
	e, ok := b.Directory.Entry(b.tenant.ID)
	if !ok || e.Tier().Name != limit.TierFree || b.tenant.Revision != 1 {
		t.Fatalf("the directory has %+v of %+v", e, b.tenant)
	}
	limit.Local{}.Charge(noon, 10, e.Account(), limit.Account{})
	w, err := b.ChangeWorkspace(t.Context(), b.operator, b.tenant.ID, []int64{1}, account.WorkspaceChange{
		Tier: to(limit.TierPro), Suspended: to(true),
	})
	if err != nil || w.Revision != 2 || !e.Suspended() || e.Tier().Name != limit.TierPro {
		t.Errorf("changed to %+v, %v; in memory suspended is %v, the tier %s", w, err, e.Suspended(), e.Tier().Name)
	}
	if v := (limit.Local{}).Peek(noon, 1, e.Account(), limit.Account{}); v.Remaining != 590 {
		t.Errorf("after 10 requests %d of 600 are left", v.Remaining)
	}
	same, err := b.ChangeWorkspace(t.Context(), b.operator, b.tenant.ID, nil, account.WorkspaceChange{Suspended: to(true)})
	if err != nil || same.Revision != 2 {
		t.Errorf("a change to what is there already made %+v, %v", same, err)
	}
	again, err := b.Workspace(t.Context(), b.tenant.ID)
	if err != nil || *again != *w {
		t.Errorf("the store has %+v, want %+v (%v)", again, w, err)
	}
	_, err = b.ChangeWorkspace(t.Context(), b.operator, b.tenant.ID, []int64{1}, account.WorkspaceChange{Name: to("late")})
	wantProblem(t, err, problem.CodeRevisionMismatch, "")
}

func TestInvalidWorkspaceIsRefused(t *testing.T) {
	t.Parallel()
	b := people(t)
	create := func(n account.NewWorkspace) error {
		_, err := b.CreateWorkspace(t.Context(), b.operator, n)
		return err
	}
	wantProblem(t, create(account.NewWorkspace{Name: " "}), problem.CodeValidation, "name")
	wantProblem(t, create(account.NewWorkspace{Name: strings.Repeat("ä", 121)}), problem.CodeValidation, "name")
	wantProblem(t, create(account.NewWorkspace{Name: "a\x00"}), problem.CodeValidation, "name")
	wantProblem(t, create(account.NewWorkspace{Name: "x", Tier: "gold"}), problem.CodeValidation, "tier")
	wantProblem(t, create(account.NewWorkspace{Name: "x", Tier: limit.TierAnonymous}), problem.CodeValidation, "tier")
	if err := create(account.NewWorkspace{Name: strings.Repeat("ä", 120), Tier: limit.TierBusiness}); err != nil {
		t.Error(err)
	}
	change := func(id string, c account.WorkspaceChange) error {
		_, err := b.ChangeWorkspace(t.Context(), b.operator, id, nil, c)
		return err
	}
	wantProblem(t, change(b.tenant.ID, account.WorkspaceChange{Tier: to("gold")}), problem.CodeValidation, "tier")
	wantProblem(t, change(b.operator.WorkspaceID, account.WorkspaceChange{Suspended: to(true)}), problem.CodeConflict, "")
	wantProblem(t, change("wsp_nobody", account.WorkspaceChange{}), problem.CodeNotFound, "")
	wantProblem(t, change("wsp_00000000000000000000000000", account.WorkspaceChange{}), problem.CodeNotFound, "")
}

func TestAdminsReachOnlyTheirOwnUsers(t *testing.T) {
	t.Parallel()
	b := people(t)
	_, err := b.User(t.Context(), b.admin, b.first)
	wantProblem(t, err, problem.CodeNotFound, "")
	_, err = b.ChangeUser(t.Context(), b.admin, b.first, nil, account.UserChange{Name: to("mine")})
	wantProblem(t, err, problem.CodeNotFound, "")
	wantProblem(t, b.DeleteUser(t.Context(), b.admin, b.first, nil), problem.CodeNotFound, "")
	_, err = b.CreateUser(t.Context(), b.admin, account.NewUser{Email: "x@example.org", WorkspaceID: b.operator.WorkspaceID, Password: b.password})
	wantProblem(t, err, problem.CodeNotFound, "")
	for _, id := range []string{b.operator.WorkspaceID, "wsp_00000000000000000000000000", "nonsense"} {
		_, err = b.ListUsers(t.Context(), b.admin, id, account.UserFilter{Limit: 9})
		wantProblem(t, err, problem.CodeNotFound, "")
	}
	ids := func(p *auth.Principal, workspace string) (list []string) {
		users, err := b.ListUsers(t.Context(), p, workspace, account.UserFilter{Limit: 9})
		if err != nil {
			t.Error(err)
		}
		for _, u := range users {
			list = append(list, u.ID)
		}
		slices.Sort(list)
		return list
	}
	all := []string{b.first, b.ada}
	slices.Sort(all)
	for _, c := range []struct {
		p         *auth.Principal
		workspace string
		want      []string
	}{
		{b.admin, "", []string{b.ada}},
		{b.admin, b.tenant.ID, []string{b.ada}},
		{b.operator, "", all},
		{b.operator, b.tenant.ID, []string{b.ada}},
	} {
		if got := ids(c.p, c.workspace); !slices.Equal(got, c.want) {
			t.Errorf("operator %v, workspace %q: got %v, want %v", c.p.Operator, c.workspace, got, c.want)
		}
	}
	if u, err := b.ChangeUser(t.Context(), b.operator, b.ada, nil, account.UserChange{Name: to("Ada")}); err != nil || u.Name != "Ada" {
		t.Errorf("the operator changed a tenant's user to %+v, %v", u, err)
	}
}

func TestLastAdminIsKept(t *testing.T) {
	t.Parallel()
	b := people(t)
	changes := map[string]account.UserChange{
		"demoted":  {Role: to(account.RoleDeveloper)},
		"disabled": {Disabled: to(true)},
		"both":     {Role: to(account.RoleViewer), Disabled: to(true)},
	}
	for name, c := range changes {
		if _, err := b.ChangeUser(t.Context(), b.admin, b.ada, nil, c); err == nil {
			t.Errorf("the last admin was %s", name)
		} else {
			wantProblem(t, err, problem.CodeConflict, "")
		}
	}
	wantProblem(t, b.DeleteUser(t.Context(), b.admin, b.ada, nil), problem.CodeConflict, "")

	// One who is disabled does not count; one who is not does.
	eve := b.user("eve@example.org", account.RoleAdmin)
	if _, err := b.ChangeUser(t.Context(), b.admin, eve, nil, account.UserChange{Disabled: to(true)}); err != nil {
		t.Fatal(err)
	}
	wantProblem(t, b.DeleteUser(t.Context(), b.admin, b.ada, nil), problem.CodeConflict, "")
	if _, err := b.ChangeUser(t.Context(), b.admin, eve, nil, account.UserChange{Disabled: to(false)}); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteUser(t.Context(), b.admin, b.ada, nil); err != nil {
		t.Errorf("with another admin: %v", err)
	}
	wantProblem(t, b.DeleteUser(t.Context(), b.admin, eve, nil), problem.CodeConflict, "")
}

func TestAdminsCannotRemoveEachOther(t *testing.T) {
	t.Parallel()
	b := people(t)
	eve := b.user("eve@example.org", account.RoleAdmin)
	var gone sync.WaitGroup
	errs := make([]error, 2)
	for i, id := range []string{b.ada, eve} {
		gone.Go(func() { errs[i] = b.DeleteUser(context.Background(), b.admin, id, nil) })
	}
	gone.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("got %v and %v, want one success", errs[0], errs[1])
	}
}

func TestUserChangesApplyToSessions(t *testing.T) {
	t.Parallel()
	b := people(t)
	bob := b.user("bob@example.org", account.RoleMember)
	change := func(c account.UserChange) {
		t.Helper()
		if _, err := b.ChangeUser(t.Context(), b.admin, bob, nil, c); err != nil {
			t.Fatal(err)
		}
	}
	change(account.UserChange{Role: to(account.RoleViewer)})
	change(account.UserChange{Role: to(account.RoleViewer)}) // nothing new
	other, err := b.HashPassword(t.Context(), "correct horse battery staple")
	if err != nil {
		t.Fatal(err)
	}
	change(account.UserChange{Password: &other})
	change(account.UserChange{Disabled: to(true)})
	if err := b.DeleteUser(t.Context(), b.admin, bob, nil); err != nil {
		t.Fatal(err)
	}
	_, _ = b.ChangeUser(t.Context(), b.admin, b.ada, nil, account.UserChange{Disabled: to(true)}) // refused
	want := []string{"changed " + bob, "end " + bob, "end " + bob, "end " + bob}
	if !slices.Equal(b.sessions.what, want) {
		t.Errorf("sessions were told %v, want %v", b.sessions.what, want)
	}
}

func TestUsersAreLimitedByTheTier(t *testing.T) {
	t.Parallel()
	b := people(t)
	for i := range 4 { // ada is the first of free's five
		b.user(fmt.Sprintf("u%d@example.org", i), account.RoleMember)
	}
	_, err := b.CreateUser(t.Context(), b.admin, account.NewUser{Email: "u5@example.org", Password: b.password})
	p, ok := problem.As(err)
	if !ok || p.Code != problem.CodeLimitReached || p.Details.Limit != "users" {
		t.Errorf("the sixth: %v", err)
	}
	if _, err := b.ChangeWorkspace(t.Context(), b.operator, b.tenant.ID, nil, account.WorkspaceChange{Tier: to(limit.TierUnlimited)}); err != nil {
		t.Fatal(err)
	}
	b.user("u5@example.org", account.RoleMember)
}

func TestConcurrentUsersKeepTheTierLimit(t *testing.T) {
	t.Parallel()
	b := people(t)
	errs := make([]error, 20)
	var making sync.WaitGroup
	for i := range errs {
		making.Go(func() {
			n := account.NewUser{Email: fmt.Sprintf("u%d@example.org", i/2), Password: b.password} // each twice
			_, errs[i] = b.CreateUser(context.Background(), b.admin, n)
		})
	}
	making.Wait()
	made := 0
	for _, err := range errs {
		if err == nil {
			made++
		} else if p, ok := problem.As(err); !ok || p.Kind != problem.Conflict {
			t.Errorf("one got %v", err)
		}
	}
	users, err := b.ListUsers(t.Context(), b.admin, "", account.UserFilter{Limit: 50})
	if err != nil || made != 4 || len(users) != 5 {
		t.Errorf("%d were made, %d are there (%v); free allows 5, of which one was there", made, len(users), err)
	}
}

func TestEmailIsFoldedAndUnique(t *testing.T) {
	t.Parallel()
	b := people(t)
	u, err := b.CreateUser(t.Context(), b.admin, account.NewUser{Email: " BO\u0308B@Example.org ", Name: "Bob", Password: b.password})
	if err != nil || u.Email != "b\u00f6b@example.org" || u.Role != account.RoleMember || u.Password == "" {
		t.Fatalf("created %+v, %v", u, err)
	}
	for _, p := range []*auth.Principal{b.admin, b.operator} {
		_, err = b.CreateUser(t.Context(), p, account.NewUser{Email: "B\u00d6B@EXAMPLE.ORG", Password: b.password})
		wantProblem(t, err, problem.CodeConflict, "")
	}
	if err := b.DeleteUser(t.Context(), b.admin, u.ID, []int64{u.Revision}); err != nil {
		t.Fatal(err)
	}
	if _, err = b.CreateUser(t.Context(), b.operator, account.NewUser{Email: "b\u00f6b@example.org", Password: b.password}); err != nil {
		t.Errorf("the email of a deleted user: %v", err)
	}
	_, err = b.CreateUser(t.Context(), b.admin, account.NewUser{Email: "nobody", Password: b.password})
	wantProblem(t, err, problem.CodeValidation, "email")
	_, err = b.HashPassword(t.Context(), "elevenchars")
	wantProblem(t, err, problem.CodeValidation, "password")
}

func TestChangesAreRefusedAtAnotherRevision(t *testing.T) {
	t.Parallel()
	b := people(t)
	eve := b.user("eve@example.org", account.RoleAdmin)
	_, err := b.ChangeUser(t.Context(), b.admin, eve, []int64{2}, account.UserChange{Name: to("Eve")})
	wantProblem(t, err, problem.CodeRevisionMismatch, "")
	wantProblem(t, b.DeleteUser(t.Context(), b.admin, eve, []int64{2}), problem.CodeRevisionMismatch, "")
	u, err := b.ChangeUser(t.Context(), b.admin, eve, []int64{1}, account.UserChange{Name: to("Eve")})
	if err != nil || u.Revision != 2 {
		t.Errorf("got %+v, %v", u, err)
	}
	_, err = b.setTier(t, []int64{2}, limit.Tiers()[1])
	wantProblem(t, err, problem.CodeRevisionMismatch, "")
}

func (b *bench) setTier(t *testing.T, ifRevision revision.Expected, tier limit.Tier) (*account.Tier, error) {
	t.Helper()
	return b.ChangeTier(t.Context(), b.operator, ifRevision, tier.Name, func(now *limit.Tier) { *now = tier })
}

func TestTierChangeIsKept(t *testing.T) {
	t.Parallel()
	b := people(t)
	e, _ := b.Directory.Entry(b.tenant.ID)
	limit.Local{}.Charge(noon, 50, e.Account(), limit.Account{})
	free := *e.Tier()
	free.RequestsPerMinute, free.Daily, free.Users = 40, 100, new(int64(1))
	changed, err := b.setTier(t, []int64{1}, free)
	if err != nil || changed.Revision != 2 {
		t.Fatalf("changed to %+v, %v", changed, err)
	}
	if v := (limit.Local{}).Peek(noon, 1, e.Account(), limit.Account{}); v.Allowed || v.Limit != 40 || v.Remaining != 0 || v.DailyRemaining != 50 {
		t.Errorf("after 50 requests the smaller tier's verdict is %+v", v)
	}
	_, err = b.CreateUser(t.Context(), b.admin, account.NewUser{Email: "x@example.org", Password: b.password})
	wantProblem(t, err, problem.CodeLimitReached, "")

	anonymous := limit.Tiers()[0]
	anonymous.RequestsPerMinute = 3
	if _, err := b.setTier(t, nil, anonymous); err != nil || b.anyone.PerMinute != 3 {
		t.Errorf("callers without a credential have %+v (%v)", b.anyone, err)
	}
	gold := free
	gold.Name = "gold"
	_, err = b.setTier(t, nil, gold)
	wantProblem(t, err, problem.CodeNotFound, "")

	// Another process, whose configuration has lost a tier that was changed.
	if _, err := b.setTier(t, nil, limit.Tiers()[3]); err != nil {
		t.Fatal(err)
	}
	next := account.NewService(account.Options{
		Store: b.Store, Units: b.units, Directory: account.NewDirectory(b.Store, limit.Tiers()[:3], &owners{}, clock), Now: clock,
	})
	if err := next.LoadTiers(t.Context()); err != nil {
		t.Fatal(err)
	}
	tiers, err := next.Tiers(t.Context())
	want := []account.Tier{{Tier: anonymous, Revision: 2}, {Tier: free, Revision: 2}, {Tier: limit.Tiers()[2], Revision: 1}}
	if diff := cmp.Diff(want, tiers); diff != "" || err != nil {
		t.Errorf("after a start: %s %v", diff, err)
	}
}

func TestAdminActionsAreLoggedWithoutNames(t *testing.T) {
	t.Parallel()
	b := people(t)
	bob := b.user("bob@example.org", account.RoleMember)
	if _, err := b.ChangeUser(t.Context(), b.admin, bob, nil, account.UserChange{Name: to("Bob"), Role: to(account.RoleViewer), Password: to(account.Hashed{})}); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteUser(t.Context(), b.operator, bob, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := b.ChangeWorkspace(t.Context(), b.operator, b.tenant.ID, nil, account.WorkspaceChange{Name: to("other"), Suspended: to(true)}); err != nil {
		t.Fatal(err)
	}
	free := limit.Tiers()[1]
	free.Users, free.Daily = nil, free.Daily+1
	if _, err := b.setTier(t, nil, free); err != nil {
		t.Fatal(err)
	}
	entry := func(action audit.Action, workspace, target string, details map[string]string) audit.Entry {
		return audit.Entry{Action: action, WorkspaceID: workspace, Actor: "local", Target: target, Details: details}
	}
	w := b.tenant.ID
	want := []audit.Entry{
		entry(audit.WorkspaceCreated, w, w, map[string]string{"tier": "free"}),
		entry(audit.UserCreated, w, b.ada, map[string]string{"role": "admin"}),
		entry(audit.UserCreated, w, bob, map[string]string{"role": "member"}),
		entry(audit.UserChanged, w, bob, map[string]string{"name": "changed", "role": "viewer", "password": "changed"}),
		entry(audit.UserDeleted, w, bob, nil),
		entry(audit.WorkspaceChanged, w, w, map[string]string{"name": "changed", "suspended": "true"}),
		entry(audit.TierChanged, "", "free", map[string]string{
			"requestsPerMinute": "60", "daily": "5001", "monthly": "100000", "keys": "5", "users": "none", "documents": "10000", "memories": "10000", "storage": "268435456",
			"daily.before": "5000", "users.before": "5",
		}),
	}
	got := slices.DeleteFunc(b.log.Entries(), func(e audit.Entry) bool { return e.Action == audit.InstanceInitialised })
	if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
		t.Error(diff)
	}
}

// closed is a log that takes nothing.
type closed struct{}

func (closed) Record(context.Context, audit.Entry) error { return errors.New("the log is closed") }

func TestUnloggedChangeIsRolledBack(t *testing.T) {
	t.Parallel()
	b := people(t)
	b.Audit = closed{}
	free := limit.Tiers()[1]
	free.RequestsPerMinute = 1
	_, workspace := b.ChangeWorkspace(t.Context(), b.operator, b.tenant.ID, nil, account.WorkspaceChange{Suspended: to(true)})
	_, user := b.ChangeUser(t.Context(), b.admin, b.ada, nil, account.UserChange{Name: to("Eve")})
	_, tier := b.setTier(t, nil, free)
	if workspace == nil || user == nil || tier == nil {
		t.Errorf("got %v, %v, %v", workspace, user, tier)
	}
	e, _ := b.Directory.Entry(b.tenant.ID)
	ada, err := b.User(t.Context(), b.admin, b.ada)
	if err != nil || ada.Name != "" || e.Suspended() || e.Tier().RequestsPerMinute != 60 || len(b.sessions.what) != 0 {
		t.Errorf("afterwards: %+v, suspended %v, tier %+v, sessions %v", ada, e.Suspended(), e.Tier(), b.sessions.what)
	}
}
