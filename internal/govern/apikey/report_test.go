package apikey_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/usage"
)

// report is a report of a key that arrives in time.
func (b *bundle) report(id, keyID string, count int64) apikey.Report {
	return apikey.Report{ID: id, KeyID: keyID, Route: "GET /orders/{id}", Status: 200, Count: count, At: b.now()}
}

// send reports usage, and checks how many reports are accepted and how many are duplicates.
func (b *bundle) send(t *testing.T, accepted, duplicates int, list ...apikey.Report) *apikey.Reported {
	t.Helper()
	r, err := b.Report(t.Context(), b.manager(auth.DeveloperManage), list)
	if err != nil {
		t.Fatal(err)
	}
	if r.Accepted != accepted || r.Duplicates != duplicates {
		t.Errorf("accepted %d, duplicates %d, errors %v; want %d and %d", r.Accepted, r.Duplicates, r.Errors, accepted, duplicates)
	}
	return r
}

// wantUsed checks what a key and its workspace have used of the day, in memory and in the database.
func (b *bundle) wantUsed(t *testing.T, keyID string, ofKey, ofWorkspace int64) {
	t.Helper()
	limits, err := b.Limits(t.Context(), b.manager(auth.All), keyID)
	if err != nil {
		t.Fatal(err)
	}
	if left, want := limits.OfWorkspace.Daily.Remaining, max(0, limits.OfWorkspace.Daily.Limit-ofWorkspace); left != want {
		t.Errorf("the workspace has %d left in memory, want %d", left, want)
	}
	if minute := limits.OfWorkspace.Minute; minute.Remaining != minute.Limit {
		t.Errorf("the workspace has %d of %d left in its minute", minute.Remaining, minute.Limit)
	}
	day := b.now().Format(time.DateOnly)
	stored, err := b.counters.OwnerQuotas(t.Context(), []string{keyID, b.tenant}, []string{day})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, q := range stored {
		got[q.OwnerID] = q.Charged
	}
	if got[keyID] != ofKey || got[b.tenant] != ofWorkspace {
		t.Errorf("the database has %d of the key and %d of the workspace, want %d and %d", got[keyID], got[b.tenant], ofKey, ofWorkspace)
	}
}

func TestReportedUsageCountsOnceInSevenDays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.newKey(t, apikey.Draft{})
	b.send(t, 2, 1, b.report("one", key.ID, 3), b.report("two", key.ID, 4), b.report("one", key.ID, 9))
	b.wantUsed(t, key.ID, 7, 7)
	b.send(t, 1, 2, b.report("one", key.ID, 3), b.report("two", key.ID, 4), b.report("three", key.ID, 1))
	b.wantUsed(t, key.ID, 8, 8)
	b.pass(7*24*time.Hour - time.Second)
	b.send(t, 0, 1, b.report("one", key.ID, 3))
	b.pass(time.Second)
	b.send(t, 1, 0, b.report("one", key.ID, 3))
	b.wantUsed(t, key.ID, 3, 3) // of that day
}

func TestReportedUsageIsNeverRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	one := int64(1)
	key := b.newKey(t, apikey.Draft{Quota: apikey.Quota{Daily: &one}})
	b.send(t, 1, 0, b.report("a", key.ID, 4_999))
	b.send(t, 1, 0, b.report("b", key.ID, 1_000_000))
	b.wantUsed(t, key.ID, 1_004_999, 1_004_999)
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), key.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	b.send(t, 1, 0, b.report("c", key.ID, 1))
}

func TestReportsMustBeOfTheLastDay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.newKey(t, apikey.Draft{})
	for i, c := range []struct {
		at   time.Duration
		want string
	}{
		{-24 * time.Hour, ""},
		{-24*time.Hour - time.Millisecond, "at expired"},
		{5 * time.Minute, ""},
		{5*time.Minute + time.Millisecond, "at too_large"},
	} {
		r := b.report(fmt.Sprint(i), key.ID, 1)
		r.At = r.At.Add(c.at)
		got, err := b.Report(t.Context(), b.manager(auth.DeveloperManage), []apikey.Report{r})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, e := range got.Errors {
			text = e.Problem.Details.Field + " " + string(e.Problem.Details.Issue)
		}
		if text != c.want {
			t.Errorf("%s from now: got %q, want %q", c.at, text, c.want)
		}
	}
	// Requests are counted when they happened, and charged to the day on which they are reported.
	counted := map[string]int64{}
	from := b.now().Add(-48 * time.Hour)
	q := usage.CellQuery{WorkspaceID: b.tenant, From: from, To: b.now().Add(time.Hour), Step: time.Minute}
	err := b.counters.EachCell(t.Context(), q, func(c *usage.Cell) error {
		counted[fmt.Sprint(c.Start.Sub(b.now()), " ", c.Surface, " ", c.Method, " ", c.Route, " ", c.Version)] += c.Requests
		counted[fmt.Sprint("charged ", c.Start.Sub(b.now()))] += c.Charged
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{
		"-24h0m0s backend GET /orders/{id} 0": 1, "0s backend GET /orders/{id} 0": 1, "charged 0s": 2, "charged -24h0m0s": 0,
	} {
		if counted[name] != want {
			t.Errorf("%s: got %d, want %d of %v", name, counted[name], want, counted)
		}
	}
}

func TestReportsReachOnlyVisibleKeys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.newKey(t, apikey.Draft{})
	bound := b.newKey(t, apikey.Draft{SubjectID: "patient-1", Scopes: auth.MemoryRead})
	elsewhere := b.manager(auth.All)
	elsewhere.WorkspaceID = operatorOf(b)
	foreign, err := b.Create(t.Context(), elsewhere, apikey.Draft{Name: "foreign", Scopes: auth.Read})
	if err != nil {
		t.Fatal(err)
	}
	list := []apikey.Report{
		b.report("a", key.ID, 1), b.report("b", bound.ID, 1), b.report("c", foreign.ID, 1),
		b.report("d", "key_00000000000000000000000000", 1), b.report("e", "\x00", 1),
	}
	inBound := b.manager(auth.DeveloperManage)
	inBound.SubjectID = "patient-1"
	for name, c := range map[string]struct {
		p        *auth.Principal
		accepted int
	}{
		"another workspace's and unknown keys": {b.manager(auth.DeveloperManage), 2},
		"a bound caller":                       {inBound, 1},
		"the backend secret":                   {&auth.Principal{Kind: auth.Backend, WorkspaceID: operatorOf(b), Operator: true}, 3},
	} {
		for i := range list {
			list[i].ID += name
		}
		got, err := b.Report(t.Context(), c.p, list)
		if err != nil || got.Accepted != c.accepted || len(got.Errors) != len(list)-c.accepted {
			t.Errorf("%s: got %+v, %v; want %d accepted", name, got, err, c.accepted)
		}
		for _, e := range got.Errors {
			if e.Problem.Details.Field != "keyId" || e.Problem.Message != got.Errors[0].Problem.Message {
				t.Errorf("%s: the errors tell keys apart: %+v", name, e.Problem)
			}
		}
	}
}

func TestReportedRoutesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.newKey(t, apikey.Draft{})
	var list []apikey.Report
	for i := range 300 {
		r := b.report(fmt.Sprint(i), key.ID, 1)
		r.Route = fmt.Sprint("/raw/", i)
		list = append(list, r)
	}
	b.send(t, 300, 0, list...)
	routes := map[string]int64{}
	q := usage.CellQuery{WorkspaceID: b.tenant, From: b.now().Add(-time.Hour), To: b.now().Add(time.Hour), Step: time.Minute}
	err := b.counters.EachCell(t.Context(), q, func(c *usage.Cell) error {
		if c.Requests > 0 {
			routes[c.Route] += c.Requests
		}
		return nil
	})
	if err != nil || len(routes) != 201 || routes[usage.Other] != 100 {
		t.Errorf("%d routes with %d requests of others, %v; want 200 and 100", len(routes), routes[usage.Other], err)
	}
	b.wantUsed(t, key.ID, 300, 300)
}

// lostCommits is a store that fails after it has added reports, or before.
type lostCommits struct {
	usage.ReportStore
	before, after error
	calls         int
}

func (l *lostCommits) AddReports(ctx context.Context, at time.Time, list []usage.Report, added func([]int)) error {
	for range l.calls { // the engine repeats a transaction
		added([]int{0})
	}
	if l.before != nil {
		added([]int{0})
		return l.before
	}
	return errors.Join(l.ReportStore.AddReports(ctx, at, list, added), l.after)
}

func TestFailedReportSpendsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.newKey(t, apikey.Draft{})
	broken := &lostCommits{ReportStore: b.counters, before: errors.New("lost"), calls: 3}
	b.set(func(o *apikey.Options) { o.Reports = broken })
	if _, err := b.Report(t.Context(), b.manager(auth.All), []apikey.Report{b.report("a", key.ID, 5)}); err == nil {
		t.Error("a failed report was accepted")
	}
	b.wantUsed(t, key.ID, 0, 0)
	broken.before = nil // the transaction was repeated
	b.send(t, 1, 0, b.report("a", key.ID, 5))
	b.wantUsed(t, key.ID, 5, 5)
}

func TestBackendSecretVerifiesKeysOfAllWorkspaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := b.newKey(t, apikey.Draft{})
	p := &auth.Principal{Kind: auth.Backend, WorkspaceID: operatorOf(b), Operator: true, Scopes: auth.DeveloperManage}
	v, err := b.Verify(t.Context(), p, &callerLimit{left: 1}, apikey.VerifyRequest{Text: key.Text, Cost: 2, Consume: true})
	if err != nil || v.Code != apikey.Valid || v.Key.WorkspaceID != b.tenant || v.Remaining.Minute.Remaining != 58 {
		t.Errorf("got %+v, %v", v, err)
	}
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), key.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	v, err = b.Verify(t.Context(), p, &callerLimit{left: 1}, apikey.VerifyRequest{Text: key.Text, Cost: 1})
	if err != nil || v.Code != apikey.KeyRevoked || v.Key == nil {
		t.Errorf("revoked: got %+v, %v", v, err)
	}
}
