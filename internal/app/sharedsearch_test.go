package app_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
	"keepsake/internal/testing/testtier"
)

// found are the ids that a search gives.
func (n *tenant) found(q string) []string {
	n.t.Helper()
	ids := []string{}
	for _, r := range n.make("GET", "/api/v1/search?limit=100&q="+url.QueryEscape(q), "")["results"].([]any) {
		ids = append(ids, r.(map[string]any)["id"].(string))
	}
	slices.Sort(ids)
	return ids
}

// What was written at one process is found at the other by the next search, with many writing and deleting at both.
func TestWritesAreFoundByTheOtherProcess(t *testing.T) {
	t.Parallel()
	p := startPair(t, apptest.Database(t), generous)
	both := [2]*tenant{operator(t, p.a), operator(t, p.b)}
	var all sync.WaitGroup
	const writers = 6
	each := testtier.Rounds(4, 12)
	for w := range writers {
		all.Go(func() {
			for i := range each {
				here, there := both[(w+i)%2], both[(w+i+1)%2]
				id := fmt.Sprintf("w%d-%d", w, i)
				word := fmt.Sprintf("word%dx%d", w, i)
				here.make("PUT", "/api/v1/documents/"+id, `{"title":"`+word+`","text":"common stone"}`)
				if got := there.found(word); !slices.Equal(got, []string{id}) {
					t.Errorf("%s: the other process found %v", id, got)
				}
				if i%3 == 0 {
					there.want(false, 204, "", "DELETE", "/api/v1/documents/"+id, "")
					if got := here.found(word); len(got) != 0 {
						t.Errorf("%s was deleted at the other process, and %v is found", id, got)
					}
				}
			}
		})
	}
	all.Wait()
	a, b := both[0].found("stone"), both[1].found("stone")
	want := writers * (each - (each+2)/3) // every third one was deleted
	if len(a) != want || !slices.Equal(a, b) {
		t.Errorf("%d and %d documents are found, want %d", len(a), len(b), want)
	}
}

// startAnother starts one more process on the pair's database.
func startAnother(t *testing.T, p *pair, change ...func(*config.Config)) *apptest.Running {
	t.Helper()
	dir := t.TempDir()
	key, err := os.ReadFile(filepath.Join(p.a.Config.Data, "master.key"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "master.key"), key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := apptest.Start(t, apptest.With(func(c *config.Config) {
		c.DatabaseURL, c.Data = p.url, dir
		generous(c)
		for _, fn := range change {
			fn(c)
		}
	}))
	c.Key, c.Workspace = p.a.Key, p.a.Workspace
	return c
}
