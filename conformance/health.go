package conformance

import (
	"net/http"
	"time"
)

// healthChecks checks §2.2.
func healthChecks() []promise {
	const path = "/api/v1/health"
	return []promise{
		{"AWorkingServiceIsHealthy", func(c *check) {
			a := c.get(path).send().is(http.StatusOK)
			a.has(fields{"status": "healthy", "version": "1"}).shape(map[string]string{"timestamp": "time"})
			a.head("X-API-Version", "1").head("Content-Type", "application/json").head("Cache-Control", "no-store")
			date, err := http.ParseTime(a.header.Get("Date"))
			if err != nil {
				c.stop("header Date is %q", a.header.Get("Date"))
			}
			if off := a.moment("timestamp").Sub(date.Add(c.suite.moved())).Abs(); off > 2*time.Second+a.came.Sub(a.sent) {
				a.broken("timestamp and Date are %s apart", off)
			}
		}},
		{"TheTimestampIsOfThisRequest", func(c *check) {
			first := c.get(path).send().is(http.StatusOK).moment("timestamp")
			c.wait(20 * time.Millisecond)
			a := c.get(path).send().is(http.StatusOK)
			if !a.moment("timestamp").After(first) {
				a.broken("the timestamp did not move in 20 ms")
			}
		}},
		{"ItNeedsAKey", func(c *check) {
			c.get(path).anonymous().send().fails(401, "missing_credentials")
		}},
		{"AnyKeyWillDo", func(c *check) {
			c.get(path).as(c.newKey(nil, "memory:write").text).send().is(http.StatusOK)
		}},
		{"ItTakesNoParameters", func(c *check) {
			c.get(path+"?verbose=1").send().fails(400, "validation_error", "verbose", "unknown")
		}},
		{"HEADAnswersAsGETWithoutABody", func(c *check) {
			a := c.call(http.MethodHead, path).send().is(http.StatusOK)
			a.head("X-API-Version", "1").head("Content-Type", "application/json")
		}},
	}
}
