package fairshare

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackgroundWorkWaitsForTasks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		task := hold(t, s, "a")
		var began time.Time
		done := make(chan error, 1)
		work := func() { done <- s.Background(t.Context(), func() error { began = time.Now(); return nil }) }
		start := time.Now()
		go work()
		synctest.Wait()
		if !began.IsZero() {
			t.Error("it began while a task had the slot")
		}
		task.Release()
		if err := <-done; err != nil || !began.Equal(start) {
			t.Errorf("after the task it began %v later: %v", began.Sub(start), err)
		}

		if err := task.Step(Block); err != nil {
			t.Fatal(err)
		}
		go work()
		if err := <-done; err != nil || began.Sub(start) != Patience {
			t.Errorf("beside a long task it began after %v: %v", began.Sub(start), err)
		}
		task.Release()
		if len(s.idle) != 0 {
			t.Errorf("%d waiters are left", len(s.idle))
		}
	})
}

func TestBackgroundWorkLeavesAProcessor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(2)
		var mu sync.Mutex
		at, most, ended := 0, 0, 0
		change := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			at += by
			most = max(most, at)
		}
		for range 10 {
			go func() {
				_ = s.Background(t.Context(), func() error {
					change(1)
					time.Sleep(time.Second)
					change(-1)
					return nil
				})
				mu.Lock()
				ended++
				mu.Unlock()
			}()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if most != 2 || ended != 10 {
			t.Errorf("%d pieces ran at once, %d of 10 ended", most, ended)
		}
	})
}

func TestBackgroundWorkEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		task := hold(t, s, "a")
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- s.Background(ctx, func() error { t.Error("it began"); return nil }) }()
		}
		synctest.Wait()
		cancel()
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
		}
		task.Release()
		if err := s.Background(t.Context(), func() error { return errWork }); !errors.Is(err, errWork) {
			t.Errorf("got %v, want the error of the work", err)
		}
	})
}

var errWork = errors.New("the work fails")
