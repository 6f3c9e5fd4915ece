package faulttest

import (
	"fmt"
	"net/http"
	"testing"

	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// TestAnInventedAddressBuysNothing holds T9: what a client says about where it comes from counts only where a configured
// proxy adds it, and then only the hop which that proxy saw.
func TestAnInventedAddressBuysNothing(t *testing.T) {
	t.Parallel()
	const proxy = 1 // 127.1.0.2
	testtier.Long(t, "hashes passwords for seconds; internal/web/api shows in the quick tier which address counts")
	s := start(t, t.TempDir(), "", programtest.Flags("--trusted-proxies", "127.1.0.2/32"))
	guess := func(who, i int, headers ...string) *reply {
		t.Helper()
		body := map[string]string{"email": fmt.Sprintf("nobody%d@example.org", i), "password": "not the password"}
		return s.at(who).ask(http.MethodPost, "/api/auth/login", body, headers...)
	}

	// Many guesses from one address, each said to come from another, are those of one address.
	got := map[int]int{}
	const many = 1000
	for i := range many {
		address := fmt.Sprintf("203.0.%d.%d", i/250, i%250)
		got[guess(2, i, "X-Forwarded-For", address, "X-Real-IP", address, "Forwarded", "for="+address, "True-Client-IP", address).status]++
	}
	if got[http.StatusUnauthorized] > 30 || got[http.StatusUnauthorized]+got[http.StatusTooManyRequests] != many {
		t.Errorf("%d guesses with invented addresses were answered %v, want at most thirty 401", many, got)
	}

	// Behind the proxy each client has its own budget, whatever it writes to the left of what the proxy adds.
	got = map[int]int{}
	for i := range 100 {
		got[guess(proxy, i, "X-Forwarded-For", fmt.Sprintf("203.0.113.%d, 198.51.100.7", i)).status]++
	}
	if got[http.StatusUnauthorized] > 30 || got[http.StatusTooManyRequests] < 70 {
		t.Errorf("a client behind the proxy that invents hops got %v, want at most thirty 401", got)
	}
	if r := guess(proxy, 0, "X-Forwarded-For", "198.51.100.8"); r.status != http.StatusUnauthorized {
		t.Errorf("another client behind the proxy: %d %s", r.status, r.text)
	}

	// Nor does it open a key that is held to an address.
	made := s.Must(http.StatusCreated, http.MethodPost, "/api/v1/developer/api-keys",
		map[string]any{"name": "held", "scopes": []string{"read"}, "allowedIps": []string{"198.51.100.9/32"}})
	for who, want := range map[int]int{proxy: http.StatusOK, 3: http.StatusForbidden} {
		r := s.at(who).ask(http.MethodGet, "/api/v1/health", nil, "X-API-Key", made["key"].(string), "X-Forwarded-For", "198.51.100.9")
		if r.status != want {
			t.Errorf("a held key from peer %d: got %d %s, want %d", who, r.status, r.text, want)
		}
	}
	if r := s.at(proxy).ask(http.MethodGet, "/api/v1/health", nil, "X-API-Key", made["key"].(string), "X-Forwarded-For", "198.51.100.9, 203.0.113.1"); r.status != http.StatusForbidden {
		t.Errorf("a held key with its address written by the client: %d %s", r.status, r.text)
	}
	s.MustLive()
}
