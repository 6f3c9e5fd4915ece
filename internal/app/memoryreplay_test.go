package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
)

// once sends a POST under an Idempotency-Key.
func once(t *testing.T, r *apptest.Running, path, key, body string) (status int, answer string, replayed bool) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", r.Key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Idempotency-Key", key)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header.Get("Idempotent-Replayed") == "true"
}

// Answers with texts of memories are kept sealed, whole also where they are large, and go with what they tell of.
func TestKeptAnswersThatTellOfMemories(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	const path, canary = "/api/v1/memories", "the canary has a cold"
	one := func(subject, text string) string {
		body, _ := json.Marshal(map[string]string{"subjectId": subject, "text": text})
		return string(body)
	}
	type request struct{ path, body, first string }
	requests := map[string]*request{
		"the first of hers":  {path: path, body: one("ann@canary", canary+" one")},
		"the second of hers": {path: path, body: one("ann@canary", canary+" two")},
		"one of his":         {path: path, body: one("bob@canary", canary+" three")},
	}
	var items []string
	for n := range 300 {
		items = append(items, one([]string{"ann@canary", "eve@canary"}[n%2], fmt.Sprint(canary, strings.Repeat(" again", 100), n)))
	}
	requests["a batch of two persons"] = &request{path: path + "/batch", body: `{"items":[` + strings.Join(items, ",") + `]}`}
	for key, q := range requests {
		status, answer, replayed := once(t, r, q.path, key, q.body)
		if status/100 != 2 || replayed || !strings.Contains(answer, canary) {
			t.Fatalf("%s: %d %.200s", key, status, answer)
		}
		q.first = answer
		if status, answer, replayed := once(t, r, q.path, key, q.body); status/100 != 2 || !replayed || answer != q.first {
			t.Errorf("%s again: %d %.200s", key, status, answer)
		}
	}
	if n := len(requests["a batch of two persons"].first); n < 64<<10 {
		t.Errorf("the answer to the batch has %d bytes, which is no large one", n)
	}
	if in := filesWith(t, r.Config.Data, "canary"); len(in) != 0 {
		t.Errorf("it is in %v", in)
	}
	// Each time a text is shown again, the access log has a row.
	reads := func(subject string) (ids []string) {
		t.Helper()
		status, body := call(t, http.MethodGet, r.URL+path+"/subjects/"+subject+"/access-log?limit=200", r.Key, "")
		var log struct {
			Items []struct {
				Action    string
				MemoryIDs []string
			}
		}
		if err := json.Unmarshal([]byte(body), &log); err != nil || status != http.StatusOK {
			t.Fatalf("the access log: %d %s", status, body)
		}
		for _, row := range log.Items {
			if row.Action == "memory.read" {
				ids = append(ids, row.MemoryIDs...)
			}
		}
		return ids
	}
	if got := reads("bob@canary"); len(got) != 1 || !strings.Contains(requests["one of his"].first, got[0]) {
		t.Errorf("of one memory of his, shown again once, the log says %v", got)
	}
	if got := reads("eve@canary"); len(got) != 150 {
		t.Errorf("of 150 memories in a batch that was shown again once, the log has %d", len(got))
	}
	idOf := func(key string) string {
		var m struct{ ID string }
		if err := json.Unmarshal([]byte(requests[key].first), &m); err != nil {
			t.Fatal(err)
		}
		return m.ID
	}
	expect := func(when string, gone ...string) {
		t.Helper()
		for key, q := range requests {
			status, answer, _ := once(t, r, q.path, key, q.body)
			switch {
			case strings.Contains(strings.Join(gone, ", "), key):
				if status != http.StatusNotFound || strings.Contains(answer, "canary") {
					t.Errorf("%s, %s: %d %.200s", when, key, status, answer)
				}
			case status/100 != 2 || answer != q.first:
				t.Errorf("%s, %s: %d %.200s, and first %.200s", when, key, status, answer, q.first)
			}
		}
	}
	if status, body := call(t, http.MethodDelete, r.URL+path+"/"+idOf("the first of hers"), r.Key, ""); status != http.StatusNoContent {
		t.Fatalf("erase one: %d %s", status, body)
	}
	expect("one was erased", "the first of hers", "a batch of two persons")
	if status, body := call(t, http.MethodDelete, r.URL+path+"/subjects/ann@canary", r.Key, ""); status != http.StatusOK {
		t.Fatalf("erase her: %d %s", status, body)
	}
	expect("she was erased", "the first of hers", "the second of hers", "a batch of two persons")
	if status, body := call(t, http.MethodGet, r.URL+path+"/subjects", r.Key, ""); status != http.StatusOK || strings.Contains(body, "ann@") {
		t.Errorf("she is back: %d %s", status, body)
	}
}
