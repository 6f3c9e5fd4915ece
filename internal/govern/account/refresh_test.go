package account_test

import (
	"sync"
	"testing"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
)

func (o *office) refresh(t *testing.T, token string) *account.Grant {
	t.Helper()
	g, err := o.Refresh(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestRefreshTokenWorksOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	first := o.login(t)
	second := o.refresh(t, first.RefreshToken)
	if second.RefreshToken == first.RefreshToken || second.AccessToken == first.AccessToken || second.ID != first.ID {
		t.Fatalf("the pair after %+v is %+v", first, second)
	}
	o.wantAlive(t, first, true) // an access token lives as long as it says
	o.wait(11 * time.Second)
	_, err := o.Refresh(t.Context(), first.RefreshToken)
	wantCode(t, err, "token_reused")
	o.wantAlive(t, second, false)
	_, err = o.Refresh(t.Context(), second.RefreshToken)
	wantCode(t, err, "invalid_token")
	_, err = o.Refresh(t.Context(), first.RefreshToken)
	wantCode(t, err, "token_reused")
	if n := o.log.count(audit.RefreshTokenReused); n != 1 {
		t.Errorf("the reuse is in the log %d times, want once", n)
	}
}

func TestUsedTokenReturnsItsChildForTenSeconds(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	first := o.login(t)
	second := o.refresh(t, first.RefreshToken)
	o.wait(10 * time.Second)
	again := o.refresh(t, first.RefreshToken)
	if again.RefreshToken != second.RefreshToken {
		t.Error("the parent gave another child")
	}
	o.wantAlive(t, again, true)
	third := o.refresh(t, second.RefreshToken)
	_, err := o.Refresh(t.Context(), first.RefreshToken) // no longer the parent of what is due
	wantCode(t, err, "token_reused")
	o.wantAlive(t, third, false)
}

func TestUsedChildIsNotReturnedAgain(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	first := o.login(t)
	second := o.refresh(t, first.RefreshToken)
	third := o.refresh(t, second.RefreshToken)
	_, err := o.Refresh(t.Context(), first.RefreshToken)
	wantCode(t, err, "token_reused")
	for _, g := range []*account.Grant{first, second, third} {
		o.wantAlive(t, g, false)
		if _, err := o.Refresh(t.Context(), g.RefreshToken); err == nil {
			t.Error("a token of a family that ended works")
		}
	}
}

func TestConcurrentRefreshesReturnOneChild(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	first := o.login(t)
	var mu sync.Mutex
	var running sync.WaitGroup
	children := map[string]int{}
	for range 20 {
		running.Go(func() {
			g, err := o.Refresh(t.Context(), first.RefreshToken)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			children[g.RefreshToken]++
		})
	}
	running.Wait()
	if len(children) != 1 {
		t.Fatalf("%d children, want one", len(children))
	}
	for child := range children {
		o.refresh(t, child)
	}
}

func TestRefreshTokensExpire(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	first := o.login(t)
	o.wait(account.RefreshLifetime - time.Second)
	second := o.refresh(t, first.RefreshToken)
	o.wait(account.RefreshLifetime)
	_, err := o.Refresh(t.Context(), second.RefreshToken)
	wantCode(t, err, "token_expired")
	if err := o.store.Sessions.PruneSessions(t.Context(), o.now(), o.now().Add(-24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, err = o.Refresh(t.Context(), second.RefreshToken)
	wantCode(t, err, "invalid_token")
}

func TestSessionEndsNinetyDaysAfterLogin(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	const day = 24 * time.Hour
	g := o.login(t)
	for range 3 {
		o.wait(29 * day)
		g = o.refresh(t, g.RefreshToken)
	}
	if g.RefreshLifetime != 3*day || g.AccessLifetime != auth.AccessLifetime {
		t.Errorf("after 87 days the tokens are valid for %v and %v, want 72h and 15m", g.RefreshLifetime, g.AccessLifetime)
	}
	o.wait(3*day - time.Minute)
	last := o.refresh(t, g.RefreshToken)
	if last.RefreshLifetime != time.Minute || last.AccessLifetime != time.Minute {
		t.Errorf("in the last minute the tokens are valid for %v and %v, want 1m and 1m", last.RefreshLifetime, last.AccessLifetime)
	}
	o.wait(time.Minute - time.Second)
	o.wantAlive(t, last, true)
	o.wait(time.Second)
	_, err := o.authenticate(t, last.AccessToken)
	wantCode(t, err, "token_expired")
	_, err = o.Refresh(t.Context(), last.RefreshToken)
	wantCode(t, err, "token_expired")
	if user, _, err := o.Refreshing(t.Context(), last.RefreshToken); user != "" || err != nil {
		t.Errorf("the refresh token is charged to %q, %v", user, err)
	}
}

func TestMalformedRefreshTokenIsInvalid(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	g := o.login(t)
	for _, text := range []string{"", "kprt_", g.AccessToken, g.RefreshToken + "A", g.RefreshToken[:len(g.RefreshToken)-1], "kprt_" + g.RefreshToken[6:] + "A"} {
		_, err := o.Refresh(t.Context(), text)
		wantCode(t, err, "invalid_token")
		if user, _, err := o.Refreshing(t.Context(), text); user != "" || err != nil {
			t.Errorf("%q is %s's, %v", text, user, err)
		}
	}
	if user, workspace, err := o.Refreshing(t.Context(), g.RefreshToken); user != o.user || workspace != o.admin.WorkspaceID || err != nil {
		t.Errorf("the token is %s's in %s, %v", user, workspace, err)
	}
}
