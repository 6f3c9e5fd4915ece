package faulttest

import (
	"net/http"
	"testing"
)

// TestSessionsThatEndedStayEndedAfterAKill holds T6 over a crash: sessions are ended in every possible way, and the program
// is killed at once. The other sessions go on, under the keys that signed them.
func TestSessionsThatEndedStayEndedAfterAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := start(t, dir, "")
	signIn := func(name string) (*session, string) {
		path := "/api/v1/admin/users/" + s.newUser(name+"@example.org", goodPassword, "member")
		return s.at(1).signIn(name+"@example.org", goodPassword), path
	}
	staying, _ := signIn("staying")
	ended := map[string]*session{}

	ended["signed out"], _ = signIn("out")
	if r := ended["signed out"].with(http.MethodPost, "/api/auth/logout", nil); r.status != http.StatusNoContent {
		t.Fatalf("logout: %d %s", r.status, r.text)
	}
	var path string
	ended["disabled"], path = signIn("off")
	s.Must(http.StatusOK, http.MethodPatch, path, map[string]any{"disabled": true})
	ended["deleted"], path = signIn("gone")
	s.Must(http.StatusNoContent, http.MethodDelete, path, nil)
	ended["given another password"], path = signIn("changed")
	s.Must(http.StatusOK, http.MethodPatch, path, map[string]any{"password": "another battery staple"})
	first, _ := signIn("stolen")
	second := first.sessionOf(first.refreshWith(first.refresh))
	third := first.sessionOf(second.refreshWith(second.refresh))
	if r := first.refreshWith(first.refresh); r.code() != "token_reused" {
		t.Errorf("a token that was used long ago: %d %s", r.status, r.text)
	}
	ended["stolen"], ended["stolen, child"], ended["stolen, grandchild"] = first, second, third

	s.Kill()
	s = start(t, dir, s.Key)
	for how, of := range ended {
		of.person = s.at(2)
		if r := of.with(http.MethodGet, "/api/v1/profile", nil); r.status != http.StatusUnauthorized {
			t.Errorf("%s: the access token works after a kill: %d %s", how, r.status, r.text)
		}
		if r := of.refreshWith(of.refresh); r.status != http.StatusUnauthorized {
			t.Errorf("%s: the refresh token works after a kill: %d %s", how, r.status, r.text)
		}
	}
	staying.person = s.at(3)
	if r := staying.with(http.MethodGet, "/api/v1/profile", nil); r.status != http.StatusOK {
		t.Errorf("a session that nobody ended: %d %s", r.status, r.text)
	}
	if r := staying.refreshWith(staying.refresh); r.status != http.StatusOK {
		t.Errorf("a session that nobody ended is not refreshed: %d %s", r.status, r.text)
	}
}
