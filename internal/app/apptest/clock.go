package apptest

import (
	"sync/atomic"
	"time"
)

// FakeClock is a clock that stands still until a test moves it. Several programs may share one.
type FakeClock struct{ at atomic.Pointer[time.Time] }

// NewClock makes a clock that stands at a moment.
func NewClock(at time.Time) *FakeClock {
	c := &FakeClock{}
	c.Set(at)
	return c
}

// Now is the moment at which the clock stands.
func (c *FakeClock) Now() time.Time { return *c.at.Load() }

// Set moves the clock to a moment.
func (c *FakeClock) Set(at time.Time) { c.at.Store(&at) }

// Advance moves the clock on.
func (c *FakeClock) Advance(by time.Duration) { c.Set(c.Now().Add(by)) }
