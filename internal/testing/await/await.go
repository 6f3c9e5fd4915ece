// Package await is how tests wait for something that happens in another goroutine or process. A test waits for a state or
// an event, never for a time to pass. The give-up time below only ends a test that hangs; it is not a bound on anything.
package await

import (
	"context"
	"testing"
	"time"
)

// giveUp is far longer than anything takes on a busy machine.
const giveUp = 2 * time.Minute

// Until returns as soon as holds reports true. It fails t, naming what it waited for, if that never happens.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	pause := time.Millisecond
	for end := time.Now().Add(giveUp); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("gave up waiting: %s", what)
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
}

// Receive returns the next value of ch, or the zero value once ch is closed. It fails t, naming what it waited for, if
// neither happens.
func Receive[T any](t testing.TB, what string, ch <-chan T) T {
	t.Helper()
	timer := time.NewTimer(giveUp)
	defer timer.Stop()
	select {
	case v := <-ch:
		return v
	case <-timer.C:
		t.Fatalf("gave up waiting: %s", what)
		panic("not reached")
	}
}

// Context returns a context that calls begins each time an operation begins to wait for its end, as in a select with Done.
// What such an operation has put into a queue is there by then.
func Context(ctx context.Context, begins func()) context.Context { return watched{ctx, begins} }

type watched struct {
	context.Context
	begins func()
}

func (w watched) Done() <-chan struct{} {
	w.begins()
	return w.Context.Done()
}
