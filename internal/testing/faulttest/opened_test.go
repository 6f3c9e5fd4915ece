package faulttest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// TestAForgedTokenHasNoFileOpened holds T2 against what the program asks of the system: tokens whose headers name files
// and addresses have it open nothing and connect to nothing.
func TestAForgedTokenHasNoFileOpened(t *testing.T) {
	t.Parallel()
	trap, bait := newTrap(t), filepath.Join(t.TempDir(), "bait.pem")
	write(t, bait, "bait")
	s := start(t, t.TempDir(), "")
	trace := filepath.Join(t.TempDir(), "trace")
	traced(t, s, func() {
		for i, extra := range []string{
			`"kid":"` + bait + `"`, `"kid":"file://` + bait + `"`, `"kid":"../../../../../..` + bait + `"`, `"kid":"` + trap.url + `"`,
			`"kid":"x","jku":"` + trap.url + `"`, `"kid":"x","x5u":"` + trap.url + `"`, `"kid":"x","x5c":["` + bait + `"]`,
		} {
			token := part(`{"typ":"at+jwt","alg":"EdDSA",`+extra+`}`) + "." + part(`{"sub":"usr_x","sid":"ses_x","exp":4102444800,"scope":"admin"}`) + "." + part(strings.Repeat("s", 64))
			r := s.at(1+i).ask(http.MethodGet, "/api/v1/profile", nil, "Authorization", "Bearer "+token)
			if r.status != http.StatusUnauthorized || r.code() != "invalid_token" {
				t.Errorf("forgery %d: %d %s", i, r.status, r.text)
			}
		}
	}, "-e", "trace=open,openat,connect", "-o", trace)
	trap.untouched()
	text, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "bait") || strings.Contains(line, "AF_INET") {
			t.Errorf("a forged token had the program do this: %s", line)
		}
	}
}

// TestNothingOfTheProcessIsShown holds T49: every GET the description lists and the paths that scanners try, asked by the
// mightiest key there is, show nothing of the environment, the folder or the secrets.
func TestNothingOfTheProcessIsShown(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "folder-canary")
	s := start(t, dir, "", programtest.Env("SECRET_OF_THE_ENVIRONMENT=environment-canary", "KEEPSAKE_LOG_LEVEL=debug"))
	master, err := os.ReadFile(filepath.Join(dir, "master.key"))
	if err != nil {
		t.Fatal(err)
	}
	canaries := []string{"folder-canary", "environment-canary", strings.TrimSpace(string(master)), "SECRET_OF", "goroutine ", ".go:", "main.db", "sqlite"}
	paths := []string{
		"/debug/pprof/", "/debug/pprof/heap", "/debug/vars", "/metrics", "/.git/config", "/.env", "/env", "/config", "/api/v1/config", "/api/v1/env",
		"/api/v1/debug", "/api/v1/admin", "/api/v1/admin/config", "/api/v1/admin/env", "/actuator/env", "/server-status", "/master.key", "/main.db",
		"/keepsake-data/main.db", "/../master.key", "/api/v1/../../master.key", "/first-start.json", "/minio/bootstrap/v1/verify", "/swagger", "/graphql",
	}
	for path, item := range s.Must(http.StatusOK, http.MethodGet, "/openapi.json", nil)["paths"].(map[string]any) {
		if item.(map[string]any)["get"] != nil {
			paths = append(paths, path)
		}
	}
	show := func(what string, r *reply) {
		t.Helper()
		for _, canary := range canaries {
			if all := fmt.Sprint(r.header, string(r.text)); strings.Contains(all, canary) && !strings.HasSuffix(what, "openapi.json") {
				t.Errorf("%s shows %q: %d %.300s", what, canary, r.status, r.text)
			}
		}
	}
	for i, path := range paths {
		full := s.at(i).ask(http.MethodGet, path, nil, "X-API-Key", s.Key)
		show(path, full)
		if scanned := i < 25; scanned && full.status != http.StatusNotFound {
			t.Errorf("GET %s: %d, want 404", path, full.status)
		}
		show(path+" by a stranger", s.at(i).ask(http.MethodGet, path, nil))
	}
	for _, path := range []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/vars", "/config"} {
		res, err := http.Get(s.BackendURL + path)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s of the backend service: %d, want 404", path, res.StatusCode)
		}
	}
}

// TestTwoCallersNeverGetEachOthersAnswers holds T16 over sockets: two users and two keys ask for the same paths in turn
// and at once, and each answer is their own.
func TestTwoCallersNeverGetEachOthersAnswers(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "")
	done := make(chan struct{})
	const callers = 4
	rounds := testtier.Rounds(20, 150)
	for n := range callers {
		email := fmt.Sprintf("caller%d@example.org", n)
		id := s.newUser(email, goodPassword, "member")
		key := s.Must(http.StatusCreated, http.MethodPost, "/api/v1/developer/api-keys", map[string]any{"name": email, "scopes": []string{"read"}})
		u := s.at(1+n).signIn(email, goodPassword)
		go func() {
			defer func() { done <- struct{}{} }()
			for i := range rounds {
				override := []string{"X-HTTP-Method-Override", "DELETE", "X-Original-URL", "/api/v1/profile", "Accept-Encoding", "gzip"}[2*(i%3):][:2]
				mine := u.ask(http.MethodGet, "/api/v1/profile", nil, append(override, "Authorization", "Bearer "+u.access)...)
				whoami := u.ask(http.MethodGet, "/api/v1/developer/whoami", nil, append(override, "X-API-Key", key["key"].(string))...)
				if mine.body["id"] != id || mine.body["email"] != email || whoami.body["id"] != key["id"] {
					t.Errorf("caller %d got %d %s and %d %s", n, mine.status, mine.text, whoami.status, whoami.text)
					return
				}
				if mine.header.Get("Cache-Control") != "no-store" || whoami.header.Get("Cache-Control") != "no-store" {
					t.Errorf("an answer of one caller may be kept: %q", mine.header.Get("Cache-Control"))
					return
				}
				for _, path := range []string{"/api/v1/profile/x.css", "/api/v1/profile%2fx.css", "/api/v1/profile;x.css", "/api/v1/profile/"} {
					if r := u.ask(http.MethodGet, path, nil, "Authorization", "Bearer "+u.access); i == 0 && r.status != http.StatusNotFound {
						t.Errorf("GET %s: %d, want 404", path, r.status)
					} else if i > 0 {
						break
					}
				}
			}
		}()
	}
	for range callers {
		<-done
	}
	s.MustLive()
}

// part is a part of a token.
func part(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
