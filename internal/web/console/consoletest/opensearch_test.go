package consoletest

import (
	"crypto/rand"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"keepsake/client"
	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/browsertest"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// inOpenSearch sets a cluster, with a prefix that no other test has.
func inOpenSearch(address string) func(*config.Config) {
	prefix := "console-" + strings.ToLower(rand.Text()) + "-"
	return func(c *config.Config) { c.Search.OpenSearch.URL, c.Search.OpenSearch.Prefix = address, prefix }
}

// moveHere moves the search index of the first workspace to OpenSearch, by its page.
func moveHere(t *testing.T, p *apptest.Running, v *visitor) {
	t.Helper()
	c := operator(t, p)
	if _, err := c.CreateDocument(t.Context(), client.NewDocument{ID: "a", Text: "a furnace"}); err != nil {
		t.Fatal(err)
	}
	await.Until(t, "the cluster is reached", func() bool { return cluster(t, c).State == "ok" })
	v.post("/console/workspaces/"+p.Workspace+"/search-engine", url.Values{"engine": {client.SearchOpenSearch}}).want(t, 303)
	await.Until(t, "the index has moved", func() bool {
		w, err := c.WorkspaceRecord(t.Context(), p.Workspace)
		if err != nil {
			t.Fatal(err)
		}
		return w.SearchMove == nil && w.SearchEngine == client.SearchOpenSearch
	})
}

func cluster(t *testing.T, c *client.Client) *client.OpenSearchState {
	t.Helper()
	stats, err := c.CacheStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if stats.OpenSearch == nil {
		t.Fatal("the cluster is missing")
	}
	return stats.OpenSearch
}

func TestTheSystemPageShowsTheIndexesInOpenSearch(t *testing.T) {
	t.Parallel()
	target, err := url.Parse(enginetest.OpenSearch(t))
	if err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(target)
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if away.Load() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(node.Close)
	p := apptest.Start(t, apptest.With(inOpenSearch(node.URL)))
	v, c := admin(t, p), operator(t, p)
	shows := func(texts ...string) {
		t.Helper()
		shown := v.get("/console/system").want(t, 200, "/docs/guides/instances#an-index-in-opensearch").words()
		for _, text := range texts {
			if !strings.Contains(shown, text) {
				t.Errorf("the system lacks %q: %s", text, shown)
			}
		}
	}
	await.Until(t, "the cluster is reached", func() bool { return cluster(t, c).State == "ok" })
	shows("OpenSearch ok OpenSearch 2", "answers this process", "No workspace has its index there")
	moveHere(t, p, v)
	w, err := c.WorkspaceRecord(t.Context(), p.Workspace)
	if err != nil {
		t.Fatal(err)
	}
	shows("OpenSearch ok", w.Name+" "+p.Workspace, "ok since", "0 changes", "read this index")
	v.get("/docs/guides/instances").want(t, 200, `id="an-index-in-opensearch"`)

	away.Store(true)
	await.Until(t, "the cluster is away", func() bool {
		o := cluster(t, c)
		return o.State == "unreachable" && o.Workspaces[0].State == "unreachable"
	})
	shows("OpenSearch unreachable OpenSearch 2", "cannot be used by this process: it is unreachable", "opensearch is degraded", "unreachable since")
	away.Store(false)
	await.Until(t, "the cluster is back", func() bool {
		o := cluster(t, c)
		return o.State == "ok" && o.Workspaces[0].State == "ok"
	})
	if got := v.send("GET", "/console/system", nil, "HX-Request", "true").want(t, 200, "answers this process"); strings.Contains(got.text, "<html") {
		t.Error("the part that stays up to date is a whole page")
	}
	tenant(t, p, "free", "admin").get("/console/system").want(t, 403)
}

func TestWithoutAClusterTheSystemPageHasNoPanelOfIt(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t)
	if text := admin(t, p).get("/console/system").want(t, 200).text; strings.Contains(text, `id="opensearch"`) {
		t.Error("there is a panel about OpenSearch")
	}
	stats, err := operator(t, p).CacheStats(t.Context())
	if err != nil || stats.OpenSearch != nil {
		t.Errorf("the numbers are %+v, %v", stats.OpenSearch, err)
	}
}

// On a phone, the table of the workspaces in OpenSearch is a list. The keyboard reaches its links.
func TestTheIndexesInOpenSearchFitAPhone(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "starts Chromium")
	p := apptest.Start(t, apptest.With(inOpenSearch(enginetest.OpenSearch(t))))
	moveHere(t, p, admin(t, p))
	tab := browsertest.Start(t).Tab(t)
	tab.Open(p.URL + "/")
	arrive(t, p, tab)
	tab.Size(390, 844)
	tab.Open(p.URL + "/console/system")
	var wide, cut int
	tab.Eval("document.documentElement.scrollWidth", &wide)
	tab.Eval(`(e => e.scrollWidth - e.clientWidth)(document.querySelector("#opensearch .scroll"))`, &cut)
	if wide > 390 || cut > 0 {
		t.Errorf("the page is %d pixels wide, and the table %d too wide", wide, cut)
	}
	var reached []string
	tab.Eval(`document.querySelector("#opensearch a").focus()`, nil)
	for range 3 {
		var at string
		tab.Eval(`document.activeElement.ariaLabel || document.activeElement.innerText`, &at)
		reached = append(reached, at)
		tab.Press("Tab")
	}
	if len(reached) != 3 || reached[1] != "Workspaces in OpenSearch" {
		t.Errorf("the keyboard reaches %q", reached)
	}
	if dir := os.Getenv(screenshots); dir != "" {
		tab.Eval(`document.getElementById("opensearch").scrollIntoView()`, nil)
		tab.Screenshot(filepath.Join(dir, "system-opensearch-phone.png"))
	}
}
