package client

import (
	"net/http"
	"strconv"
	"time"
)

// RateLimits is what a response says about the limits of the caller.
type RateLimits struct {
	Limit            int64     // requests per minute of the tier
	Remaining        int64     // requests in this minute, by the lowest limit that applies
	ResetAt          time.Time // when this minute ends
	DailyRemaining   int64     // requests in the daily quota
	MonthlyRemaining int64     // requests in the monthly quota

	Key *KeyRateLimits // nil if the response was not to a valid API key
}

// KeyRateLimits is what a response says about the minute limit of the API key.
type KeyRateLimits struct {
	Limit     int64
	Remaining int64
}

// RateLimits returns the limits that the last response reported, also if it was an error. It is nil before the first response.
// If several calls run at once, it belongs to one of them.
func (c *Client) RateLimits() *RateLimits { return c.limits.Load() }

// rateLimitsOf returns the limits in the headers of a response, or nil if they are not there, as in a proxy's response.
func rateLimitsOf(h http.Header) *RateLimits {
	var missing bool
	number := func(name string) int64 {
		n, err := strconv.ParseInt(h.Get(name), 10, 64)
		missing = missing || err != nil
		return n
	}
	r := &RateLimits{
		Limit: number("X-RateLimit-Limit"), Remaining: number("X-RateLimit-Remaining"), ResetAt: time.Unix(number("X-RateLimit-Reset"), 0).UTC(),
		DailyRemaining: number("X-RateLimit-Daily-Remaining"), MonthlyRemaining: number("X-RateLimit-Monthly-Remaining"),
	}
	if missing {
		return nil
	}
	key := &KeyRateLimits{Limit: number("X-RateLimit-Key-Limit"), Remaining: number("X-RateLimit-Key-Remaining")}
	if !missing {
		r.Key = key
	}
	return r
}
