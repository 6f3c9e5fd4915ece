package conformance

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// check is one promise while it is tried. Its methods record what is broken; must-methods also end the check.
type check struct {
	ctx   context.Context
	suite *suite
	found []string
	skips string
	after []func()
}

// ended is what stop panics with; run recovers it.
type ended struct{}

// run tries one promise.
func (s *suite) run(ctx context.Context, section string, p promise) (r Result) {
	c := &check{ctx: ctx, suite: s}
	started := time.Now()
	func() {
		defer func() {
			if v := recover(); v != nil {
				if _, ok := v.(ended); !ok {
					panic(v)
				}
			}
		}()
		p.try(c)
	}()
	for i := len(c.after) - 1; i >= 0; i-- {
		c.after[i]()
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

// broken records a broken promise and goes on.
func (c *check) broken(format string, args ...any) {
	const enough = 12 // more of the same helps nobody
	if len(c.found) < enough {
		c.found = append(c.found, fmt.Sprintf(format, args...))
	}
}

// stop records a broken promise without which the rest makes no sense.
func (c *check) stop(format string, args ...any) {
	c.broken(format, args...)
	panic(ended{})
}

// skip ends the check by name. What was found broken before still counts.
func (c *check) skip(reason string) {
	c.skips = reason
	panic(ended{})
}

// finally runs fn when the check ends, however it ends.
func (c *check) finally(fn func()) { c.after = append(c.after, fn) }

// wait sleeps, unless the run ends.
func (c *check) wait(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.ctx.Done():
		c.stop("the run ended while waiting %s: %v", d.Round(time.Millisecond), c.ctx.Err())
	}
}

// eventually tries fn until it says true or the time is over.
func (c *check) eventually(within time.Duration, fn func() bool) bool {
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

// get begins a GET of a path below the target's URL. The other methods alike.
func (c *check) get(path string) *call     { return c.call(http.MethodGet, path) }
func (c *check) post(path string) *call    { return c.call(http.MethodPost, path) }
func (c *check) put(path string) *call     { return c.call(http.MethodPut, path) }
func (c *check) patch(path string) *call   { return c.call(http.MethodPatch, path) }
func (c *check) delete(path string) *call  { return c.call(http.MethodDelete, path) }
func (c *check) call(m, path string) *call { return newCall(c, m, c.suite.base, path) }
