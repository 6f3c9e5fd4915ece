package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
)

// remember stores one memory and gives its id.
func remember(t *testing.T, r *apptest.Running, subject, text string) string {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"subjectId": subject, "text": text})
	status, answer := call(t, http.MethodPost, r.URL+"/api/v1/memories", r.Key, string(body))
	var made struct{ ID string }
	if status != http.StatusCreated || json.Unmarshal([]byte(answer), &made) != nil || made.ID == "" {
		t.Fatalf("remember: %d %s", status, answer)
	}
	return made.ID
}

func TestErasedSubjectStaysErasedAfterRestore(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	hers, his := remember(t, r, "ann@example.com", "She likes tea."), remember(t, r, "bob@example.com", "He likes coffee.")
	gone := remember(t, r, "bob@example.com", "He was ill in May.")
	oldData, oldKeys := backUp(t, r.Config.Data)
	if status, body := call(t, http.MethodDelete, r.URL+"/api/v1/memories/subjects/ann@example.com", r.Key, ""); status != http.StatusOK {
		t.Fatalf("erase: %d %s", status, body)
	}
	if status, body := call(t, http.MethodDelete, r.URL+"/api/v1/memories/"+gone, r.Key, ""); status != http.StatusNoContent {
		t.Fatalf("forget: %d %s", status, body)
	}
	_, newKeys := backUp(t, r.Config.Data)
	journal := instance.JournalPath(r.Config.Data)

	for name, c := range map[string]struct {
		keys, journal string
		hers, gone    bool // they are back
	}{
		"the newest keys and the journal": {keys: newKeys, journal: journal},
		"the newest keys alone":           {keys: newKeys, gone: true},
		"the journal alone":               {keys: oldKeys, journal: journal},
		"neither":                         {keys: oldKeys, hers: true, gone: true}, // or the test proves nothing
	} {
		t.Run(name, func(t *testing.T) {
			folder := restore(t, r, oldData, c.keys, c.journal)
			again := apptest.Start(t, apptest.With(func(cfg *config.Config) { cfg.Data = folder }))
			again.Key = r.Key
			for id, there := range map[string]bool{hers: c.hers, his: true, gone: c.gone} {
				want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[there]
				if status, body := call(t, http.MethodGet, again.URL+"/api/v1/memories/"+id, r.Key, ""); status != want {
					t.Errorf("memory %s: %d %s, want %d", id, status, body, want)
				}
			}
			status, body := call(t, http.MethodGet, again.URL+"/api/v1/memories/subjects", r.Key, "")
			if status != http.StatusOK || strings.Contains(body, "ann@") != c.hers || !strings.Contains(body, "bob@") {
				t.Errorf("subjects: %d %s", status, body)
			}
			if c.hers {
				return
			}
			// Nor is she brought back by what was exported before, and what is written from now on is there.
			line := fmt.Sprintf(`{"id":%q,"subjectId":"ann@example.com","text":"She likes tea."}`, hers)
			if status, body := importLine(t, again, line); status != http.StatusOK || !strings.Contains(body, "not_allowed") {
				t.Errorf("import: %d %s", status, body)
			}
			id := remember(t, again, "ann@example.com", "She came back.")
			if status, body := call(t, http.MethodGet, again.URL+"/api/v1/memories/"+id, r.Key, ""); status != http.StatusOK {
				t.Errorf("what is written after: %d %s", status, body)
			}
		})
	}
}

func importLine(t *testing.T, r *apptest.Running, line string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, r.URL+"/api/v1/memories/import", strings.NewReader(line+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", r.Key)
	req.Header.Set("Content-Type", "application/x-ndjson")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, text.String()
}

// Whom a key is bound to is in the clear in no file, nor in the answer that is kept for a retry.
func TestBoundSubjectIsInNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := apptest.DatabaseURL(t, dir) // until this test ends, not its first part
	in := apptest.With(func(c *config.Config) { c.Data, c.DatabaseURL = dir, database })
	var adminKey, id string
	t.Run("made", func(t *testing.T) { adminKey, id = makeBoundKey(t, apptest.Start(t, in)) })
	t.Run("after a restart", func(t *testing.T) {
		r := apptest.Start(t, in)
		if status, body := call(t, http.MethodGet, r.URL+"/api/v1/developer/api-keys/"+id, adminKey, ""); status != http.StatusOK ||
			!strings.Contains(body, `"subjectId":"canary@example.com"`) || !strings.Contains(body, `"agentId":"agent-of-the-canary"`) {
			t.Errorf("later: %d %s", status, body)
		}
		if in := filesWith(t, dir, "canary"); len(in) != 0 {
			t.Errorf("after a restart it is in %v", in)
		}
	})
}

// makeBoundKey makes a bound key twice, by one Idempotency-Key.
func makeBoundKey(t *testing.T, r *apptest.Running) (adminKey, id string) {
	t.Helper()
	const body = `{"name":"hers","scopes":["memory:read"],"subjectId":"canary@example.com","agentId":"agent-of-the-canary"}`
	create := func() (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/api/v1/developer/api-keys", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-API-Key", r.Key)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", "a-key-for-the-canary")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		var text bytes.Buffer
		if _, err := text.ReadFrom(res.Body); err != nil {
			t.Fatal(err)
		}
		return res, text.String()
	}
	first, made := create()
	if first.StatusCode != http.StatusCreated || !strings.Contains(made, `"subjectId":"canary@example.com"`) {
		t.Fatalf("create: %d %s", first.StatusCode, made)
	}
	var key struct{ ID string }
	if err := json.Unmarshal([]byte(made), &key); err != nil {
		t.Fatal(err)
	}
	again, text := create()
	if again.StatusCode != http.StatusCreated || again.Header.Get("Idempotent-Replayed") != "true" || !strings.Contains(text, `"key":null`) ||
		!strings.Contains(text, `"subjectId":"canary@example.com"`) {
		t.Errorf("the retry: %d %s", again.StatusCode, text)
	}
	if in := filesWith(t, r.Config.Data, "canary"); len(in) != 0 {
		t.Errorf("it is in %v", in)
	}
	if in := filesWith(t, r.Config.Data, key.ID); len(in) == 0 && r.Config.DatabaseURL == "" {
		t.Error("the key is in no file, so the test proves nothing")
	}
	return r.Key, key.ID
}

func filesWith(t *testing.T, dir, text string) (names []string) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			var data []byte
			if data, err = os.ReadFile(path); bytes.Contains(data, []byte(text)) {
				names = append(names, filepath.Base(path))
			}
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil // a program that runs puts new files in the place of old ones
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestMemoriesOutliveAChangeOfTheMasterKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	database := apptest.DatabaseURL(t, dir)
	in := apptest.With(func(c *config.Config) { c.Data, c.DatabaseURL = dir, database })
	var key string
	var ids []string
	read := func(t *testing.T, r *apptest.Running) {
		t.Helper()
		for i, id := range ids {
			want := fmt.Sprintf("what is remembered of %d", i)
			if status, body := call(t, http.MethodGet, r.URL+"/api/v1/memories/"+id, key, ""); status != http.StatusOK || !strings.Contains(body, want) {
				t.Errorf("memory %d: %d %s", i, status, body)
			}
		}
	}
	more := func(t *testing.T, r *apptest.Running) {
		t.Helper()
		r.Key = key
		ids = append(ids, remember(t, r, fmt.Sprint("subject-", len(ids)), fmt.Sprintf("what is remembered of %d", len(ids))))
	}
	for _, part := range []string{"first", "after a restart"} {
		t.Run(part, func(t *testing.T) {
			r := apptest.Start(t, in)
			if key == "" {
				key = r.Key
			}
			read(t, r)
			more(t, r)
			local := client.OverSocket(instance.SocketPath(dir))
			for range 2 {
				if _, err := local.RotateMasterKey(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
				more(t, r)
				read(t, r)
			}
		})
	}
	t.Run("at the end", func(t *testing.T) { read(t, apptest.Start(t, in)) })
	if len(ids) != 6 {
		t.Errorf("%d memories were read", len(ids))
	}
}
