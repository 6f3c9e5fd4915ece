package opensearch_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"keepsake/internal/search/opensearch"
)

// clientOf returns a client of a server that answers with handle.
func clientOf(t *testing.T, handle http.HandlerFunc) *opensearch.Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return newClient(t, opensearch.ClientOptions{URL: server.URL})
}

func newClient(t *testing.T, o opensearch.ClientOptions) *opensearch.Client {
	t.Helper()
	c, err := opensearch.NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// answer returns a handler with one answer.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestAFailureHasAState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		body   string
		want   opensearch.State
	}{
		{401, "Unauthorized", opensearch.Denied},
		{403, `{"error":{"type":"security_exception","reason":"no permissions for secret"},"status":403}`, opensearch.Denied},
		{403, `{"error":{"type":"cluster_block_exception","reason":"index [x] blocked by: [FORBIDDEN/8/index write (api)];"}}`, opensearch.ReadOnly},
		{429, `{"error":{"type":"cluster_block_exception","reason":"index [x] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block];"}}`, opensearch.Full},
		{429, `{"error":{"type":"circuit_breaking_exception","reason":"[parent] Data too large: secret"}}`, opensearch.Throttled},
		{429, "", opensearch.Throttled},
		{404, `{"error":{"type":"index_not_found_exception","reason":"no such index [secret]"}}`, opensearch.Missing},
		{404, `{"found":false}`, opensearch.Missing},
		{400, `{"error":{"type":"index_closed_exception","reason":"closed"}}`, opensearch.Closed},
		{400, `{"error":{"type":"mapper_parsing_exception","reason":"failed to parse: 'secret'"}}`, opensearch.Refused},
		{409, `{"error":{"type":"version_conflict_engine_exception","reason":"[secret]: version conflict"}}`, opensearch.Conflicting},
		{503, `{"error":{"type":"unavailable_shards_exception","reason":"primary shard is not active"}}`, opensearch.Unavailable},
		{503, `{"error":{"type":"cluster_block_exception","reason":"blocked by: [SERVICE_UNAVAILABLE/1/state not recovered];"}}`, opensearch.Unavailable},
		{503, `{"error":{"type":"search_phase_execution_exception","reason":"all shards failed"}}`, opensearch.Unavailable},
		{502, "<html>", opensearch.Unavailable},
		{500, `{"error":{"type":"null_pointer_exception","reason":"secret"}}`, opensearch.Failed},
		{302, "", opensearch.Failed},
	} {
		_, err := clientOf(t, answer(c.status, c.body)).Do(t.Context(), "GET", "/", nil)
		var failed *opensearch.Error
		if !errors.As(err, &failed) || failed.State != c.want || failed.Status != c.status {
			t.Errorf("%d %s: got %v, want %s", c.status, c.body, err, c.want)
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error quotes the answer: %v", err)
		}
	}
}

func TestABulkIsStoredOnlyIfEveryItemIs(t *testing.T) {
	t.Parallel()
	item := func(status int, kind, reason string) string {
		if kind == "" {
			return `{"index":{"status":201}}`
		}
		return `{"index":{"status":` + itoa(status) + `,"error":{"type":"` + kind + `","reason":"` + reason + `"}}}`
	}
	stored, older := item(201, "", ""), item(409, "version_conflict_engine_exception", "secret")
	full := item(429, "cluster_block_exception", "disk usage exceeded flood-stage watermark")
	for _, c := range []struct {
		items []string
		want  opensearch.State
	}{
		{[]string{stored, older}, opensearch.Healthy},
		{[]string{stored, full}, opensearch.Full},
		{[]string{item(429, "rejected_execution_exception", "secret"), full}, opensearch.Full},
		{[]string{item(429, "rejected_execution_exception", "secret"), stored}, opensearch.Throttled},
		{[]string{stored, item(403, "cluster_block_exception", "index write")}, opensearch.ReadOnly},
		{[]string{stored, item(404, "index_not_found_exception", "no alias")}, opensearch.Missing},
		{[]string{stored, item(503, "unavailable_shards_exception", "no primary")}, opensearch.Unavailable},
		{[]string{stored, item(400, "mapper_parsing_exception", "secret")}, opensearch.Refused},
		{[]string{stored}, opensearch.Failed}, // an answer is missing
		{[]string{stored, `{}`}, opensearch.Failed},
	} {
		client := clientOf(t, answer(200, `{"errors":true,"items":[`+strings.Join(c.items, ",")+`]}`))
		err := client.Bulk(t.Context(), "a", []opensearch.Action{{ID: "x", Version: 1, Body: []byte(`{}`)}, {ID: "y", Version: 2, Body: []byte(`{}`)}})
		if got := opensearch.StateOf(err); got != c.want {
			t.Errorf("%v: got %s, want %s", c.items, got, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error quotes an item: %v", err)
		}
	}
}

func itoa(n int) string {
	return string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
}

func TestARequestIsSentOnceAndToTheClusterAlone(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	client := clientOf(t, func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.URL.Path == "/cut" {
			c, _, _ := w.(http.Hijacker).Hijack()
			_ = c.Close()
			return
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	})
	for _, path := range []string{"/cut", "/moved"} {
		requests.Store(0)
		if _, err := client.Do(t.Context(), "GET", path, nil); err == nil {
			t.Errorf("%s: no error", path)
		}
		if n := requests.Load(); n != 1 {
			t.Errorf("%s: %d requests", path, n)
		}
	}
}

func TestTheEndOfTheCallerSaysNothingAboutTheCluster(t *testing.T) {
	t.Parallel()
	client := clientOf(t, answer(200, `{}`))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Do(ctx, "GET", "/", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestAPasswordIsReadAgainAfterItWasRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "keepsake" || password != "new" {
			w.WriteHeader(http.StatusUnauthorized)
		}
	}))
	t.Cleanup(server.Close)
	client := newClient(t, opensearch.ClientOptions{URL: server.URL, User: "keepsake", PasswordFile: file})
	for i, want := range []opensearch.State{opensearch.Denied, opensearch.Denied, opensearch.Healthy, opensearch.Healthy} {
		switch i {
		case 0:
			_ = os.Remove(file)
		case 1:
			write("old\n")
		case 2:
			write("new\n")
		}
		if _, err := client.Do(t.Context(), "GET", "/", nil); opensearch.StateOf(err) != want {
			t.Errorf("request %d: got %v, want %s", i, err, want)
		}
	}
}

func TestAClusterThatIsNotThereIsUnreachable(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(answer(200, ""))
	url := server.URL
	server.Close()
	if _, err := newClient(t, opensearch.ClientOptions{URL: url}).Do(t.Context(), "GET", "/", nil); opensearch.StateOf(err) != opensearch.Unreachable {
		t.Errorf("got %v", err)
	}
	secure := httptest.NewTLSServer(answer(200, ""))
	t.Cleanup(secure.Close)
	if _, err := newClient(t, opensearch.ClientOptions{URL: secure.URL}).Do(t.Context(), "GET", "/", nil); opensearch.StateOf(err) != opensearch.Unreachable {
		t.Errorf("an unknown authority: got %v", err)
	}
}
