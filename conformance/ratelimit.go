package conformance

import (
	"net/http"
	"time"
)

// rateLimitBodyChecks checks §2.4. everyanswer.go checks the body of every 429.
func rateLimitBodyChecks() []promise {
	return []promise{
		{"AnExhaustedKeyIsTold", func(c *check) {
			c.sameWindow(perMinute(1), func(k key) bool {
				first := c.get("/api/v1/health").as(k.text).now().send()
				second := c.get("/api/v1/health").as(k.text).now().send()
				if first.status != http.StatusOK || resetsLater(first, second) {
					return false
				}
				second.fails(429, "rate_limit_exceeded").has(fields{"details.policy": "key_minute"})
				until := time.Duration(second.integer("resetTimeMs")) * time.Millisecond
				end := second.came.Add(until)
				if off := end.Sub(time.Unix(second.number("X-RateLimit-Reset"), 0)).Abs(); off > 2*time.Second+second.came.Sub(second.sent) {
					second.broken("resetTimeMs and X-RateLimit-Reset name different moments")
				}
				return true
			})
		}},
		{"ItComesAlsoToHEADAndPOST", func(c *check) {
			c.sameWindow(perMinute(1), func(k key) bool {
				c.get("/api/v1/health").as(k.text).now().send()
				head := c.call(http.MethodHead, "/api/v1/health").as(k.text).now().send()
				post := c.post("/api/v1/search").as(k.text).raw("text/plain", "}").now().send()
				if head.status == http.StatusOK || post.status == http.StatusUnsupportedMediaType {
					return false
				}
				if head.is(http.StatusTooManyRequests).number("Retry-After") < 1 {
					head.broken("a 429 to HEAD without Retry-After")
				}
				post.fails(429, "rate_limit_exceeded")
				return true
			})
		}},
	}
}

// perMinute returns the field that sets a key's own minute limit.
func perMinute(n int) fields { return fields{"rateLimit": fields{"requestsPerMinute": n}} }

// sameWindow runs fn with a new key, and again with another one as long as fn reports that the key's minute ended in between.
func (c *check) sameWindow(members fields, fn func(k key) bool) {
	const tries = 6
	for range tries {
		if fn(c.newKey(members, "read")) {
			return
		}
	}
	c.stop("%d times in a row the minute of a new key ended within a few requests", tries)
}

// resetsLater says whether b belongs to a later window than a.
func resetsLater(a, b *answer) bool {
	return b.number("X-RateLimit-Reset") > a.number("X-RateLimit-Reset")
}
