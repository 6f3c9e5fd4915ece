package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// shelf is a workspace with documents.
type shelf struct {
	*tenant
	documents int
}

// newShelf creates a workspace with so many documents of that many words.
func newShelf(t *testing.T, p *apptest.Running, name string, documents, words int) *shelf {
	t.Helper()
	root := operator(t, p)
	n := &shelf{tenant: &tenant{t: t, base: p.URL}, documents: documents}
	n.workspace = root.make("POST", "/api/v1/admin/workspaces", `{"name":"`+name+`","tier":"business"}`)["id"].(string)
	root.make("POST", "/api/v1/admin/users", fmt.Sprintf(
		`{"email":"%s@example.org","role":"admin","workspaceId":"%s","password":"%s"}`, name, n.workspace, tenantPassword))
	n.token = n.make("POST", "/api/auth/login", fmt.Sprintf(`{"email":"%s@example.org","password":"%s"}`, name, tenantPassword))["accessToken"].(string)
	n.key = n.make("POST", "/api/v1/developer/api-keys", `{"name":"all","scopes":["read","write"]}`)["key"].(string)
	var lines strings.Builder
	for i := range documents {
		fmt.Fprintf(&lines, `{"id":"d%d","text":"stone`, i)
		for w := range words {
			fmt.Fprintf(&lines, " w%d", (i*31+w*w*7)%5_000)
		}
		lines.WriteString("\"}\n")
	}
	if got := n.make("POST", "/api/v1/documents/import", lines.String()); got["created"].(float64) != float64(documents) {
		t.Fatalf("imported %v", got)
	}
	return n
}

// finds wants that a process finds all documents of the workspace.
func (n *shelf) finds(p *apptest.Running) {
	n.t.Helper()
	if got := n.on(p).make("GET", "/api/v1/search?q=stone", ""); got["total"].(float64) != float64(n.documents) {
		n.t.Fatalf("%s finds %v documents of %s, want %d", p.URL, got["total"], n.workspace, n.documents)
	}
}

// indexes are the metrics of a process about the indexes that it holds.
type indexes struct{ held, building, built, dropped int }

func indexesOf(t *testing.T, p *apptest.Running) indexes {
	t.Helper()
	s := scrape(t, p).series
	return indexes{
		int(s[`keepsake_search_indexes{state="held"}`]), int(s[`keepsake_search_indexes{state="building"}`]),
		int(s["keepsake_search_index_build_seconds_count{}"]), int(s["keepsake_search_indexes_dropped_total{}"]),
	}
}

// foldersOf are the workspaces whose indexes have files at a process.
func foldersOf(t *testing.T, p *apptest.Running) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(p.Config.Data, "index"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A start beside many workspaces builds no index, and a process follows only what was searched through it.
func TestAProcessHoldsWhatWasSearchedThroughIt(t *testing.T) {
	t.Parallel()
	p := startPair(t, apptest.Database(t), generous)
	var shelves []*shelf
	for i := range testtier.Rounds(4, 12) {
		shelves = append(shelves, newShelf(t, p.a, fmt.Sprint("shelf", i), 20, 5))
	}
	c := startAnother(t, p)
	for name, r := range map[string]*apptest.Running{"the one that wrote": p.a, "the other": p.b, "the new one": c} {
		await.Until(t, name+" is ready", func() bool { return strings.HasPrefix(ready(t, r), "200") })
		if got := indexesOf(t, r); got != (indexes{}) {
			t.Errorf("before any search, %s has %+v", name, got)
		}
	}
	shelves[1].finds(c)
	shelves[1].make("PUT", "/api/v1/documents/more", `{"text":"stone"}`)
	shelves[1].documents++
	shelves[2].make("PUT", "/api/v1/documents/more", `{"text":"stone"}`)
	shelves[2].documents++
	shelves[1].finds(c)
	if got := indexesOf(t, c); got != (indexes{held: 1, built: 1}) {
		t.Errorf("after searches of one workspace, it has %+v", got)
	}
	if got := indexesOf(t, p.b); got != (indexes{}) {
		t.Errorf("the other has %+v", got)
	}
	for _, n := range shelves {
		n.finds(p.b)
		n.finds(c)
	}
	if got := indexesOf(t, c); got.held != len(shelves) || got.built != len(shelves) || got.dropped != 0 {
		t.Errorf("after searches of all, it has %+v", got)
	}
	status, _, text := operator(t, c).send("GET", "/api/v1/admin/cache-stats", "", false)
	var stats struct {
		SearchIndexes map[string]int64 `json:"searchIndexes"`
	}
	if err := json.Unmarshal(text, &stats); err != nil || status != http.StatusOK {
		t.Fatalf("cache-stats: %d, %v", status, err)
	}
	if n := stats.SearchIndexes; n["held"] != int64(len(shelves)) || n["built"] != n["held"] || n["building"] != 0 || n["diskBudgetBytes"] != 0 {
		t.Errorf("cache-stats have %v", n)
	}
}

// A process that is alone holds what is written, and after a restart only what its folder has.
func TestAProcessAloneHoldsWhatIsWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if apptest.DatabaseURL(t, dir) != "" {
		t.Skip("for the embedded engine")
	}
	var n *shelf
	t.Run("First", func(t *testing.T) {
		p := apptest.Start(t, apptest.With(func(c *config.Config) { c.Data = dir; generous(c) }))
		n = newShelf(t, p, "shelf", 2_000, 50)
		await.Until(t, "the index has all documents", func() bool {
			s := scrape(t, p).series
			return s[`keepsake_search_index_documents{state="live"}`] == 2_000 && s[`keepsake_search_indexes{state="building"}`] == 0
		})
		n.finds(p)
	})
	t.Run("Again", func(t *testing.T) {
		p := apptest.Start(t, apptest.With(func(c *config.Config) { c.Data = dir; generous(c) }))
		n.t = t
		n.finds(p)
		if got := indexesOf(t, p); got != (indexes{held: 1}) {
			t.Errorf("after a restart it has %+v", got)
		}
	})
	if err := os.RemoveAll(filepath.Join(dir, "index")); err != nil {
		t.Fatal(err)
	}
	t.Run("WithoutItsIndex", func(t *testing.T) {
		p := apptest.Start(t, apptest.With(func(c *config.Config) { c.Data = dir; generous(c) }))
		n.t = t
		if got := indexesOf(t, p); got != (indexes{}) {
			t.Errorf("before a search it has %+v", got)
		}
		n.finds(p)
		if got := indexesOf(t, p); got != (indexes{held: 1, built: 1}) {
			t.Errorf("after a search it has %+v", got)
		}
	})
}

// Beyond the budget, a process drops what was searched least recently, and a search of that is right again. Its two neighbours have
// no part in it.
func TestAProcessDropsIndexesBeyondItsBudget(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "indexes large enough to have files, at three processes")
	// One index is open, so that the one before it is flushed at once.
	one := func(c *config.Config) { c.Index.Open = 1 }
	p := startPair(t, apptest.Database(t), func(c *config.Config) { generous(c); one(c) })
	var shelves []*shelf
	for i := range 4 {
		shelves = append(shelves, newShelf(t, p.a, fmt.Sprint("shelf", i), 2_000, 60))
	}
	last := newShelf(t, p.a, "last", 1, 1) // whose search closes the index before it
	shelves[0].finds(p.a)
	last.finds(p.a)
	await.Until(t, "the index has files", func() bool { return len(foldersOf(t, p.a)) == 1 })
	size := int64(scrape(t, p.a).series[`keepsake_search_index_bytes{place="files"}`])
	c := startAnother(t, p, one, func(c *config.Config) { c.Search.DiskBudget = size * 5 / 2 })

	wantFolders := func(want ...int) {
		t.Helper()
		names := []string{}
		for _, i := range want {
			names = append(names, shelves[i].workspace)
		}
		slices.Sort(names)
		await.Until(t, fmt.Sprint("the indexes in the folder are those of ", want), func() bool { return slices.Equal(foldersOf(t, c), names) })
	}
	for _, i := range []int{0, 1, 0, 2} {
		shelves[i].finds(c)
	}
	last.finds(c)
	wantFolders(0, 2)
	shelves[1].on(p.b).make("PUT", "/api/v1/documents/more", `{"text":"stone"}`)
	shelves[1].documents++
	shelves[1].finds(c) // right after it was dropped
	last.finds(c)
	wantFolders(1, 2)
	if got := indexesOf(t, c); got.dropped != 2 || got.building != 0 {
		t.Errorf("it has %+v", got)
	}
	if got := foldersOf(t, p.a); !slices.Equal(got, []string{shelves[0].workspace}) {
		t.Errorf("the first process has %v", got)
	}
	if got := indexesOf(t, p.b); got.held != 0 {
		t.Errorf("the second process has %+v", got)
	}
}
