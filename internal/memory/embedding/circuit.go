package embedding

import "time"

// circuit decides whether the endpoint is asked. After several failures in a row it pauses; after each pause, one request finds
// out whether the endpoint works again, and a further failure makes the next pause twice as long.
type circuit struct {
	tolerated int // failures in a row before the first pause
	failures  int // in a row
	until     time.Time
	trying    bool // the request after a pause is running
}

const (
	firstPause = time.Second
	maxPause   = time.Minute
	// maxRetryAfter is the longest pause that an endpoint can ask for.
	maxRetryAfter = time.Hour
)

// paused reports whether the endpoint is not asked now.
func (c *circuit) paused(now time.Time) bool {
	return c.failures > c.tolerated && (c.trying || now.Before(c.until))
}

// begin reports whether a request can begin. One of succeeded, failed and abandoned must follow.
func (c *circuit) begin(now time.Time) bool {
	if c.paused(now) {
		return false
	}
	c.trying = c.failures > c.tolerated
	return true
}

func (c *circuit) succeeded() { c.failures, c.trying = 0, false }

// abandoned ends a request that says nothing about the endpoint.
func (c *circuit) abandoned() { c.trying = false }

func (c *circuit) failed(now time.Time, retryAfter time.Duration) {
	c.failures, c.trying = c.failures+1, false
	pause := time.Duration(0)
	if n := c.failures - c.tolerated; n > 0 {
		pause = min(firstPause<<min(n-1, 10), maxPause)
	}
	if retryAfter > 0 {
		c.failures = max(c.failures, c.tolerated+1) // it says itself that it has enough
		pause = max(pause, min(retryAfter, maxRetryAfter))
	}
	c.until = now.Add(pause)
}
