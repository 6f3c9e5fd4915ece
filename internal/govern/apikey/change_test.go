package apikey_test

import (
	"maps"
	"net/netip"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
)

func TestKeyWithoutALimitFollowsItsTier(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.newKey(t, apikey.Draft{})
	if k.PerMinute != 60 || !k.Inherited {
		t.Errorf("a key of the free tier has %d a minute, inherited %v", k.PerMinute, k.Inherited)
	}
	w := account.Workspace{ID: b.tenant, Name: "tenant", Tier: limit.TierPro, Revision: 2}
	if err := b.Accounts.Put(&w); err != nil {
		t.Fatal(err)
	}
	live, err := b.Directory.Authenticate(t.Context(), k.Text, b.now())
	if err != nil || live.Account.PerMinute != 600 {
		t.Errorf("after a change of tier the key has %d a minute, %v", live.Account.PerMinute, err)
	}
	own := int64(9)
	for _, step := range []struct {
		to   *int64
		want int64
	}{{&own, 9}, {nil, 600}} {
		changed, err := b.Change(t.Context(), b.manager(auth.All), k.ID, nil, apikey.Change{RateLimit: &apikey.RateLimit{RequestsPerMinute: step.to}})
		if err != nil || changed.PerMinute != step.want || changed.Inherited != (step.to == nil) {
			t.Errorf("changed to %v the key has %+v, %v", step.to, changed, err)
		}
		if live, _ := b.Directory.Authenticate(t.Context(), k.Text, b.now()); live.Account.PerMinute != step.want {
			t.Errorf("changed to %d the key is charged against %d", step.want, live.Account.PerMinute)
		}
	}
}

func TestExpiredKeyIsRevivableForThirtyDays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		late time.Duration
		want string
	}{
		"on the last day": {30 * 24 * time.Hour, ""},
		"a moment later":  {30*24*time.Hour + time.Millisecond, problem.CodeConflict},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			k := b.newKey(t, apikey.Draft{ExpiresAt: b.in(time.Minute)})
			b.pass(time.Minute + c.late)
			for _, to := range []*time.Time{b.in(time.Hour), nil} {
				_, err := b.Change(t.Context(), b.manager(auth.All), k.ID, nil, apikey.Change{Expiry: &apikey.Expiry{At: to}})
				if got := code(t, err); got != c.want {
					t.Errorf("moved to %v: %q, want %q", to, got, c.want)
				}
			}
			name := "still changeable"
			if _, err := b.Change(t.Context(), b.manager(auth.All), k.ID, nil, apikey.Change{Name: &name}); err != nil {
				t.Errorf("another change: %v", err)
			}
		})
	}
}

func TestChangeReplacesOnlyItsFields(t *testing.T) {
	t.Parallel()
	b := setup(t)
	daily, monthly := int64(5), int64(50)
	created := b.newKey(t, apikey.Draft{
		Quota: apikey.Quota{Daily: &daily, Monthly: &monthly}, Metadata: map[string]any{"a": "b", "c": "d"},
		ExpiresAt: b.in(time.Hour), AllowedIPs: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")},
	})
	b.pass(time.Second)
	yes, scopes, none, metadata := true, auth.Write, []netip.Prefix{}, map[string]any{"a": nil, "e": 1.0}
	k, err := b.Change(t.Context(), b.manager(auth.All), created.ID, nil, apikey.Change{
		Scopes: &scopes, Expiry: &apikey.Expiry{}, Quota: &apikey.Quota{Monthly: &monthly}, AllowedIPs: &none, Metadata: &metadata, Disabled: &yes,
	})
	if err != nil {
		t.Fatal(err)
	}
	if k.Name != "a key" || k.Scopes != auth.Write || k.ExpiresAt != nil || k.Daily != nil || *k.Monthly != 50 || len(k.AllowedIPs) != 0 ||
		!maps.Equal(k.Metadata, map[string]any{"c": "d", "e": 1.0}) || k.State != apikey.Disabled || k.Revision != 2 || !k.UpdatedAt.Equal(b.now()) || !k.CreatedAt.Equal(noon) {
		t.Errorf("the changed key is %+v", k.APIKey)
	}
	if got := b.codeWith(t, created.Text); got != problem.CodeAPIKeyDisabled {
		t.Errorf("a disabled key answers %q", got)
	}
	since := *k.DisabledAt
	b.pass(time.Second)
	if k, err = b.Change(t.Context(), b.manager(auth.All), created.ID, nil, apikey.Change{Disabled: &yes}); err != nil || !k.DisabledAt.Equal(since) {
		t.Errorf("disabled again at %v, %v; want still %v", k.DisabledAt, err, since)
	}
	no := false
	if k, err = b.Change(t.Context(), b.manager(auth.All), created.ID, nil, apikey.Change{Disabled: &no}); err != nil || k.State != apikey.Active {
		t.Errorf("enabled the key is %+v, %v", k, err)
	}
	if got := b.codeWith(t, created.Text); got != "" {
		t.Errorf("an enabled key answers %q", got)
	}
	stored, err := b.APIKey(t.Context(), b.manager(auth.All), created.ID)
	if err != nil || stored.Revision != 4 || stored.Scopes != auth.Write || stored.Metadata["e"] != 1.0 {
		t.Errorf("the store has %+v, %v", stored, err)
	}
}

func TestChangeOfAnOldRevisionIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.newKey(t, apikey.Draft{})
	one, two, name := int64(1), int64(2), "renamed"
	if _, err := b.Change(t.Context(), b.manager(auth.All), k.ID, []int64{two}, apikey.Change{Name: &name}); code(t, err) != problem.CodeRevisionMismatch {
		t.Errorf("a change of revision 2 to a key of revision 1: %v", err)
	}
	if _, err := b.Change(t.Context(), b.manager(auth.All), k.ID, []int64{one}, apikey.Change{Name: &name}); err != nil {
		t.Errorf("a change of revision 1: %v", err)
	}
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), k.ID, []int64{one}, ""); code(t, err) != problem.CodeRevisionMismatch {
		t.Errorf("revoking revision 1 of a key of revision 2: %v", err)
	}
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), k.ID, []int64{two}, ""); err != nil {
		t.Errorf("revoking revision 2: %v", err)
	}
	// The order of docs/spec/scopes.md: the state forbids it before the revision does.
	if _, err := b.Change(t.Context(), b.manager(auth.All), k.ID, []int64{one}, apikey.Change{Name: &name}); code(t, err) != problem.CodeConflict {
		t.Errorf("changing a revoked key with an old revision: %v", err)
	}
}

func TestRevocationIsFinalAndInForceAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.newKey(t, apikey.Draft{Scopes: auth.Admin})
	k, err := b.Revoke(t.Context(), b.manager(auth.DeveloperManage), admin.ID, nil, "left the company")
	if err != nil || k.State != apikey.Revoked || k.RevokeReason != "left the company" || !k.RevokedAt.Equal(noon) {
		t.Fatalf("a key revoked by one with fewer scopes is %+v, %v", k, err)
	}
	if got := b.codeWith(t, admin.Text); got != problem.CodeAPIKeyRevoked {
		t.Errorf("right after its revocation the key answers %q", got)
	}
	b.pass(time.Minute)
	again, err := b.Revoke(t.Context(), b.manager(auth.DeveloperManage), admin.ID, nil, "another reason")
	if err != nil || again.Revision != k.Revision || again.RevokeReason != k.RevokeReason || !again.RevokedAt.Equal(*k.RevokedAt) {
		t.Errorf("revoked again the key is %+v, %v", again, err)
	}
	no := false
	if _, err := b.Change(t.Context(), b.manager(auth.All), admin.ID, nil, apikey.Change{Disabled: &no}); code(t, err) != problem.CodeConflict {
		t.Errorf("changing a revoked key: %v", err)
	}
	if _, err := b.Revoke(t.Context(), b.manager(auth.All), b.newKey(t, apikey.Draft{}).ID, nil, "a\x00"); code(t, err) != problem.CodeValidation {
		t.Errorf("a reason with NUL: %v", err)
	}
}
