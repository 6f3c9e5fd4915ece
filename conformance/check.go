package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// check is a running check. Its methods record what is wrong; must-methods also end the check.
type check struct {
	ctx    context.Context
	suite  *suite
	door   *door
	beside bool // other checks run at the same time
	found  []string
	skips  string
	after  []func()
}

// ended is the value with which stop panics and which until recovers.
type ended struct{}

// try runs one check.
func (s *suite) try(c *check, section string, p promise) (r Result) {
	if c.door == nil {
		c.door = s.way.door()
		defer func() { c.door.close() }()
	}
	started := time.Now()
	c.until(func() { p.try(c) })
	for _, fn := range slices.Backward(c.after) {
		c.until(fn)
	}
	r = Result{Section: section, Name: p.name, Outcome: Passed, Took: time.Since(started)}
	switch {
	case len(c.found) > 0:
		r.Outcome, r.Found = Failed, c.found
	case c.skips != "":
		r.Outcome, r.Reason = Skipped, c.skips
	}
	return r
}

// until runs fn, which can end the check.
func (c *check) until(fn func()) {
	defer func() {
		if v := recover(); v != nil {
			if _, ok := v.(ended); !ok {
				panic(v)
			}
		}
	}()
	fn()
}

// broken records a broken promise. The check goes on.
func (c *check) broken(format string, args ...any) {
	const enough = 12 // more would not help
	if len(c.found) < enough {
		c.found = append(c.found, fmt.Sprintf(format, args...))
	}
}

// stop records a broken promise and ends the check.
func (c *check) stop(format string, args ...any) {
	c.broken(format, args...)
	panic(ended{})
}

// skip ends the check and reports it as skipped, unless a broken promise was recorded before.
func (c *check) skip(reason string) {
	c.skips = reason
	panic(ended{})
}

// finally runs fn when the check ends, for any reason.
func (c *check) finally(fn func()) { c.after = append(c.after, fn) }

// wait sleeps until d is over or the run ends. Other checks run meanwhile.
func (c *check) wait(d time.Duration) {
	if c.beside {
		<-c.suite.running
		defer func() { c.suite.running <- struct{}{} }()
	}
	select {
	case <-time.After(d):
	case <-c.ctx.Done():
		c.stop("the run ended while waiting %s: %v", d.Round(time.Millisecond), c.ctx.Err())
	}
}

// pass waits until d has passed on the deployment's clock.
func (c *check) pass(d time.Duration) {
	if c.suite.target.Advance == nil {
		c.wait(d)
		return
	}
	if c.beside {
		c.stop("the suite's own mistake: this check needs time to pass and is not in the table lasting")
	}
	c.suite.advance(d)
}

// eventually calls fn until it returns true or the time is over. If the suite moves the deployment's clock, there is no
// deadline, except for a run that hangs.
func (c *check) eventually(within time.Duration, fn func() bool) bool {
	if c.suite.target.Advance != nil {
		within = 2 * time.Minute
	}
	for end := time.Now().Add(within); ; {
		if fn() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
		c.wait(50 * time.Millisecond)
	}
}

// get returns a GET of a path below the target's URL. The other methods are alike.
func (c *check) get(path string) *call    { return c.call(http.MethodGet, path) }
func (c *check) post(path string) *call   { return c.call(http.MethodPost, path) }
func (c *check) put(path string) *call    { return c.call(http.MethodPut, path) }
func (c *check) patch(path string) *call  { return c.call(http.MethodPatch, path) }
func (c *check) delete(path string) *call { return c.call(http.MethodDelete, path) }

// call is not inlined: copies in more than a thousand places would add 0.4 MB to the program.
//
//go:noinline
func (c *check) call(m, path string) *call { return newCall(c, m, c.suite.base, path) }
