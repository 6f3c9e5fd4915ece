package recall_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
	"keepsake/internal/memory/recall"
)

// checked counts how often it is checked, and has ended from one check on.
type checked struct {
	context.Context
	checks int
	end    int // the check from which on it has ended; 0: it never ends
}

func (c *checked) Err() error {
	if c.checks++; c.end > 0 && c.checks >= c.end {
		return context.Canceled
	}
	return nil
}

// Each kind of search checks its context once for every block of steps, and the first check after its request has ended is
// the last thing it does.
func TestASearchEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	const memories, words = 2_000, 40
	x := recall.New(text.NewAnalyzer(), vectors.Builtin(), 0)
	for i := range memories {
		at := now.AddDate(0, 0, -i%700)
		x.Put(recall.Item{
			ID: fmt.Sprintf("m%04d", i), Text: fmt.Sprintf("%s harbour%dia", everyWord(words), i), Speaker: fmt.Sprintf("Speaker%d", i),
			SessionID: []string{"", "s1", "s2"}[i%3], OccurredAt: &at, CreatedAt: now.Add(time.Duration(i-memories) * time.Minute),
		})
	}
	ask := func(ctx context.Context, q recall.Query) (any, error) {
		var shares *fairshare.Scheduler
		task := shares.Start(ctx, "wsp_one")
		defer task.End()
		if q.Text == "" {
			ids, _, err := x.Newest(task, q)
			return ids, err
		}
		return x.Search(task, q)
	}
	for name, c := range map[string]struct {
		q     recall.Query
		steps int // that it takes at least
	}{
		"many words":     {recall.Query{Text: everyWord(words), Limit: 10}, 3 * words * memories},
		"similar words":  {recall.Query{Text: strings.Repeat("harbouria harboura ", 20) + "harbour0", Limit: 10}, 2 * memories},
		"many dates":     {recall.Query{Text: "w1 " + dates(), Limit: 10}, memories * 20},
		"explained":      {recall.Query{Text: everyWord(words), Limit: 200, Explain: true}, 3 * words * memories},
		"without a text": {recall.Query{Limit: 5}, memories},
	} {
		t.Run(name, func(t *testing.T) {
			c.q.Now = now
			all := &checked{Context: t.Context()}
			want, err := ask(all, c.q)
			if err != nil {
				t.Fatal(err)
			}
			if least := c.steps / fairshare.Block / 4; all.checks < least || all.checks == 0 && c.steps >= fairshare.Block {
				t.Errorf("the context was checked %d times in some %d blocks", all.checks, c.steps/fairshare.Block)
			}
			for end := 1; end <= all.checks; end += max(1, all.checks/10) {
				gone := &checked{Context: t.Context(), end: end}
				if _, err := ask(gone, c.q); !errors.Is(err, context.Canceled) || gone.checks != end {
					t.Errorf("ended at check %d of %d: %v after %d checks", end, all.checks, err, gone.checks)
				}
			}
			if again, err := ask(t.Context(), c.q); err != nil || !cmp.Equal(want, again) {
				t.Errorf("after searches that were cut off it finds something else, %v", err)
			}
		})
	}
}

// A search that waits for a slot holds the index, a writer waits for the index, and further searches wait for the writer:
// none of these has the slot that the first one waits for.
func TestSearchesAndWritesNeverWaitForEachOther(t *testing.T) {
	t.Parallel()
	const words, memories, searches = 40, 500, 8
	x := recall.New(text.NewAnalyzer(), vectors.Builtin(), 0)
	put := func(i int) {
		x.Put(recall.Item{ID: fmt.Sprintf("m%04d", i), Text: everyWord(words), SessionID: "s1", CreatedAt: now.Add(-time.Hour)})
	}
	for i := range memories {
		put(i)
	}
	shares := fairshare.New(1)
	var all sync.WaitGroup
	for i := range searches {
		all.Go(func() {
			task := shares.Start(t.Context(), fmt.Sprint("wsp_", i%3))
			defer task.End()
			for range 10 {
				if hits, err := x.Search(task, recall.Query{Text: everyWord(words), Limit: 5, Now: now}); err != nil || len(hits) != 5 {
					t.Errorf("found %d, %v", len(hits), err)
				}
			}
		})
	}
	all.Go(func() {
		for i := range memories {
			put(i)
		}
	})
	all.Wait()
}

func everyWord(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "w%d ", i)
	}
	return b.String()
}

func dates() string {
	var b strings.Builder
	for day := range 28 {
		for month := 1; month <= 12; month++ {
			fmt.Fprintf(&b, "2025-%02d-%02d ", month, day+1)
		}
	}
	return b.String()
}
