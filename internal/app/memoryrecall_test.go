package app_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"keepsake/internal/app/apptest"
	"keepsake/internal/app/config"
)

// The cache of recall indexes keeps to its setting, and cache-stats tells how it is doing.
func TestRecallIndexesKeepToTheirSetting(t *testing.T) {
	t.Parallel()
	p := apptest.Start(t, apptest.With(func(c *config.Config) { c.Memory.Cache = 1 }))
	n := &tenant{t: t, base: p.URL, key: p.Key}
	stats := func() (s struct{ Entries, Capacity, Bytes, Hits, Misses, Evictions int64 }) {
		t.Helper()
		_, _, body := n.send("GET", "/api/v1/admin/cache-stats", "", false)
		var all struct{ Caches []json.RawMessage }
		if err := json.Unmarshal(body, &all); err != nil {
			t.Fatal(err)
		}
		for _, cache := range all.Caches {
			var name struct{ Name string }
			if json.Unmarshal(cache, &name) == nil && name.Name == "recallIndexes" {
				if err := json.Unmarshal(cache, &s); err != nil {
					t.Fatal(err)
				}
				return s
			}
		}
		t.Fatalf("cache-stats says nothing of recallIndexes: %s", body)
		return s
	}
	// Twelve people with some 130 KB of index each do not fit into a megabyte.
	const people = 12
	for i := range people {
		text := ""
		for j := range 1500 {
			text += fmt.Sprintf(" word%dof%d", j, i)
		}
		n.remember(fmt.Sprint("person-", i), text)
	}
	for i := range people {
		for range 2 {
			status, _, body := n.send("POST", "/api/v1/memories/recall", fmt.Sprintf(`{"subjectId":"person-%d","query":"word7of%d"}`, i, i), false)
			var found struct{ Results []any }
			if err := json.Unmarshal(body, &found); err != nil || status != 200 || len(found.Results) != 1 {
				t.Fatalf("person %d: %d %.200s, %v", i, status, body, err)
			}
		}
	}
	s := stats()
	if s.Capacity != 1<<20 || s.Bytes > s.Capacity || s.Hits != people || s.Misses != people || s.Evictions == 0 || s.Entries+s.Evictions != people {
		t.Errorf("the cache has %+v", s)
	}
}
