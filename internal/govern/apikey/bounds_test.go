package apikey_test

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
)

// use is one way to use a key. A key is wider than another if it allows a use that the other does not.
type use struct {
	field string
	after time.Duration // since noon
	from  netip.Addr
	n     int64 // requests of a minute, a day or a month
}

var uses = func() (list []use) {
	for _, after := range []time.Duration{30 * time.Minute, 90 * time.Minute, 48 * time.Hour} {
		list = append(list, use{field: "expiresAt", after: after})
	}
	for _, from := range []string{"10.1.0.9", "10.2.0.9", "192.0.2.9", "2001:db8::9", "2001:db9::9"} {
		list = append(list, use{field: "allowedIps", from: netip.MustParseAddr(from)})
	}
	for _, field := range []string{"rateLimit.requestsPerMinute", "quota.daily", "quota.monthly"} {
		for _, n := range []int64{5, 15, 25, 1_000_000} {
			list = append(list, use{field: field, n: n})
		}
	}
	return list
}()

func (u use) allowedBy(k *apikey.APIKey) bool {
	switch u.field {
	case "expiresAt":
		return k.ExpiresAt == nil || noon.Add(u.after).Before(*k.ExpiresAt)
	case "allowedIps":
		for _, n := range k.AllowedIPs {
			if n.Contains(u.from) {
				return true
			}
		}
		return len(k.AllowedIPs) == 0
	case "rateLimit.requestsPerMinute":
		return k.RequestsPerMinute == nil || u.n <= *k.RequestsPerMinute
	case "quota.daily":
		return k.Daily == nil || u.n <= *k.Daily
	default:
		return k.Monthly == nil || u.n <= *k.Monthly
	}
}

// wider gives the fields in which k allows a use that own does not.
func wider(k, own *apikey.APIKey) map[string]bool {
	fields := map[string]bool{}
	for _, u := range uses {
		if u.allowedBy(k) && !u.allowedBy(own) {
			fields[u.field] = true
		}
	}
	if !own.Scopes.Allows(k.Scopes) {
		fields["scopes"] = true
	}
	return fields
}

var (
	someEnds     = []time.Duration{0, time.Hour, 2 * time.Hour} // 0: none
	someNumbers  = []int64{0, 10, 20}                           // 0: none
	someNetworks = [][]string{nil, {"10.0.0.0/8"}, {"10.1.0.0/16"}, {"10.1.0.0/16", "2001:db8::/32"}, {"192.0.2.0/24"}, {"0.0.0.0/0"}}
	someScopes   = []auth.Scopes{auth.DeveloperManage, auth.DeveloperManage | auth.Read, auth.DeveloperManage | auth.Write, auth.Admin}
)

// someDraft draws a draft in which any bound can be missing.
func someDraft(t *rapid.T, what string) apikey.Draft {
	number := func(name string) *int64 {
		if n := rapid.SampledFrom(someNumbers).Draw(t, what+" "+name); n > 0 {
			return &n
		}
		return nil
	}
	d := apikey.Draft{
		Name: what, Scopes: rapid.SampledFrom(someScopes).Draw(t, what+" scopes"), RequestsPerMinute: number("rate"),
		Quota: apikey.Quota{Daily: number("daily"), Monthly: number("monthly")},
	}
	if end := rapid.SampledFrom(someEnds).Draw(t, what+" end"); end > 0 {
		at := noon.Add(end)
		d.ExpiresAt = &at
	}
	for _, text := range rapid.SampledFrom(someNetworks).Draw(t, what+" networks") {
		d.AllowedIPs = append(d.AllowedIPs, netip.MustParsePrefix(text))
	}
	return d
}

// changeTo asks for what d has, and removes every bound that d does not have.
func changeTo(d apikey.Draft) apikey.Change {
	return apikey.Change{
		Scopes: &d.Scopes, Expiry: &apikey.Expiry{At: d.ExpiresAt}, RateLimit: &apikey.RateLimit{RequestsPerMinute: d.RequestsPerMinute},
		Quota: &d.Quota, AllowedIPs: &d.AllowedIPs,
	}
}

func TestKeyCannotWidenItselfOrOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		person := &auth.Principal{Kind: auth.User, UserID: "usr_1", WorkspaceID: operatorOf(b), Scopes: auth.All}
		create := func(p *auth.Principal, d apikey.Draft) (*apikey.APIKey, *auth.Principal, error) {
			k, err := b.Create(ctx, p, d)
			if err != nil {
				return nil, nil, err
			}
			live, err := b.Directory.Authenticate(ctx, k.Text, b.now())
			if err != nil {
				t.Fatal(err)
			}
			return k.APIKey, &live.Principal, nil
		}
		own, p, err := create(person, someDraft(t, "own"))
		if err != nil {
			t.Fatalf("a user's key: %v", err) // users have no such bounds
		}

		asked := someDraft(t, "asked")
		created, _, err := create(p, asked)
		checkBounds(t, "create", created, own, err, wider(draftedBy(asked, own), own))

		other, _, err := create(person, someDraft(t, "other"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = b.Rotate(ctx, p, other.ID, nil, apikey.Rotation{})
		checkBounds(t, "rotate", other, own, err, wider(other, own))
		_, err = b.CompleteRotation(ctx, p, other.ID, nil)
		checkBounds(t, "complete", other, own, err, wider(other, own))

		to := someDraft(t, "to")
		after := draftedBy(to, &apikey.APIKey{})
		if to.Quota != (apikey.Quota{}) { // a limit that is left out is the calling key's
			after = draftedBy(apikey.Draft{
				Scopes: to.Scopes, ExpiresAt: to.ExpiresAt, RequestsPerMinute: to.RequestsPerMinute,
				Quota: to.Quota, AllowedIPs: to.AllowedIPs,
			}, &apikey.APIKey{Daily: own.Daily, Monthly: own.Monthly})
		}
		for _, target := range []*apikey.APIKey{other, own} {
			changed, err := b.Change(ctx, p, target.ID, nil, changeTo(to))
			var got *apikey.APIKey
			if err == nil {
				got = changed.APIKey
			}
			checkBounds(t, "change", got, own, err, wider(after, own))
		}
		name := "renamed" // a change without bounds is checked against those of the key
		_, err = b.Change(ctx, p, other.ID, nil, apikey.Change{Name: &name})
		stored, readErr := b.APIKey(ctx, person, other.ID)
		now, ownErr := b.APIKey(ctx, person, own.ID)
		if readErr != nil || ownErr != nil {
			t.Fatal(readErr, ownErr)
		}
		if p.Scopes.Allows(now.Scopes) { // p still has the scopes of before
			now.Scopes = p.Scopes
		}
		checkBounds(t, "rename", stored.APIKey, now.APIKey, err, wider(stored.APIKey, now.APIKey))
	})
}

// draftedBy is the key that d describes, with from's bounds for those that it leaves out.
func draftedBy(d apikey.Draft, from *apikey.APIKey) *apikey.APIKey {
	k := *from
	k.Scopes = d.Scopes
	if d.ExpiresAt != nil {
		k.ExpiresAt = d.ExpiresAt
	}
	if d.RequestsPerMinute != nil {
		k.RequestsPerMinute = d.RequestsPerMinute
	}
	if d.Quota.Daily != nil {
		k.Daily = d.Quota.Daily
	}
	if d.Quota.Monthly != nil {
		k.Monthly = d.Quota.Monthly
	}
	if d.AllowedIPs != nil {
		k.AllowedIPs = d.AllowedIPs
	}
	return &k
}

// checkBounds checks the result of a request by the key own against the fields in which it asked for more than own has.
func checkBounds(t *rapid.T, what string, got, own *apikey.APIKey, err error, asked map[string]bool) {
	if err != nil {
		p, ok := problem.As(err)
		if !ok || p.Code != problem.CodeInsufficientScope || !asked[p.Details.Field] {
			t.Fatalf("%s: %v (%+v), want a refusal of one of %v", what, err, p, asked)
		}
		return
	}
	if len(asked) > 0 {
		t.Fatalf("%s: %s was allowed, which is wider in %v than %s", what, textOf(got), asked, textOf(own))
	}
	if w := wider(got, own); len(w) > 0 {
		t.Fatalf("%s: %s is wider in %v than %s", what, textOf(got), w, textOf(own))
	}
}

func textOf(k *apikey.APIKey) string {
	n := func(p *int64) any {
		if p == nil {
			return "-"
		}
		return *p
	}
	return fmt.Sprintf("{%s until %v from %v, %v a minute, %v a day, %v a month}", k.Scopes, k.ExpiresAt, k.AllowedIPs,
		n(k.RequestsPerMinute), n(k.Daily), n(k.Monthly))
}

func TestInheritedRateIsAtMostTheTiers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	perMinute := int64(600) // above the 60 of the tenant's tier
	person := &auth.Principal{Kind: auth.Local, WorkspaceID: operatorOf(b), Operator: true, Scopes: auth.All}
	k, err := b.Create(ctx, person, apikey.Draft{Name: "operator's", Scopes: auth.Admin, RequestsPerMinute: &perMinute})
	if err != nil {
		t.Fatal(err)
	}
	live, err := b.Directory.Authenticate(ctx, k.Text, b.now())
	if err != nil {
		t.Fatal(err)
	}
	child, err := b.Create(ctx, &live.Principal, apikey.Draft{Name: "tenant's", Scopes: auth.Read, WorkspaceID: b.tenant})
	if err != nil || child.WorkspaceID != b.tenant || child.PerMinute != 60 || child.CreatedBy != k.ID {
		t.Errorf("an operator's key for the tenant is %+v, %v", child, err)
	}
}

func TestOnlyOperatorsChooseAWorkspace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	operator := &auth.Principal{Kind: auth.Local, WorkspaceID: operatorOf(b), Operator: true, Scopes: auth.All}
	manager := &auth.Principal{Kind: auth.Local, WorkspaceID: operatorOf(b), Operator: true, Scopes: auth.All &^ auth.Admin}
	for name, c := range map[string]struct {
		p     *auth.Principal
		named string
		want  string
	}{
		"an operator":                     {operator, b.tenant, ""},
		"an operator, nothing":            {operator, "wsp_0", problem.CodeNotFound},
		"an operator's key without admin": {manager, b.tenant, problem.CodeInsufficientScope},
		"a tenant, another workspace":     {b.manager(auth.All), operatorOf(b), problem.CodeInsufficientScope},
		"a tenant, nothing":               {b.manager(auth.All), "wsp_0", problem.CodeInsufficientScope},
	} {
		k, err := b.Create(t.Context(), c.p, apikey.Draft{Name: "a key", Scopes: auth.Read, WorkspaceID: c.named})
		if got := code(t, err); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if err == nil && k.WorkspaceID != c.named {
			t.Errorf("%s: the key is of workspace %s", name, k.WorkspaceID)
		}
	}
}

func TestUnusableKeyManagesNoKeys(t *testing.T) {
	t.Parallel()
	for want, disable := range map[string]func(b *bundle, t *testing.T, keyID string) error{
		problem.CodeAPIKeyRevoked: func(b *bundle, t *testing.T, keyID string) error {
			return second(b.Revoke(t.Context(), b.manager(auth.All), keyID, nil, ""))
		},
		problem.CodeAPIKeyDisabled: func(b *bundle, t *testing.T, keyID string) error {
			off := true
			return second(b.Change(t.Context(), b.manager(auth.All), keyID, nil, apikey.Change{Disabled: &off}))
		},
		problem.CodeAPIKeyExpired: func(b *bundle, _ *testing.T, _ string) error {
			b.pass(time.Hour)
			return nil
		},
	} {
		t.Run(want, func(t *testing.T) {
			b := setup(t)
			ctx := t.Context()
			creator := b.newKey(t, apikey.Draft{Scopes: auth.Admin, ExpiresAt: b.in(time.Hour)})
			target := b.newKey(t, apikey.Draft{ExpiresAt: b.in(time.Hour)})
			live, err := b.Directory.Authenticate(ctx, creator.Text, b.now())
			if err != nil {
				t.Fatal(err)
			}
			// The request of the key has been authenticated. Now the key stops being usable.
			if err := disable(b, t, creator.ID); err != nil {
				t.Fatal(err)
			}
			name := "renamed"
			for what, err := range map[string]error{
				"create":   second(b.Create(ctx, &live.Principal, apikey.Draft{Name: "a key", Scopes: auth.Read, ExpiresAt: b.in(time.Minute)})),
				"change":   second(b.Change(ctx, &live.Principal, target.ID, nil, apikey.Change{Name: &name})),
				"rotate":   second(b.Rotate(ctx, &live.Principal, target.ID, nil, apikey.Rotation{})),
				"complete": second(b.CompleteRotation(ctx, &live.Principal, target.ID, nil)),
			} {
				if got := codeIn(err); got != want {
					t.Errorf("%s: got %q, want %q", what, got, want)
				}
			}
		})
	}
}
