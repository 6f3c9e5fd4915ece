package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"keepsake/client"
	"keepsake/conformance"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/govern/backup"
	"keepsake/internal/testing/await"
)

// backUp makes a backup of a running program through its socket, as the command does.
func backUp(t *testing.T, dataDir string) (data, keys string) {
	t.Helper()
	return backUpBeside(t, dataDir, func() {})
}

// backUpBeside is backUp with beside, which runs while the snapshot is there.
func backUpBeside(t *testing.T, dataDir string, beside func()) (data, keys string) {
	t.Helper()
	c := client.OverSocket(instance.SocketPath(dataDir))
	s, err := c.StartSnapshot(t.Context())
	await.Until(t, "the snapshot is made", func() bool {
		if err == nil && s.State == "running" {
			s, err = c.Snapshot(t.Context(), s.ID)
		}
		return err != nil || s.State != "running"
	})
	beside()
	if err != nil || s.State != "ready" {
		t.Fatalf("snapshot: %+v, %v", s, err)
	}
	dir := t.TempDir()
	write := func(kind backup.Kind) string {
		w, err := backup.Write(backup.Archive{
			Path: filepath.Join(dir, string(kind)), Dir: s.Dir,
			Header: backup.Header{Kind: kind, Instance: s.Instance, Snapshot: s.ID, MadeAt: s.MadeAt},
		})
		if err != nil {
			t.Fatal(err)
		}
		return w.Path
	}
	data, keys = write(backup.Data), write(backup.Keys)
	if err := c.DiscardSnapshot(t.Context(), s.ID); err != nil {
		t.Fatal(err)
	}
	return data, keys
}

// restore makes a data folder of a backup of r's.
func restore(t *testing.T, r *apptest.Running, data, keys, journal string) string {
	t.Helper()
	cfg := apptest.Local(t, filepath.Join(t.TempDir(), "restored"))
	var journals []string
	if journal != "" {
		journals = []string{journal}
	}
	_, err := instance.Restore(t.Context(), cfg, apptest.InstanceOptions(), instance.RestoreRequest{
		Data: data, Keys: keys, Journals: journals, MasterKeyFile: instance.MasterKeyPath(r.Config.Data),
	})
	if err != nil {
		t.Fatal(err)
	}
	return cfg.Data
}

// call sends one request and gives status and body.
func call(t *testing.T, method, url, key, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("X-API-Key", key)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}

func TestBackupUnderLoadHasAllAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	const writers = 4
	var (
		mu       sync.Mutex
		acked    = map[string]bool{}
		stop     = make(chan struct{})
		all      sync.WaitGroup
		snapshot = func() map[string]bool {
			mu.Lock()
			defer mu.Unlock()
			before := map[string]bool{}
			for id := range acked {
				before[id] = true
			}
			return before
		}
	)
	for w := range writers {
		all.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("w%d.%d", w, i)
				status, body := call(t, http.MethodPut, r.URL+"/api/v1/documents/"+id, r.Key, `{"text":"load while it is backed up"}`)
				mu.Lock()
				acked[id] = true
				mu.Unlock()
				if status != http.StatusCreated {
					t.Errorf("a write during the backup: %d %s", status, body)
					return
				}
			}
		})
	}
	await.Until(t, "documents are written", func() bool { return len(snapshot()) >= 20 })
	before := snapshot()
	data, keys := backUpBeside(t, r.Config.Data, func() {
		made := len(snapshot())
		await.Until(t, "documents are written while the snapshot is there", func() bool { return len(snapshot()) > made })
	})
	close(stop)
	all.Wait()
	t.Logf("%d documents before the backup, %d after it", len(before), len(snapshot()))

	folder := restore(t, r, data, keys, "")
	again := apptest.Start(t, apptest.With(func(c *config.Config) { c.Data = folder }))
	held := map[string]bool{}
	again.Key = r.Key
	c, err := client.New(again.URL, again.Key)
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range c.EachDocument(t.Context(), client.DocumentQuery{Limit: 200}) {
		if err != nil {
			t.Fatal(err)
		}
		held[d.ID] = true
	}
	for id := range before {
		if !held[id] {
			t.Errorf("%s was acknowledged before the backup, which lacks it", id)
		}
	}
	mu.Lock()
	for id := range held {
		if !acked[id] {
			t.Errorf("the backup holds %s, which nobody wrote", id)
		}
	}
	mu.Unlock()
	found, err := c.Search(t.Context(), client.Query{Q: "backed"})
	if err != nil || found.Total != int64(len(held)) {
		t.Errorf("a search finds %v of %d documents: %v", found, len(held), err)
	}
	conforms(t, again)
}

// conforms runs the parts of the conformance suite that a restore could break. All of it takes most of a minute, waiting
// for windows to end: `keepsake conformance` runs that against any deployment.
func conforms(t *testing.T, r *apptest.Running) {
	t.Helper()
	report := &conformance.Report{}
	for _, part := range []string{"4 endpoints: search", "4 endpoints: documents", "4 endpoints: API key", "4 endpoints: users"} {
		target := conformance.Target{URL: r.URL, BackendURL: r.BackendURL, Key: r.Key, Only: part}
		err := conformance.Run(t.Context(), target, conformance.ReporterFunc(func(result conformance.Result) {
			report.Report(result)
			if result.Outcome == conformance.Failed {
				t.Errorf("restored: %s/%s: %s", result.Section, result.Name, strings.Join(result.Found, "\n"))
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	if report.Passed == 0 {
		t.Error("no check of the suite was run")
	}
	t.Logf("conformance of the restored: %d passed, %d failed, %d skipped", report.Passed, report.Failed, report.Skipped)
}

func TestARestoreEndsSignInsAndKeepsRevocations(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	first, _ := r.App.First()
	login := func(url string) (int, string) {
		body, _ := json.Marshal(map[string]string{"email": first.Email, "password": first.Password})
		return call(t, http.MethodPost, url+"/api/auth/login", "", string(body))
	}
	var session struct{ AccessToken, RefreshToken string }
	if status, body := login(r.URL); status != http.StatusOK || json.Unmarshal([]byte(body), &session) != nil {
		t.Fatalf("login: %d %s", status, body)
	}
	var key struct{ ID, Key string }
	status, body := call(t, http.MethodPost, r.URL+"/api/v1/developer/api-keys", r.Key, `{"name":"leaked","scopes":["read"]}`)
	if status != http.StatusCreated || json.Unmarshal([]byte(body), &key) != nil {
		t.Fatalf("create key: %d %s", status, body)
	}
	report := fmt.Sprintf(`{"items":[{"id":"a","keyId":%q,"route":"GET /a","status":200,"count":7,"at":%q}]}`, key.ID, time.Now().UTC().Format(time.RFC3339))
	if got := backendService(t, r).post(http.StatusOK, "/usage", report); got["accepted"] != 1.0 {
		t.Errorf("reported usage: %v", got)
	}
	data, keys := backUp(t, r.Config.Data)
	if status, body := call(t, http.MethodPost, r.URL+"/api/v1/developer/api-keys/"+key.ID+"/revoke", r.Key, ""); status != http.StatusOK {
		t.Fatalf("revoke: %d %s", status, body)
	}
	folder := restore(t, r, data, keys, instance.JournalPath(r.Config.Data))
	again := apptest.Start(t, apptest.With(func(c *config.Config) { c.Data = folder }))
	if status, body := call(t, http.MethodGet, again.URL+"/api/v1/health", key.Key, ""); status != http.StatusUnauthorized || !strings.Contains(body, "api_key_revoked") {
		t.Errorf("the revoked key: %d %s", status, body)
	}
	if got := backendService(t, again).post(http.StatusOK, "/usage", report); got["duplicates"] != 1.0 {
		t.Errorf("usage that was reported before the backup: %v", got)
	}
	refresh, _ := json.Marshal(map[string]string{"refreshToken": session.RefreshToken})
	if status, body := call(t, http.MethodPost, again.URL+"/api/auth/refresh", "", string(refresh)); status != http.StatusUnauthorized {
		t.Errorf("a refresh of a session from before: %d %s", status, body)
	}
	req, err := http.NewRequest(http.MethodGet, again.URL+"/api/v1/profile", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+session.AccessToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("an access token from before: %d", res.StatusCode)
	}
	if status, body := login(again.URL); status != http.StatusOK {
		t.Errorf("a new login: %d %s", status, body)
	}
}

// Two backups are restored one after the other, the second one with the journal of what happened after the first one's.
func TestRestoringTwiceRevivesNoCredential(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	admin := r.URL + "/api/v1/admin/users"
	var key struct{ ID, Key string }
	status, body := call(t, http.MethodPost, r.URL+"/api/v1/developer/api-keys", r.Key, `{"name":"leaked","scopes":["read"]}`)
	if status != http.StatusCreated || json.Unmarshal([]byte(body), &key) != nil {
		t.Fatalf("create key: %d %s", status, body)
	}
	people := map[string]string{}
	const password = "one horse battery"
	for _, name := range []string{"disabled", "deleted", "changed"} {
		status, body := call(t, http.MethodPost, admin, r.Key, `{"email":"`+name+`@example.org","password":"`+password+`"}`)
		var user struct{ ID string }
		if status != http.StatusCreated || json.Unmarshal([]byte(body), &user) != nil {
			t.Fatalf("create user: %d %s", status, body)
		}
		people[name] = user.ID
	}
	remembered := `{"subjectId":"ann","text":"the canary has a cold"}`
	if status, body := call(t, http.MethodPost, r.URL+"/api/v1/memories", r.Key, remembered); status != http.StatusCreated {
		t.Fatalf("remember: %d %s", status, body)
	}
	dataA, keysA := backUp(t, r.Config.Data)
	// Revisions that a restore of the first backup will set back.
	for i := range 4 {
		change := fmt.Sprintf(`{"name":"number %d"}`, i)
		if status, body := call(t, http.MethodPatch, r.URL+"/api/v1/developer/api-keys/"+key.ID, r.Key, change); status != http.StatusOK {
			t.Fatalf("change key: %d %s", status, body)
		}
		for _, id := range people {
			if status, body := call(t, http.MethodPatch, admin+"/"+id, r.Key, change); status != http.StatusOK {
				t.Fatalf("change user: %d %s", status, body)
			}
		}
	}
	dataB, keysB := backUp(t, r.Config.Data)

	first := restore(t, r, dataA, keysA, instance.JournalPath(r.Config.Data))
	between := apptest.Start(t, apptest.With(func(c *config.Config) { c.Data = first }))
	for _, c := range []struct{ method, path, body string }{
		{http.MethodPost, "/api/v1/developer/api-keys/" + key.ID + "/revoke", ""},
		{http.MethodPatch, "/api/v1/admin/users/" + people["disabled"], `{"disabled":true}`},
		{http.MethodDelete, "/api/v1/admin/users/" + people["deleted"], ""},
		{http.MethodPatch, "/api/v1/admin/users/" + people["changed"], `{"password":"another horse battery"}`},
		{http.MethodDelete, "/api/v1/memories/subjects/ann", ""},
	} {
		if status, body := call(t, c.method, between.URL+c.path, r.Key, c.body); status/100 != 2 {
			t.Fatalf("%s %s: %d %s", c.method, c.path, status, body)
		}
	}

	second := restore(t, r, dataB, keysB, instance.JournalPath(first))
	again := apptest.Start(t, apptest.With(func(c *config.Config) { c.Data = second }))
	if status, body := call(t, http.MethodGet, again.URL+"/api/v1/health", key.Key, ""); status != http.StatusUnauthorized || !strings.Contains(body, "api_key_revoked") {
		t.Errorf("the revoked key: %d %s", status, body)
	}
	login := func(name, password string) int {
		body, _ := json.Marshal(map[string]string{"email": name + "@example.org", "password": password})
		status, _ := call(t, http.MethodPost, again.URL+"/api/auth/login", "", string(body))
		return status
	}
	for _, name := range []string{"disabled", "deleted", "changed"} {
		if status := login(name, password); status != http.StatusUnauthorized {
			t.Errorf("the %s user signs in with the old password: %d", name, status)
		}
	}
	if status := login("changed", "another horse battery"); status != http.StatusOK {
		t.Errorf("the new password: %d", status)
	}
	if status, body := call(t, http.MethodGet, again.URL+"/api/v1/memories?subjectId=ann", r.Key, ""); status != http.StatusOK || strings.Contains(body, "canary") {
		t.Errorf("the erased subject: %d %s", status, body)
	}
}

func TestForgedJournalMakesNoAdmin(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	var key struct{ ID, Key string }
	create := func() {
		status, body := call(t, http.MethodPost, r.URL+"/api/v1/developer/api-keys", r.Key, `{"name":"small","scopes":["read"]}`)
		if status != http.StatusCreated || json.Unmarshal([]byte(body), &key) != nil {
			t.Fatalf("create key: %d %s", status, body)
		}
	}
	create()
	data, keys := backUp(t, r.Config.Data)
	if status, body := call(t, http.MethodPatch, r.URL+"/api/v1/developer/api-keys/"+key.ID, r.Key, `{"name":"x"}`); status != http.StatusOK {
		t.Fatalf("change key: %d %s", status, body)
	}
	text, err := os.ReadFile(instance.JournalPath(r.Config.Data))
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(text), `"scopes":["read"]`, `"scopes":["admin"]`, 1)
	bare := forged[:strings.Index(forged, `,"mac"`)] + "}\n"
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"edited":  {forged, backup.ErrForged},
		"without": {bare, backup.ErrForged},
	} {
		path := filepath.Join(t.TempDir(), "journal.ndjson")
		if c.text == string(text) || os.WriteFile(path, []byte(c.text), 0o600) != nil {
			t.Fatalf("%s: nothing was forged in %s", name, text)
		}
		cfg := apptest.Local(t, filepath.Join(t.TempDir(), "restored"))
		restoring := instance.RestoreRequest{Data: data, Keys: keys, Journals: []string{path}, MasterKeyFile: instance.MasterKeyPath(r.Config.Data)}
		if _, err := instance.Restore(t.Context(), cfg, apptest.InstanceOptions(), restoring); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if left, _ := os.ReadDir(cfg.Data); len(left) > 0 {
			t.Errorf("%s: it left %v", name, left)
		}
	}
}

func TestOperationsOfTheSocketAreNotOnTheNetwork(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	for _, path := range []string{"/local/snapshots", "/api/v1/local/snapshots"} {
		if status, body := call(t, http.MethodPost, r.URL+path, r.Key, ""); status != http.StatusNotFound {
			t.Errorf("POST %s with the first key: %d %s", path, status, body)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(r.Config.Data, "snapshot-*")); len(left) > 0 {
		t.Errorf("snapshots were made: %v", left)
	}
}

// Whatever is wrong with a backup, an empty place stays empty and can be used for the next try.
func TestARestoreThatFailsLeavesThePlaceEmpty(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	data, keys := backUp(t, r.Config.Data)
	whole, err := os.ReadFile(data)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut")
	if err := os.WriteFile(cut, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	other := apptest.Start(t)
	otherData, _ := backUp(t, other.Config.Data)
	cfg := apptest.Local(t, t.TempDir())
	if err := os.MkdirAll(filepath.Join(cfg.Data, ".restoring-killed"), 0o700); err != nil {
		t.Fatal(err)
	}
	good := instance.RestoreRequest{Data: data, Keys: keys, MasterKeyFile: instance.MasterKeyPath(r.Config.Data)}
	for name, change := range map[string]func(r *instance.RestoreRequest){
		"a file that is cut off":      func(r *instance.RestoreRequest) { r.Data = cut },
		"keys of another instance":    func(r *instance.RestoreRequest) { r.Data = otherData },
		"another master key":          func(r *instance.RestoreRequest) { r.MasterKeyFile = instance.MasterKeyPath(other.Config.Data) },
		"a journal that is not there": func(r *instance.RestoreRequest) { r.Journals = []string{cut + ".none"} },
		"a journal that is something": func(r *instance.RestoreRequest) { r.Journals = []string{cut} },
	} {
		bad := good
		change(&bad)
		if _, err := instance.Restore(t.Context(), cfg, apptest.InstanceOptions(), bad); err == nil {
			t.Errorf("%s was restored", name)
		}
		if left, _ := os.ReadDir(cfg.Data); len(left) > 0 {
			t.Errorf("%s left %v", name, left)
		}
	}
	var log bytes.Buffer
	if _, err := instance.Restore(t.Context(), cfg, instance.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, good); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("a restore that went well says %s", &log)
	}
	if _, err := instance.Restore(t.Context(), cfg, instance.Options{}, good); !errors.Is(err, instance.ErrNotEmpty) {
		t.Errorf("a second one into the same place: %v", err)
	}
}
