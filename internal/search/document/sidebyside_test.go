package document_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"keepsake/internal/search/document"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) {
	testtier.Checks(30) // a case writes to a real database
	enginetest.Main(m)
}

// Two processes import into the same workspaces, replace each other's documents, and write and delete single documents at
// the same time. There is no deadlock, no change is lost, and the numbers have no gaps.
func TestProcessesWriteSideBySide(t *testing.T) {
	t.Parallel()
	url := enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return postgres.Migrate(ctx, postgres.Options{URL: url})
	})
	lines, puts := testtier.Rounds(150, 600), testtier.Rounds(6, 10) // puts of each writer; the last one stays
	limit := int64(lines + 100)
	var stores []*store.Store
	var all sync.WaitGroup
	workspaces := []string{"wsp_a", "wsp_b"}
	for process := range 2 {
		engine, err := postgres.Open(t.Context(), postgres.Options{
			URL:     url, // and on a busy machine a crowd may wait for long
			Connect: time.Minute, Acquire: time.Minute, Lock: time.Minute, Commit: time.Minute, Answer: time.Minute,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { engine.Close() })
		s := store.New(engine)
		stores = append(stores, s)
		service := document.NewService(document.Options{
			Store: s.Documents, Units: s, Together: true, Now: time.Now, Max: func(string) *int64 { return new(int64(limit)) },
			MaxBytes: func(string) *int64 { return nil },
			Changed:  func(string, int64) {}, Stored: func(string, []*document.Document, int64) {}, NewID: func() string { panic("ids are given") },
		})
		for w := range workspaces {
			// The workspaces in one order here and in the other there.
			id := workspaces[(w+process)%2]
			all.Go(func() {
				imported, err := service.Import(t.Context(), id, linesOf(lines, process), document.ImportOptions{})
				if err != nil || imported.Failed != 0 {
					t.Errorf("import into %s: %+v, %v", id, imported, err)
				}
			})
			for n := range 8 {
				all.Go(func() {
					for i := range puts {
						name := fmt.Sprintf("s%d-%d", process, n)
						_, _, err := service.Put(t.Context(), id, name, document.Fields{Text: fmt.Sprint(i), Tags: []string{fmt.Sprint("t", i%3)}}, document.Condition{})
						if err == nil && i%4 == 3 {
							err = service.Delete(t.Context(), id, name, nil)
						}
						if err != nil {
							t.Errorf("write %s: %v", name, err)
						}
					}
				})
			}
		}
	}
	all.Wait()
	for _, id := range workspaces {
		list, err := stores[0].Documents.ListDocuments(t.Context(), id, document.Filter{Limit: 10_000})
		if err != nil || len(list) != lines+16 {
			t.Errorf("%s: %d documents, %v, want %d", id, len(list), err, lines+16)
		}
		last, err := stores[1].Documents.DocumentState(t.Context(), id)
		want := int64(2 * (lines + 8*(puts+puts/4))) // each import, and the puts and deletes of eight
		if err != nil || last.Change != want {
			t.Errorf("%s: the last change is %d, %v, want %d", id, last.Change, err, want)
		}
		changes, _, err := stores[0].Documents.FollowDocuments(t.Context(), id, document.Following{Limit: 10_000})
		if err != nil || len(changes) != len(list) {
			t.Errorf("%s: %d changes stand, %v, want %d", id, len(changes), err, len(list))
		}
		if rest, err := stores[0].Documents.PutDocument(t.Context(), id, &document.Document{ID: "more"}, document.Put{Max: new(int64(lines + 16))}); err == nil {
			t.Errorf("%s: the count of documents is wrong: one more fits (%v)", id, rest)
		}
	}
}

// linesOf are n lines, the same ids in each process and another order.
func linesOf(n, process int) document.Lines {
	i := 0
	return func() (document.Line, bool, error) {
		if i == n {
			return document.Line{}, false, nil
		}
		i++
		at := i
		if process == 1 {
			at = n + 1 - i
		}
		return document.Line{Number: i, ID: fmt.Sprint("d", at), Fields: document.Fields{
			Text: fmt.Sprint("of process ", process), Tags: []string{fmt.Sprint("p", process), "x"},
		}}, true, nil
	}
}
