package document_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/search/document"
	"keepsake/internal/testing/await"
)

// gate holds units back until it is opened, and counts them.
type gate struct {
	unit.Runner
	mu    sync.Mutex
	began int
	open  chan struct{}

	waiting atomic.Int64 // writes that wait for the unit under way
}

// waits returns a context of a write that counts in waiting once it is in the queue.
func (g *gate) waits(ctx context.Context) context.Context {
	return await.Context(ctx, func() { g.waiting.Add(1) })
}

func (g *gate) Run(ctx context.Context, fn func(context.Context) error) error {
	if !unit.Running(ctx) {
		g.mu.Lock()
		g.began++
		g.mu.Unlock()
		<-g.open
	}
	return g.Runner.Run(ctx, fn)
}

func (g *gate) units() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.began
}

// crowd is a service whose units wait at a gate, with one write there already.
func crowd(t *testing.T, change func(*document.Options)) (b *bundle, g *gate, all *sync.WaitGroup) {
	t.Helper()
	g = &gate{open: make(chan struct{})}
	b = setupWith(t, func(o *document.Options) {
		g.Runner = o.Units
		o.Units, o.Together = g, true
		if change != nil {
			change(o)
		}
	})
	all = &sync.WaitGroup{}
	all.Go(func() {
		if _, _, err := b.Put(t.Context(), workspace, "first", document.Fields{Text: "text"}, document.Condition{}); err != nil {
			t.Error(err)
		}
	})
	await.Until(t, "the first write is under way", func() bool { return g.units() == 1 })
	return b, g, all
}

func TestWritersOfAWorkspaceShareAUnit(t *testing.T) {
	t.Parallel()
	b, g, all := crowd(t, nil)
	const writers = 40
	var mu sync.Mutex
	created, conflicts := 0, 0
	var changes []int64
	for i := range writers {
		all.Go(func() { // each twice: one of the two is a conflict
			d, err := b.Create(g.waits(t.Context()), workspace, fmt.Sprint("d", i/2), document.Fields{Text: fmt.Sprint("text ", i)})
			mu.Lock()
			defer mu.Unlock()
			if p, ok := problem.As(err); ok && p.Kind == problem.Conflict {
				conflicts++
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			created++
			changes = append(changes, d.Change)
			got, err := b.Document(t.Context(), workspace, d.ID)
			if err != nil || got.Text != d.Text || got.Revision != 1 {
				t.Errorf("%s: read %+v, %v; written %+v", d.ID, got, err, d)
			}
		})
	}
	await.Until(t, "the writers wait", func() bool { return g.waiting.Load() == writers })
	close(g.open)
	all.Wait()
	slices.Sort(changes)
	if created != writers/2 || conflicts != writers/2 || changes[0] != 2 || changes[len(changes)-1] != writers/2+1 {
		t.Errorf("%d created with the changes %v, %d conflicts", created, changes, conflicts)
	}
	if g.units() != 2 || !slices.Equal(b.changes, []int64{1, writers/2 + 1}) {
		t.Errorf("%d units, which told of the changes %v", g.units(), b.changes)
	}
}

func TestWhoLeavesTheLineIsNotWritten(t *testing.T) {
	t.Parallel()
	b, g, all := crowd(t, nil)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	all.Go(func() {
		defer close(left)
		_, _, err := b.Put(g.waits(ctx), workspace, "gone", document.Fields{Text: "text"}, document.Condition{})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v", err)
		}
	})
	all.Go(func() {
		if _, _, err := b.Put(g.waits(t.Context()), workspace, "stays", document.Fields{Text: "text"}, document.Condition{}); err != nil {
			t.Error(err)
		}
	})
	await.Until(t, "the writers wait", func() bool { return g.waiting.Load() == 2 })
	leave()
	<-left
	close(g.open)
	all.Wait()
	for id, there := range map[string]bool{"first": true, "stays": true, "gone": false} {
		if _, err := b.Document(t.Context(), workspace, id); (err == nil) != there {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// faulty is a store that fails for selected documents.
type faulty struct {
	document.Store
	fail func(writes []document.Write) error
}

func (f *faulty) PutDocuments(ctx context.Context, workspaceID string, writes []document.Write) ([]document.Written, error) {
	if err := f.fail(writes); err != nil {
		return nil, err
	}
	return f.Store.PutDocuments(ctx, workspaceID, writes)
}

func TestOneThatFailsFailsAlone(t *testing.T) {
	t.Parallel()
	away := problem.NotAvailable("The database cannot be reached.", time.Second)
	bad := func(writes []document.Write) bool {
		return slices.ContainsFunc(writes, func(w document.Write) bool { return w.Document.ID == "bad" })
	}
	for name, c := range map[string]struct {
		fail  func(writes []document.Write) error
		fails int
	}{
		"AnErrorOfOne": {func(w []document.Write) error {
			if bad(w) {
				return errors.New("a text that cannot be kept")
			}
			return nil
		}, 1},
		"APanicOfOne": {func(w []document.Write) error {
			if bad(w) {
				panic("of the test")
			}
			return nil
		}, 1},
		"TheEngineIsAway": {func(w []document.Write) error {
			if bad(w) {
				return away
			}
			return nil
		}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, g, all := crowd(t, func(o *document.Options) { o.Store = &faulty{o.Store, c.fail} })
			var mu sync.Mutex
			fails := 0
			for _, id := range []string{"a", "b", "bad", "c", "d"} {
				all.Go(func() {
					if _, _, err := b.Put(g.waits(t.Context()), workspace, id, document.Fields{Text: "text"}, document.Condition{}); err != nil {
						mu.Lock()
						defer mu.Unlock()
						fails++
					}
				})
			}
			await.Until(t, "the writers wait", func() bool { return g.waiting.Load() == 5 })
			close(g.open)
			all.Wait()
			list, err := b.store.Documents.ListDocuments(t.Context(), workspace, document.Filter{Limit: 10})
			if err != nil || fails != c.fails || len(list) != 1+5-c.fails {
				t.Errorf("%d failed, %d documents are there, %v; want %d to fail", fails, len(list), err, c.fails)
			}
		})
	}
}
