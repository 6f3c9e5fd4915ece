package search

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"keepsake/internal/document"
	"keepsake/internal/fairshare"
	"keepsake/internal/text"
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

// view of an index of documents with these texts.
func viewOf(t *testing.T, texts ...string) *view {
	t.Helper()
	var queue analysisQueue
	t.Cleanup(queue.close)
	index, err := openIndex(t.TempDir(), queue.get())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := index.close(); err != nil {
			t.Error(err)
		}
	})
	changes := make([]document.Change, len(texts))
	for i := range texts {
		id := fmt.Sprintf("d%05d", i)
		changes[i] = document.Change{Number: int64(i + 1), ID: id, Document: &document.Document{ID: id, Collection: "default", Text: texts[i], UpdatedAt: time.UnixMilli(int64(i))}}
	}
	if _, err := index.apply(text.NewAnalyzer(), changes); err != nil {
		t.Fatal(err)
	}
	v, err := index.view()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

// look searches a view.
func look(ctx context.Context, t *testing.T, v *view, r *Request) (*found, *readers, error) {
	t.Helper()
	s := &Service{}
	if r.Sort == "" {
		r.Sort = ByRelevance
	}
	q, err := parse(text.NewAnalyzer(), r.Query, r.Prefix)
	if err != nil {
		t.Fatal(err)
	}
	var shares *fairshare.Scheduler
	task := shares.Start(ctx, "wsp_one")
	defer task.Release()
	o := newReaders(ctx, task, v, q)
	found, err := s.find(o, q, r, nil)
	return found, o, err
}

func repeated(word string, n int) string { return strings.TrimSuffix(strings.Repeat(word+" ", n), " ") }

func TestEachDistinctTermIsReadOnce(t *testing.T) {
	t.Parallel()
	v := viewOf(t, "x y x", "y x", "x x x y", "z")
	for q, want := range map[string]int{
		"x":                               1,
		"x y z w":                         4,
		`"` + repeated("x", 32) + `"`:     1,
		`"x y" "y x" "x x y" "x y x y"`:   2,
		`"x y" x -"y x" -"x y y" -x y -w`: 3,
		`"x x" -"x x" "x" x`:              1,
	} {
		found, o, err := look(t.Context(), t, v, &Request{Query: q, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if o.opened != want*len(searchedFields) {
			t.Errorf("%s opened %d readers, want one for each of %d terms and %d fields", q, o.opened, want, len(searchedFields))
		}
		if strings.Contains(q, "x x x") && found.total != 0 {
			t.Errorf("%s found %d", q, found.total)
		}
	}
}

// Each kind of search checks its context once for every block of steps, and the first check after its request has ended is
// the last thing it does.
func TestASearchEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	const documents, words = 100, 500
	texts := make([]string, documents)
	for i := range texts {
		var b strings.Builder
		for j := range 200 {
			fmt.Fprintf(&b, "w%dx%d ", i, j)
		}
		texts[i] = b.String() + repeated("x", words)
	}
	v := viewOf(t, texts...)
	positions := documents * words
	for name, c := range map[string]struct {
		request Request
		steps   int // that it takes at least
		total   int64
	}{
		"a phrase":                 {Request{Query: `"` + repeated("x", 32) + `"`}, 3 * positions, documents},
		"an excluded phrase":       {Request{Query: `x -"` + repeated("x", 31) + ` y"`}, documents, documents},
		"phrases that nothing has": {Request{Query: `"x x w99x1"`}, 1, 0},
		"many words":               {Request{Query: "x w1x1 w1x2 w1x3 w1x4", Sort: OldestFirst}, documents, documents},
		"a beginning":              {Request{Query: "w", Prefix: true}, documents * 200, -1}, // not all beginnings are followed
		"everything else":          {Request{Query: "-w"}, documents, documents},
		"ties":                     {Request{Query: "-w", Limit: 1}, documents, documents},
	} {
		t.Run(name, func(t *testing.T) {
			c.request.Limit = max(c.request.Limit, 10)
			all := &checked{Context: t.Context()}
			found, _, err := look(all, t, v, &c.request)
			if err != nil || c.total >= 0 && found.total != c.total {
				t.Fatalf("found %+v, %v", found, err)
			}
			if least := c.steps / fairshare.Block; all.checks < least {
				t.Errorf("the context was checked %d times in at least %d blocks", all.checks, least)
			}
			for end := 1; end <= all.checks; end += max(1, all.checks/10) {
				gone := &checked{Context: t.Context(), end: end}
				if _, _, err := look(gone, t, v, &c.request); !errors.Is(err, context.Canceled) || gone.checks != end {
					t.Errorf("ended at check %d of %d: %v after %d checks", end, all.checks, err, gone.checks)
				}
			}
		})
	}
}
