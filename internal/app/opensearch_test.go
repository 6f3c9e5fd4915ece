package app_test

import (
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

// openSearchDegraded is what readiness says while the cluster cannot be used.
var openSearchDegraded = regexp.MustCompile(`"opensearch":\{[^}]*"status":"degraded"`)

// inOpenSearch sets a cluster, with a prefix that no other test has, also of those that have used the same node.
func inOpenSearch(url string) func(*config.Config) {
	prefix := "app-" + strings.ToLower(rand.Text()) + "-"
	return func(c *config.Config) {
		generous(c)
		c.Search.OpenSearch.URL, c.Search.OpenSearch.Prefix = url, prefix
	}
}

// move moves the search index of the tenant's workspace, and searches and writes meanwhile.
func (n *tenant) moveSearch(engine string, meanwhile func()) {
	n.t.Helper()
	path := "/api/v1/admin/workspaces/" + n.workspace
	if w := n.make("PATCH", path, `{"searchEngine":"`+engine+`"}`); w["searchEngine"] != engine || w["searchMove"] == nil {
		n.t.Errorf("the move begins with %v and %v", w["searchEngine"], w["searchMove"])
	}
	await.Until(n.t, "the index has moved to "+engine, func() bool {
		meanwhile()
		return n.make("GET", path, "")["searchMove"] == nil
	})
}

func TestASearchIndexMovesThereAndBackAndThereAgain(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t, apptest.With(inOpenSearch(enginetest.OpenSearch(t))))
	n := operator(t, r)
	var lines strings.Builder
	for i := range 90 {
		fmt.Fprintf(&lines, `{"id":"d%02d","text":"stone number %d"}`+"\n", i, i)
	}
	n.make("POST", "/api/v1/documents/import", lines.String())
	want := n.found("stone")
	if len(want) != 90 {
		t.Fatalf("%d documents are found", len(want))
	}
	round := 0
	for _, engine := range []string{"opensearch", "local", "opensearch"} {
		n.moveSearch(engine, func() {
			if round++; round > 8 {
				return
			}
			id := fmt.Sprintf("e%02d", round)
			n.make("PUT", "/api/v1/documents/"+id, `{"text":"another stone"}`)
			want = append(want, id)
			if got := n.found("stone"); !slices.Equal(got, want) {
				t.Errorf("during the move to %s: %d documents are found, want %d", engine, len(got), len(want))
			}
		})
		if got := n.found("stone"); !slices.Equal(got, want) {
			t.Errorf("in %s: %d documents are found, want %d", engine, len(got), len(want))
		}
		n.want(false, 204, "", "DELETE", "/api/v1/documents/"+want[0], "")
		want = want[1:]
		if got := n.found("stone"); !slices.Equal(got, want) {
			t.Errorf("in %s, after a deletion: %v are found", engine, got)
		}
	}
	if rows := n.make("GET", "/api/v1/admin/audit-log?action=workspace.changed&limit=100", ""); strings.Count(fmt.Sprint(rows["items"]), "searchMoved") != 3 {
		t.Errorf("the audit log has %v", rows["items"])
	}
}

func TestAMoveWithoutAClusterIsRefused(t *testing.T) {
	t.Parallel()
	r := apptest.Start(t)
	n := operator(t, r)
	n.want(false, 400, "validation_error", "PATCH", "/api/v1/admin/workspaces/"+n.workspace, `{"searchEngine":"opensearch"}`)
	n.want(false, 400, "validation_error", "PATCH", "/api/v1/admin/workspaces/"+n.workspace, `{"searchEngine":"elsewhere"}`)
	if w := n.make("PATCH", "/api/v1/admin/workspaces/"+n.workspace, `{"searchEngine":"local"}`); w["searchMove"] != nil {
		t.Errorf("a move to where the index is: %v", w)
	}
	away := apptest.Start(t, apptest.With(inOpenSearch("http://127.0.0.1:1")))
	n = operator(t, away)
	n.want(false, 503, "unavailable", "PATCH", "/api/v1/admin/workspaces/"+n.workspace, `{"searchEngine":"opensearch"}`)
	await.Until(t, "readiness says that OpenSearch is away", func() bool {
		text := ready(t, away)
		if !strings.HasPrefix(text, "200") {
			t.Errorf("readiness is %s", text)
		}
		return openSearchDegraded.MatchString(text)
	})
}

// Two processes search what either has written, wherever the index is.
func TestTwoProcessesSearchInOpenSearch(t *testing.T) {
	t.Parallel()
	url := enginetest.OpenSearch(t)
	p := startPair(t, apptest.Database(t), inOpenSearch(url))
	a, b := operator(t, p.a), operator(t, p.b)
	var want []string
	write := func() {
		id := fmt.Sprintf("w%03d", len(want))
		from, to := a, b
		if len(want)%2 == 1 {
			from, to = b, a
		}
		from.make("PUT", "/api/v1/documents/"+id, `{"text":"common stone"}`)
		want = append(want, id)
		if got := to.found("stone"); !slices.Equal(got, want) {
			t.Errorf("the other process finds %d documents, want %d", len(got), len(want))
		}
	}
	for range 10 {
		write()
	}
	for _, engine := range []string{"opensearch", "local", "opensearch"} {
		n := 0
		a.moveSearch(engine, func() {
			if n++; n < 10 {
				write()
			}
		})
		for range 4 {
			write()
		}
	}
}

func TestAnIndexIsDeletedWhenOpenSearchIsBack(t *testing.T) {
	t.Parallel()
	node := enginetest.StartOpenSearch(t)
	cluster := inOpenSearch(node.URL)
	prefix := ""
	n := operator(t, apptest.Start(t, apptest.With(cluster), apptest.With(func(c *config.Config) { prefix = c.Search.OpenSearch.Prefix })))
	n.make("PUT", "/api/v1/documents/a", `{"text":"stone"}`)
	n.moveSearch("opensearch", func() {})
	pattern := prefix + strings.ToLower(n.workspace) + "-*"
	left := func() int {
		status, list := get(t, http.DefaultClient, node.URL+"/_cat/indices/"+pattern+"?h=index", "")
		if status != http.StatusOK {
			t.Fatalf("list indexes: %d", status)
		}
		return strings.Count(list, "\n")
	}
	if left() != 2 {
		t.Fatalf("there are %d indexes", left())
	}
	node.Kill()
	n.moveSearch("local", func() {})
	if got := n.found("stone"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("while OpenSearch is away, %v are found", got)
	}
	node.Start(t)
	await.Until(t, "the index is deleted", func() bool { return left() == 0 })
}

func TestAnotherInstallationWithOnePrefixIsRefused(t *testing.T) {
	t.Parallel()
	cluster := inOpenSearch(enginetest.OpenSearch(t))
	first := operator(t, apptest.Start(t, apptest.With(cluster)))
	first.make("PUT", "/api/v1/documents/a", `{"text":"stone"}`)
	first.moveSearch("opensearch", func() {})
	again := apptest.Start(t, apptest.With(cluster))
	second := operator(t, again)
	await.Until(t, "readiness of the second one says so", func() bool { return openSearchDegraded.MatchString(ready(t, again)) })
	second.want(false, 409, "conflict", "PATCH", "/api/v1/admin/workspaces/"+second.workspace, `{"searchEngine":"opensearch"}`)
	if got := first.found("stone"); !slices.Equal(got, []string{"a"}) {
		t.Errorf("%v are found", got)
	}
}

// The copy of an index on another node gets its segments, so it is behind until then. Each process asks another node.
func TestACopyOfAnIndexHidesNothing(t *testing.T) {
	t.Parallel()
	nodes := enginetest.StartOpenSearchCluster(t, "cluster.indices.replication.strategy=SEGMENT",
		"cluster.routing.allocation.disk.threshold_enabled=false")
	next, set := atomic.Int64{}, inOpenSearch(nodes[0].URL)
	p := startPair(t, apptest.Database(t), func(c *config.Config) {
		set(c)
		c.Search.OpenSearch.URL = nodes[next.Add(1)-1].URL
	})
	both := [2]*tenant{operator(t, p.a), operator(t, p.b)}
	both[0].make("PUT", "/api/v1/documents/first", `{"text":"stone"}`)
	both[0].moveSearch("opensearch", func() {})
	prefix := p.a.Config.Search.OpenSearch.Prefix
	ask := func(path string) string {
		t.Helper()
		res, err := http.Get(nodes[0].URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	await.Until(t, "each index has a copy", func() bool {
		return strings.Count(ask("/_cat/shards/"+prefix+"*?h=prirep,state"), "r STARTED") >= 2
	})
	if settings := ask("/" + prefix + "*/_settings"); strings.Count(settings, `"SEGMENT"`) < 2 {
		t.Errorf("the copies are no copies of segments: %s", settings)
	}
	want := []string{"first"}
	for i := range 60 {
		id := fmt.Sprintf("w%03d", i)
		both[i%2].make("PUT", "/api/v1/documents/"+id, `{"text":"common stone"}`)
		want = append(want, id)
		if i%5 == 4 {
			both[i%2].want(false, 204, "", "DELETE", "/api/v1/documents/"+want[1], "")
			want = slices.Delete(want, 1, 2)
		}
		for n := range both {
			if got := both[(i+1+n)%2].found("stone"); !slices.Equal(got, want) {
				t.Errorf("round %d: process %d finds %d documents, want %d", i, (i+1+n)%2, len(got), len(want))
			}
		}
	}
	nodes[1].Kill()
	both[0].make("PUT", "/api/v1/documents/x", `{"text":"common stone"}`)
	want = append(want, "x")
	await.Until(t, "a search is answered with one node", func() bool { return both[0].status(false, "/api/v1/search?q=stone") == "200" })
	if got := both[0].found("stone"); !slices.Equal(got, want) {
		t.Errorf("with one node: %d documents are found, want %d", len(got), len(want))
	}
}
