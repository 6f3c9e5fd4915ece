package apptest

import (
	"sync/atomic"
	"time"
)

// FakeClock is a clock that only a test moves. Several programs can share it.
type FakeClock struct{ at atomic.Pointer[time.Time] }

// NewClock returns a clock with the given time.
func NewClock(at time.Time) *FakeClock {
	c := &FakeClock{}
	c.Set(at)
	return c
}

// Now returns the clock's time.
func (c *FakeClock) Now() time.Time { return *c.at.Load() }

// Set sets the clock's time.
func (c *FakeClock) Set(at time.Time) { c.at.Store(&at) }

// Advance moves the clock forward.
func (c *FakeClock) Advance(by time.Duration) { c.Set(c.Now().Add(by)) }
