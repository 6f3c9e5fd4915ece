package faulttest

import (
	"net/http"
	"sync"
	"testing"
)

// TestParallelRefreshesLeaveOneFamily holds T5: twenty parallel uses of one refresh token do not start a second family, and
// after the late use of a token no token of the family works.
func TestParallelRefreshesLeaveOneFamily(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "")
	s.newUser("ada@example.org", goodPassword, "member")
	first := s.at(1).signIn("ada@example.org", goodPassword)
	var mu sync.Mutex
	var running sync.WaitGroup
	var issued []*session
	children := map[string]bool{}
	for i := range 20 {
		running.Go(func() {
			p := s.at(10 + i)
			r := (&session{person: p}).refreshWith(first.refresh)
			if r.status != http.StatusOK {
				t.Errorf("refresh %d: %d %s", i, r.status, r.text)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			issued = append(issued, p.sessionOf(r))
			children[p.sessionOf(r).refresh] = true
		})
	}
	running.Wait()
	if len(children) != 1 {
		t.Fatalf("%d refresh tokens followed one", len(children))
	}
	next := first.refreshWith(issued[0].refresh)
	if next.status != http.StatusOK {
		t.Fatalf("the child: %d %s", next.status, next.text)
	}
	issued = append(issued, first.sessionOf(next), first)
	if r := first.refreshWith(first.refresh); r.status != http.StatusUnauthorized || r.code() != "token_reused" {
		t.Errorf("the grandparent: %d %s, want 401 token_reused", r.status, r.text)
	}
	for i, old := range issued {
		if r := old.with(http.MethodGet, "/api/v1/profile", nil); r.status != http.StatusUnauthorized || r.code() != "invalid_token" {
			t.Errorf("access token %d of the family that ended: %d %s", i, r.status, r.text)
		}
		if r := old.refreshWith(old.refresh); r.status != http.StatusUnauthorized {
			t.Errorf("refresh token %d of the family that ended: %d %s", i, r.status, r.text)
		}
	}
	s.MustLive()
}

// TestSessionsEndAtOnce holds T6, also over a restart.
func TestSessionsEndAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, "")
	id := s.newUser("ada@example.org", goodPassword, "developer")
	user := "/api/v1/admin/users/" + id
	profile := func(who *session) (int, string) {
		t.Helper()
		r := who.with(http.MethodGet, "/api/v1/profile", nil)
		return r.status, r.code()
	}
	next := 0
	signIn := func(password string) *session {
		t.Helper()
		next++
		who := s.at(next).signIn("ada@example.org", password)
		if status, _ := profile(who); status != http.StatusOK {
			t.Fatalf("a new session: %d", status)
		}
		return who
	}
	ended := func(what string, who *session) {
		t.Helper()
		if status, code := profile(who); status != http.StatusUnauthorized || code != "invalid_token" {
			t.Errorf("after %s the token is %d %s", what, status, code)
		}
		if r := who.refreshWith(who.refresh); r.status != http.StatusUnauthorized {
			t.Errorf("after %s the refresh token is %d %s", what, r.status, r.text)
		}
	}

	one, two := signIn(goodPassword), signIn(goodPassword)
	if r := one.with(http.MethodPost, "/api/auth/logout", nil); r.status != http.StatusNoContent {
		t.Fatalf("logout: %d %s", r.status, r.text)
	}
	ended("a logout", one)
	if status, _ := profile(two); status != http.StatusOK {
		t.Errorf("another's logout: %d", status)
	}

	const changed = "a password for later"
	one = signIn(goodPassword)
	r := two.with(http.MethodPost, "/api/auth/password", map[string]string{"currentPassword": goodPassword, "newPassword": changed})
	if r.status != http.StatusNoContent {
		t.Fatalf("password: %d %s", r.status, r.text)
	}
	ended("a password change", one)
	if status, _ := profile(two); status != http.StatusOK {
		t.Errorf("the session that changed the password: %d", status)
	}

	keys := func() int { return two.with(http.MethodGet, "/api/v1/developer/api-keys", nil).status }
	if status := keys(); status != http.StatusOK {
		t.Fatalf("as developer: %d", status)
	}
	s.Must(http.StatusOK, http.MethodPatch, user, map[string]string{"role": "viewer"})
	if status := keys(); status != http.StatusForbidden {
		t.Errorf("as viewer: %d, want 403", status)
	}
	s.Must(http.StatusOK, http.MethodPatch, user, map[string]string{"role": "developer"})
	if status := keys(); status != http.StatusOK {
		t.Errorf("as developer again: %d", status)
	}

	s.Must(http.StatusOK, http.MethodPatch, user, map[string]bool{"disabled": true})
	ended("disabling", two)
	if r := s.at(50).login("ada@example.org", changed); r.status != http.StatusUnauthorized || r.code() != "invalid_credentials" {
		t.Errorf("a disabled user's login: %d %s", r.status, r.text)
	}
	s.Must(http.StatusOK, http.MethodPatch, user, map[string]bool{"disabled": false})
	ended("disabling and enabling", two)

	one, two = signIn(changed), signIn(changed)
	s.Must(http.StatusOK, http.MethodPatch, user, map[string]string{"password": goodPassword})
	ended("a password that an admin set", one)
	one = signIn(goodPassword)
	gone := signIn(goodPassword)
	if r := gone.with(http.MethodPost, "/api/auth/logout", nil); r.status != http.StatusNoContent {
		t.Fatalf("logout: %d", r.status)
	}

	key := s.Key
	s.Stop()
	s = start(t, dir, key)
	one.s, gone.s = s, s
	if status, _ := profile(one); status != http.StatusOK {
		t.Errorf("a session over a restart: %d", status)
	}
	ended("a logout and a restart", gone)
	s.Must(http.StatusNoContent, http.MethodDelete, user, nil)
	ended("deleting the user", one)
	s.MustLive()
}
