package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"keepsake/internal/store"
)

// witness records what an observer sees: "begin", "(" and ")" of transactions, and the first words of statements with an exclamation
// mark if they failed.
type witness struct {
	mu   sync.Mutex
	seen []string
	open int
}

func (w *witness) add(text string, open int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, text)
	w.open += open
}

func (w *witness) take() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.Join(w.seen, " ")
	w.seen = nil
	return text
}

type witnessKey struct{}

func (w *witness) observer() store.Observer {
	return store.Observer{
		Statement: func(ctx context.Context, database, text string) func(error) {
			verb := strings.Fields(text)[0]
			w.add(fmt.Sprintf("%s:%s:%v", database, verb, ctx.Value(witnessKey{}) != nil), 1)
			return func(err error) {
				if err != nil {
					w.add("failed", 0)
				}
				w.add("done", -1)
			}
		},
		Transaction: func(ctx context.Context, database string) (context.Context, func(error)) {
			w.add(database+"(", 1)
			return context.WithValue(ctx, witnessKey{}, true), func(err error) { w.add(fmt.Sprintf("%v)", err != nil), -1) }
		},
	}
}

func testWatch(t *testing.T, open func(t *testing.T) store.Engine) {
	t.Run("AnObserverSeesTransactionsAndTheirStatements", func(t *testing.T) {
		t.Parallel()
		w := &witness{}
		s := store.New(store.Observe(open(t), w.observer()))
		_, err := s.Events.Backlog(t.Context(), 1)
		noError(t, err)
		if got, want := w.take(), "main:SELECT:false done"; got != want {
			t.Errorf("a read outside a transaction: saw %q, want %q", got, want)
		}
		noError(t, s.Run(t.Context(), func(ctx context.Context) error {
			return s.Run(ctx, func(ctx context.Context) error { // joins the transaction
				_, err := s.Events.Backlog(ctx, 1)
				return err
			})
		}))
		if got, want := w.take(), "main( main:SELECT:true done false)"; got != want {
			t.Errorf("a read in a transaction: saw %q, want %q", got, want)
		}
		refused := errors.New("refused")
		if err := s.Run(t.Context(), func(context.Context) error { return refused }); !errors.Is(err, refused) {
			t.Errorf("got %v", err)
		}
		if got, want := w.take(), "main( true)"; got != want {
			t.Errorf("a failed transaction: saw %q, want %q", got, want)
		}
		newWorkspace(t, s, "wsp_a")
		if _, err := s.Events.ListWebhooks(t.Context(), "wsp_a", "", 10); err != nil {
			t.Fatal(err)
		}
		if w.open != 0 {
			t.Errorf("%d statements or transactions did not end: %s", w.open, w.take())
		}
	})
}
