package apikey_test

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
)

// callerLimit is the limit of the caller of Verify.
type callerLimit struct{ left, paid int }

var errSpent = errors.New("the caller's budget is spent")

func (p *callerLimit) Charge() error {
	switch {
	case p.paid == 1:
		return nil
	case p.left == 0:
		return errSpent
	}
	p.left, p.paid = p.left-1, 1
	return nil
}

func (p *callerLimit) Refund() { p.left, p.paid = p.left+p.paid, 0 }

func TestVerifyingAnInvalidKeyCostsTheCaller(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := b.newKey(t, apikey.Draft{})
	for text, want := range map[string]int{good.Text: 3, "x": 2, apikey.Generate(b.Random): 2} {
		p := &callerLimit{left: 3}
		if _, err := b.Verify(t.Context(), b.manager(auth.DeveloperManage), p, apikey.VerifyRequest{Text: text, Cost: 1}); err != nil || p.left != want {
			t.Errorf("after %q the caller has %d left, %v; want %d", text, p.left, err, want)
		}
	}
	// A caller without requests left can still verify valid keys, but causes no read of the database.
	spent := &callerLimit{}
	if v, err := b.Verify(t.Context(), b.manager(auth.DeveloperManage), spent, apikey.VerifyRequest{Text: good.Text, Cost: 1}); err != nil || v.Code != apikey.Valid {
		t.Errorf("a valid key: %v", err)
	}
	before := b.Directory.RefusalStats().Misses
	if _, err := b.Verify(t.Context(), b.manager(auth.DeveloperManage), spent, apikey.VerifyRequest{Text: apikey.Generate(b.Random), Cost: 1}); !errors.Is(err, errSpent) {
		t.Errorf("an unknown key: %v", err)
	}
	if after := b.Directory.RefusalStats().Misses; after != before {
		t.Errorf("the database was read %d times for a caller without requests left", after-before)
	}
}

func (b *bundle) verify(t testing.TB, q apikey.VerifyRequest) *apikey.Verification {
	t.Helper()
	v, err := b.Verify(t.Context(), b.manager(auth.DeveloperManage), &callerLimit{left: 100}, q)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return v
}

func TestEveryCodeOfAVerification(t *testing.T) {
	t.Parallel()
	b := setup(t)
	three, five := int64(3), int64(5)
	off := true
	change := func(k *apikey.Created, c apikey.Change) {
		t.Helper()
		if _, err := b.Change(t.Context(), b.manager(auth.All), k.ID, nil, c); err != nil {
			t.Fatal(err)
		}
	}
	good := b.newKey(t, apikey.Draft{Name: "good", Scopes: auth.Read | auth.MemoryRead, Metadata: map[string]any{"team": "a"}})
	expired := b.newKey(t, apikey.Draft{ExpiresAt: b.in(time.Second)})
	disabled := b.newKey(t, apikey.Draft{})
	change(disabled, apikey.Change{Disabled: &off})
	revoked := b.newKey(t, apikey.Draft{})
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), revoked.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Second)
	placed := b.newKey(t, apikey.Draft{AllowedIPs: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	slow := b.newKey(t, apikey.Draft{RequestsPerMinute: &three, Quota: apikey.Quota{Daily: &five}})
	elsewhere := b.manager(auth.All)
	elsewhere.WorkspaceID = operatorOf(b)
	foreign, err := b.Create(t.Context(), elsewhere, apikey.Draft{Name: "foreign", Scopes: auth.Read})
	if err != nil {
		t.Fatal(err)
	}

	for name, c := range map[string]struct {
		q    apikey.VerifyRequest
		want apikey.Code
		of   string
	}{
		"live":                     {apikey.VerifyRequest{Text: good.Text, Scopes: auth.Read}, apikey.Valid, good.ID},
		"no text":                  {apikey.VerifyRequest{}, apikey.Invalid, ""},
		"unknown":                  {apikey.VerifyRequest{Text: apikey.Generate(b.Random)}, apikey.Invalid, ""},
		"another workspace's":      {apikey.VerifyRequest{Text: foreign.Text}, apikey.Invalid, ""},
		"expired":                  {apikey.VerifyRequest{Text: expired.Text}, apikey.KeyExpired, expired.ID},
		"disabled":                 {apikey.VerifyRequest{Text: disabled.Text}, apikey.KeyDisabled, disabled.ID},
		"revoked":                  {apikey.VerifyRequest{Text: revoked.Text}, apikey.KeyRevoked, revoked.ID},
		"without a scope":          {apikey.VerifyRequest{Text: good.Text, Scopes: auth.Read | auth.Write}, apikey.InsufficientScope, good.ID},
		"from an allowed address":  {apikey.VerifyRequest{Text: placed.Text, From: netip.MustParseAddr("::ffff:192.0.2.9")}, apikey.Valid, placed.ID},
		"from another address":     {apikey.VerifyRequest{Text: placed.Text, From: netip.MustParseAddr("192.0.3.9")}, apikey.IPNotAllowed, placed.ID},
		"from an unknown address":  {apikey.VerifyRequest{Text: placed.Text}, apikey.IPNotAllowed, placed.ID},
		"more than the minute has": {apikey.VerifyRequest{Text: slow.Text, Cost: 4}, apikey.RateLimited, slow.ID},
		"more than the day has":    {apikey.VerifyRequest{Text: slow.Text, Cost: 6}, apikey.QuotaExceeded, slow.ID},
	} {
		c.q.Cost = max(c.q.Cost, 1)
		for _, c.q.Consume = range []bool{false, true} {
			if c.want == apikey.Valid {
				c.q.Consume = false
			}
			v := b.verify(t, c.q)
			id := ""
			if v.Key != nil {
				id = v.Key.ID
			}
			if v.Code != c.want || id != c.of {
				t.Errorf("a key that is %s, consume %v: %s of %q, want %s of %q", name, c.q.Consume, v.Code, id, c.want, c.of)
			}
		}
	}
	// None of that was charged.
	v := b.verify(t, apikey.VerifyRequest{Text: slow.Text, Cost: 3})
	if v.Code != apikey.Valid || v.Remaining.Minute.Remaining != 3 || v.Remaining.Daily.Remaining != 5 || v.Remaining.Monthly.Remaining != 100_000 || v.Key.LastUsedAt != nil {
		t.Errorf("after refusals and questions without consume the key has %+v", v.Remaining)
	}
	if v := b.verify(t, apikey.VerifyRequest{Text: good.Text, Cost: 1}); v.Key.Name != "good" || v.Key.Metadata["team"] != "a" || v.Remaining.Minute.Limit != 60 {
		t.Errorf("a key is described as %+v, %+v", v.Key, v.Remaining)
	}
	bound := b.manager(auth.All)
	bound.SubjectID = "person-7"
	for _, text := range []string{good.Text, revoked.Text} {
		if v, err := b.Verify(t.Context(), bound, &callerLimit{left: 1}, apikey.VerifyRequest{Text: text, Cost: 1}); err != nil || v.Code != apikey.Invalid || v.Key != nil {
			t.Errorf("a bound key sees one that is not bound: %+v, %v", v, err)
		}
	}
}

func TestKeyOfASuspendedWorkspaceIsVerifiedAsDisabled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	created := b.newKey(t, apikey.Draft{})
	if err := b.Accounts.Put(&account.Workspace{ID: b.tenant, Name: "tenant", Tier: limit.TierFree, Suspended: true, Revision: 2}); err != nil {
		t.Fatal(err)
	}
	v := b.verify(t, apikey.VerifyRequest{Text: created.Text, Cost: 1, Consume: true})
	if v.Code != apikey.KeyDisabled || v.Key == nil || v.Remaining.Minute.Remaining != 60 {
		t.Errorf("got %s, %+v; want DISABLED without a charge", v.Code, v.Remaining)
	}
}

func TestVerifiedKeyIsChargedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ten := int64(10)
	created := b.newKey(t, apikey.Draft{RequestsPerMinute: &ten})
	other := b.newKey(t, apikey.Draft{})
	v := b.verify(t, apikey.VerifyRequest{Text: created.Text, Cost: 4, Consume: true})
	if v.Code != apikey.Valid || v.Remaining.Minute.Remaining != 6 || v.Remaining.Minute.Limit != 10 || v.Remaining.Daily.Remaining != 4996 {
		t.Errorf("after paying 4: %s, %+v", v.Code, v.Remaining)
	}
	if v := b.verify(t, apikey.VerifyRequest{Text: other.Text, Cost: 1}); v.Remaining.Minute.Remaining != 56 {
		t.Errorf("another key of the workspace has %d left in the minute, want 56", v.Remaining.Minute.Remaining)
	}
	if v := b.verify(t, apikey.VerifyRequest{Text: created.Text, Cost: 7, Consume: true}); v.Code != apikey.RateLimited || v.Remaining.Minute.Remaining != 6 {
		t.Errorf("asked for more than is left: %s, %+v", v.Code, v.Remaining)
	}

	// Charges survive the process like those of requests.
	if err := b.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	used, err := b.recorder.Restore(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{created.ID, b.tenant} {
		if day, month := used(owner); day != 4 || month != 4 {
			t.Errorf("%s was charged %d in the day and %d in the month, want 4 and 4", owner, day, month)
		}
	}
	series, err := b.Usage(t.Context(), b.manager(auth.All), created.ID, time.Hour, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if p := series.Points[len(series.Points)-1]; p.Charged != 4 || p.Requests != 0 {
		t.Errorf("the series says %+v, want 4 charged without a request", p)
	}
	if k, err := b.APIKey(t.Context(), b.manager(auth.All), created.ID); err != nil || k.LastUsedAt == nil || !k.LastUsedAt.Equal(noon) {
		t.Errorf("a use that was paid for is last used at %v, %v", k.LastUsedAt, err)
	}
}

func TestConcurrentVerificationsKeepTheLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ten := int64(10)
	created := b.newKey(t, apikey.Draft{RequestsPerMinute: &ten})
	var valid, limited atomic.Int64
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 5 {
				v, err := b.Verify(context.Background(), b.manager(auth.DeveloperManage), &callerLimit{}, apikey.VerifyRequest{Text: created.Text, Cost: 2, Consume: true})
				switch {
				case err != nil:
					t.Error(err)
				case v.Code == apikey.Valid:
					valid.Add(1)
				case v.Code == apikey.RateLimited:
					limited.Add(1)
				}
			}
		})
	}
	running.Wait()
	if valid.Load() != 5 || limited.Load() != 35 {
		t.Errorf("of 40 at a cost of 2 each %d were valid and %d limited, want 5 and 35", valid.Load(), limited.Load())
	}
}

func TestVerifyFailsIfTheDatabaseFails(t *testing.T) {
	t.Parallel()
	b := setup(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	v, err := b.Verify(gone, b.manager(auth.All), &callerLimit{left: 1}, apikey.VerifyRequest{Text: apikey.Generate(b.Random), Cost: 1})
	if _, isProblem := problem.As(err); v != nil || err == nil || isProblem && codeIn(err) == problem.CodeInvalidAPIKey {
		t.Errorf("a failed lookup gives %+v, %v", v, err)
	}
}

func BenchmarkVerify(b *testing.B) {
	x := setup(b)
	operator := x.manager(auth.All)
	operator.WorkspaceID = operatorOf(x) // its tier outlasts a benchmark
	created, err := x.Create(b.Context(), operator, apikey.Draft{Name: "verified", Scopes: auth.Read})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		x.pass(time.Millisecond)
		if v, err := x.Verify(b.Context(), operator, &callerLimit{}, apikey.VerifyRequest{Text: created.Text, Cost: 1, Consume: true}); err != nil || v.Code != apikey.Valid {
			b.Fatalf("%+v, %v", v, err)
		}
	}
}
