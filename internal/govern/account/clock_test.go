package account_test

import (
	"context"
	"sync"
	"time"

	"keepsake/internal/govern/account"
)

// guesses is a GuessStore with a clock that a test can stop.
type guesses struct {
	account.GuessStore
	clock *stopped // nil for the clock of the store
}

func (g *guesses) Guesses(ctx context.Context, names []account.GuessName) (time.Time, [][]byte, error) {
	now, states, err := g.GuessStore.Guesses(ctx, names)
	return g.read(now), states, err
}

func (g *guesses) ChangeGuesses(ctx context.Context, names []account.GuessName, change func(time.Time, [][]byte) ([]account.GuessState, error)) error {
	return g.GuessStore.ChangeGuesses(ctx, names, func(now time.Time, states [][]byte) ([]account.GuessState, error) {
		return change(g.read(now), states)
	})
}

func (g *guesses) read(now time.Time) time.Time {
	if g.clock == nil {
		return now
	}
	return g.clock.time()
}

// stopped is the clock of two offices. It moves only when the test moves it. Each move wakes every sleeper.
type stopped struct {
	mu     sync.Mutex
	now    time.Time
	sleeps int64
	moved  chan struct{} // closed and replaced when the clock moves
}

// stopClock has the members of two offices count and sleep by a clock that stands still.
func stopClock(two [2]*office) *stopped {
	w := &stopped{now: time.Now(), moved: make(chan struct{})}
	for _, o := range two {
		o.guesses.clock = w
		o.SetSleep(w.sleep)
	}
	return w
}

func (w *stopped) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *stopped) move(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
	w.sleeps = 0 // a sleeper whose time has not come counts itself again
	close(w.moved)
	w.moved = make(chan struct{})
}

// asleep is the number of guessers that sleep.
func (w *stopped) asleep() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sleeps
}

func (w *stopped) sleep(ctx context.Context, d time.Duration) error {
	end := w.time().Add(d)
	for {
		w.mu.Lock()
		if !w.now.Before(end) {
			w.mu.Unlock()
			return nil
		}
		w.sleeps++
		moved := w.moved
		w.mu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
