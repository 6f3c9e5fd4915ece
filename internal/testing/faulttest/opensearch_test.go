package faulttest

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/programtest"
	"keepsake/internal/testing/testtier"
)

// cluster is OpenSearch behind a proxy that can delay requests.
type cluster struct {
	direct string // without the proxy
	url    string
	prefix string
	delay  atomic.Pointer[func(r *http.Request) time.Duration] // nil: none
}

func newCluster(t *testing.T, address string) *cluster {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{direct: address, prefix: strings.ToLower(rand.Text()) + "-"}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) } // as without a proxy
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if delay := c.delay.Load(); delay != nil {
			timer := time.NewTimer((*delay)(r))
			defer timer.Stop()
			select {
			case <-timer.C:
			case <-r.Context().Done():
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

// slow delays requests; nil: none.
func (c *cluster) slow(delay func(r *http.Request) time.Duration) {
	if delay == nil {
		c.delay.Store(nil)
		return
	}
	c.delay.Store(&delay)
}

// settings let a process have indexes there.
func (c *cluster) settings() programtest.Option {
	return programtest.Env("KEEPSAKE_SEARCH_OPENSEARCH_URL="+c.url, "KEEPSAKE_SEARCH_OPENSEARCH_PREFIX="+c.prefix,
		"KEEPSAKE_LOG_REQUESTS=false", "KEEPSAKE_TIERS_ANONYMOUS_REQUESTS_PER_MINUTE=1000000", "KEEPSAKE_TIERS_ANONYMOUS_DAILY=1000000")
}

// without lets a process find no cluster.
func (c *cluster) without() programtest.Option {
	return programtest.Env("KEEPSAKE_SEARCH_OPENSEARCH_URL=http://127.0.0.1:1")
}

// ask sends a request to OpenSearch itself.
func (c *cluster) ask(t *testing.T, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, c.direct+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	status, answer, _ := received(t, req)
	if status >= 300 {
		t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	return string(answer)
}

// indexes returns the names of the indexes of documents.
func (c *cluster) indexes(t *testing.T) (names []string) {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(c.ask(t, "GET", "/"+c.prefix+"*/_alias", "")), &all); err != nil {
		t.Fatal(err)
	}
	for name := range all {
		if !strings.HasSuffix(name, ".words") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func received(t testing.TB, req *http.Request) (status int, body []byte, header http.Header) {
	t.Helper()
	res, err := programtest.Client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body, res.Header
}

// owner is a workspace at a process.
type owner struct {
	*server
	key, workspace string
}

// operatorOf is the workspace with the key of the process.
func operatorOf(s *server) *owner {
	s.t.Helper()
	return &owner{s, s.Key, s.Must(http.StatusOK, "GET", "/api/v1/admin/workspaces", nil)["items"].([]any)[0].(map[string]any)["id"].(string)}
}

// another creates a workspace.
func (o *owner) another(name string) *owner {
	o.t.Helper()
	id := o.Must(http.StatusCreated, "POST", "/api/v1/admin/workspaces", map[string]any{"name": name, "tier": "unlimited"})["id"].(string)
	key := o.Must(http.StatusCreated, "POST", "/api/v1/developer/api-keys",
		map[string]any{"name": "all", "scopes": []string{"read", "write"}, "workspaceId": id})["key"].(string)
	return &owner{o.server, key, id}
}

// at is the workspace at another process.
func (o *owner) at(s *server) *owner { return &owner{s, o.key, o.workspace} }

// write stores documents, with their IDs as their words.
func (o *owner) write(ids ...string) {
	o.t.Helper()
	var lines strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&lines, `{"id":%q,"text":"stone %s"}`+"\n", id, id)
	}
	status, answer, err := o.Send(o.t.Context(), o.key, "POST", "/api/v1/documents/import", "application/x-ndjson", []byte(lines.String()))
	if err != nil || status != http.StatusOK {
		o.t.Fatalf("import: %d %s %v", status, answer, err)
	}
}

func (o *owner) remove(id string) {
	o.t.Helper()
	if status, answer, err := o.Send(o.t.Context(), o.key, "DELETE", "/api/v1/documents/"+id, "", nil); err != nil || status != http.StatusNoContent {
		o.t.Fatalf("delete: %d %s %v", status, answer, err)
	}
}

// search returns the IDs that a search finds, by name, or ok is false if it is 503 with Retry-After.
func (o *owner) search() (ids []string, ok bool) {
	o.t.Helper()
	for next := ""; ; {
		req, err := http.NewRequestWithContext(o.t.Context(), http.MethodGet, o.URL+"/api/v1/search?q=stone&limit=100"+next, nil)
		if err != nil {
			o.t.Fatal(err)
		}
		req.Header.Set("X-API-Key", o.key)
		status, body, header := received(o.t, req)
		if status == http.StatusServiceUnavailable && header.Get("Retry-After") != "" {
			return nil, false
		}
		var found struct {
			Results    []struct{ ID string }
			NextCursor string
		}
		if err := json.Unmarshal(body, &found); err != nil || status != http.StatusOK {
			o.t.Fatalf("search: %d %s %v", status, body, err)
		}
		for _, hit := range found.Results {
			ids = append(ids, hit.ID)
		}
		if found.NextCursor == "" {
			slices.Sort(ids)
			return ids, true
		}
		next = "&cursor=" + url.QueryEscape(found.NextCursor)
	}
}

// finds wants exactly these documents. A search can be unavailable for a while, but never wrong.
func (o *owner) finds(when string, want ...string) {
	o.t.Helper()
	slices.Sort(want)
	await.Until(o.t, when+": a search is answered", func() bool {
		got, ok := o.search()
		if ok && !slices.Equal(got, want) {
			o.t.Errorf("%s: %d documents are found, want %d: %.300q", when, len(got), len(want), got)
		}
		return ok
	})
}

// move begins a move. OpenSearch that has just started can take long for its first answers.
func (o *owner) move(engine string) {
	o.t.Helper()
	await.Until(o.t, "the move begins", func() bool {
		status, answer, err := o.Send(o.t.Context(), o.Key, "PATCH", "/api/v1/admin/workspaces/"+o.workspace, "application/merge-patch+json",
			[]byte(`{"searchEngine":"`+engine+`"}`))
		if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable { // a busy node can be late
			o.t.Fatalf("move: %d %s %v", status, answer, err)
		}
		return status == http.StatusOK
	})
}

// percent is how far a move is. It ends with -1.
func (o *owner) percent() float64 {
	o.t.Helper()
	move, ok := o.Must(http.StatusOK, "GET", "/api/v1/admin/workspaces/"+o.workspace, nil)["searchMove"].(map[string]any)
	if !ok {
		return -1
	}
	percent, _ := move["percent"].(float64) // null while the cluster does not answer
	return percent
}

func (o *owner) moved(engine string) {
	o.t.Helper()
	o.move(engine)
	await.Until(o.t, "the index has moved to "+engine, func() bool { return o.percent() < 0 })
}

func numbered(name string, n int) (ids []string) {
	for i := range n {
		ids = append(ids, fmt.Sprintf("%s%05d", name, i))
	}
	return ids
}

// A process is killed in the middle of each move. The old index answers until the new one has everything, and the move goes on with
// what was stored.
func TestAMoveGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "kills the program in the middle of moves to OpenSearch and back")
	c := newCluster(t, enginetest.OpenSearch(t))
	dir := t.TempDir()
	s := start(t, dir, "", c.settings())
	o := operatorOf(s)
	want := numbered("d", 1_500)
	o.write(want...)
	o.finds("before", want...)
	kills := 0
	kill := func() {
		t.Helper()
		o.Kill()
		s = start(t, dir, o.key, c.settings())
		o = o.at(s)
		kills++
		id := fmt.Sprint("e", kills)
		o.write(id)
		want = append(want, id)
		o.finds("after a kill", want...)
	}
	for _, engine := range []string{"opensearch", "local", "opensearch"} {
		c.slow(func(r *http.Request) time.Duration {
			if strings.Contains(r.URL.Path, "_bulk") {
				return 100 * time.Millisecond // so that there is a middle
			}
			return 0
		})
		o.move(engine)
		if engine == "opensearch" {
			await.Until(t, "a part is moved", func() bool { return o.percent() >= 10 })
			index := c.indexes(t)
			kill()
			await.Until(t, "another part is moved", func() bool {
				p := o.percent()
				return p >= 30 || p < 0
			})
			kill()
			if again := c.indexes(t); !slices.Equal(again, index) {
				t.Errorf("the move began again: %q, then %q", index, again)
			}
		} else {
			kill()
		}
		c.slow(nil)
		await.Until(t, "the index has moved to "+engine, func() bool { return o.percent() < 0 })
		o.finds("in "+engine, want...)
		o.remove(want[0])
		want = want[1:]
		o.finds("in "+engine+" after a deletion", want...)
	}
}

// A database comes back without its last changes, and other changes get their numbers before OpenSearch is asked again.
func TestDocumentsOfALostTimeVanish(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "restores PostgreSQL, with an index in OpenSearch")
	for _, test := range []struct {
		name  string
		runs  bool // the process, meanwhile
		later int  // changes after the restore; 3 were lost
	}{{"as many", false, 3}, {"more", false, 5}, {"failover", true, 3}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, enginetest.OpenSearch(t))
			postgres := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
			database := postgres.NewDatabase(t)
			dir := t.TempDir()
			at := programtest.Database(postgres.URL(database))
			o := operatorOf(start(t, dir, "", at, c.settings()))
			old := numbered("old", 5)
			o.write(old...)
			o.moved("opensearch")
			o.finds("before the backup", old...)
			o.Stop()
			postgres.Exec(t, "CREATE DATABASE backup OWNER "+enginetest.Role+" TEMPLATE "+database)
			o = o.at(start(t, dir, o.key, at, c.settings()))
			lost := numbered("lost", 3)
			o.write(lost...)
			o.finds("before the loss", slices.Concat(old, lost)...)
			if !test.runs {
				o.Kill()
			}
			postgres.Exec(t, "DROP DATABASE "+database+" WITH (FORCE)")
			postgres.Exec(t, "ALTER DATABASE backup RENAME TO "+database)
			if !test.runs {
				o = o.at(start(t, dir, o.key, at, c.settings(), c.without()))
			}
			later := numbered("new", test.later)
			await.Until(t, "a document is written", func() bool {
				status, _, err := o.Send(t.Context(), o.key, "PUT", "/api/v1/documents/"+later[0], "application/json", []byte(`{"text":"stone"}`))
				return err == nil && status == http.StatusCreated
			})
			for _, id := range later[1:] {
				o.write(id)
			}
			if !test.runs {
				o.Kill()
				o = o.at(start(t, dir, o.key, at, c.settings()))
			}
			o.finds("after the loss", slices.Concat(old, later)...)
			o.write("last")
			o.finds("later", slices.Concat(old, later, []string{"last"})...)
		})
	}
}
