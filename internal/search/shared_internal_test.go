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
		q := newReads(time.Minute, source)
		var all sync.WaitGroup
		ask := func(want int64) {
			all.Go(func() {
				if got, err := q.read(t.Context(), "wsp_a"); got != want || err != nil {
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
		if asked.Load() != 2 {
			t.Errorf("asked %d times, want twice", asked.Load())
		}
	})
}

func TestAQuestionOutlivesWhoAskedIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := func(ctx context.Context, _ string) (int64, error) {
			select {
			case <-time.After(time.Second):
				return 7, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		q := newReads(time.Minute, source)
		gone, leave := context.WithCancel(t.Context())
		go func() {
			if _, err := q.read(gone, "wsp_a"); !errors.Is(err, context.Canceled) {
				t.Errorf("the one who left got %v", err)
			}
		}()
		synctest.Wait()
		leave()
		if got, err := q.read(t.Context(), "wsp_a"); got != 7 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if _, err := newReads(time.Millisecond, source).read(t.Context(), "wsp_b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a source that is slow: got %v", err)
		}
	})
}
