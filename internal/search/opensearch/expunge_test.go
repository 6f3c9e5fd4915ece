package opensearch_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/search/opensearch"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

// One deleted document among many: OpenSearch itself would keep it in its files.
func TestADeletedWordLeavesTheFiles(t *testing.T) {
	t.Parallel()
	node := enginetest.StartOpenSearch(t)
	s := newSite(t, node.URL)
	for n := range 500 {
		s.source.put(fmt.Sprint("d", n), fmt.Sprintf("a text about number%d", n))
	}
	s.source.put("kept", "the word is quodlibetical")
	s.source.put("secret", "the word is xylocarpous")
	s.source.put("replaced", "the word is zygomorphic")
	var hours atomic.Int64
	s.now = func() time.Time { return time.Now().Add(time.Duration(hours.Load()) * time.Hour) }
	f, _ := s.follower(s.url)
	s.same("before")
	s.do("POST", "/_flush?force=true", "")
	for _, word := range []string{"xylocarpous", "zygomorphic"} {
		if !inFiles(t, node.Dir, word) {
			t.Fatalf("%s is in no file before it is deleted", word)
		}
	}
	s.do("PUT", "/"+s.index()+","+s.index()+".words/_settings", `{"index.soft_deletes.retention_lease.period":"1s"}`)
	s.source.remove("secret")
	s.source.put("replaced", "now others")
	s.same("after")
	await.Until(t, "the words are in no file", func() bool {
		hours.Add(1)
		f.Notify(workspace)
		return !inFiles(t, node.Dir, "xylocarpous") && !inFiles(t, node.Dir, "zygomorphic")
	})
	if !inFiles(t, node.Dir, "quodlibetical") {
		t.Error("another word left, too")
	}
	s.same("at the end")
	s.until("it is healthy", f, func(p opensearch.Progress) bool { return p.State == opensearch.Healthy })

	// Two days later, nothing says any more that the document was deleted.
	documents, _ := s.ready.Alias(workspace)
	await.Until(t, "the rest of the deleted document is gone", func() bool {
		hours.Add(24)
		f.Notify(workspace)
		return strings.Contains(string(s.do("POST", "/"+documents+"/_count", `{"query":{"exists":{"field":"gone"}}}`)), `"count":0`)
	})
	s.same("two days later")
}

func inFiles(t *testing.T, dir, word string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // a file that was deleted meanwhile
		}
		if data, err := os.ReadFile(path); err == nil && bytes.Contains(data, []byte(word)) {
			found = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
