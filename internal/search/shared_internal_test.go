package search

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestQuestionsThatWaitAreAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int64
		release := make(chan struct{})
		source := func(context.Context, string) (int64, error) {
			n := asked.Add(1)
			<-release
			return n, nil
		}
		q := questions{open: map[string]*question{}}
		var all sync.WaitGroup
		ask := func(want int64) {
			all.Go(func() {
				if got, err := q.ask(t.Context(), "wsp_a", time.Minute, source); got != want || err != nil {
					t.Errorf("got the answer to question %d (%v), want %d", got, err, want)
				}
			})
			synctest.Wait()
		}
		ask(1)
		for range 50 { // the question on its way may have been answered before they came
			ask(2)
		}
		close(release)
		all.Wait()
		synctest.Wait()
		if asked.Load() != 2 || len(q.open) != 0 {
			t.Errorf("asked %d times, %d questions are left", asked.Load(), len(q.open))
		}
	})
}

func TestAQuestionOutlivesWhoAskedIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := questions{open: map[string]*question{}}
		source := func(ctx context.Context, _ string) (int64, error) {
			select {
			case <-time.After(time.Second):
				return 7, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		gone, leave := context.WithCancel(t.Context())
		go func() {
			if _, err := q.ask(gone, "wsp_a", time.Minute, source); !errors.Is(err, context.Canceled) {
				t.Errorf("the one who left got %v", err)
			}
		}()
		synctest.Wait()
		leave()
		if got, err := q.ask(t.Context(), "wsp_a", time.Minute, source); got != 7 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if _, err := q.ask(t.Context(), "wsp_b", time.Millisecond, source); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a source that is slow: got %v", err)
		}
	})
}
