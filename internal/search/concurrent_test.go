package search_test

import (
	"fmt"
	"sync"
	"testing"

	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/store/sqlite/sqlitetest"
	"keepsake/internal/testing/testtier"
)

// Writers and readers of several workspaces, more than may be open at once, each find what they have just written.
func TestEveryoneFindsTheirOwnWriteAtOnce(t *testing.T) {
	t.Parallel()
	b := open(t, sqlitetest.Dir(t), func(o *search.IndexerOptions) { o.MaxOpen = 2 })
	var all sync.WaitGroup
	for client := range 8 {
		all.Go(func() {
			workspaceID := fmt.Sprintf("wsp_%d", client%4)
			for i := range testtier.Rounds(5, 15) {
				word := fmt.Sprintf("w%dx%d", client, i)
				f := document.Fields{Text: "something with " + word}
				if _, _, err := b.documents.Put(t.Context(), workspaceID, fmt.Sprint("d", client), f, document.Condition{}); err != nil {
					t.Errorf("put: %v", err)
					return
				}
				answer, err := b.search.Search(t.Context(), workspaceID, search.Request{Query: word, Highlight: true})
				if err != nil || answer.Total != 1 || len(answer.Results) != 1 {
					t.Errorf("client %d, write %d: found %+v, %v", client, i, answer, err)
					return
				}
			}
		})
	}
	all.Wait()
}
