package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// trafficChecks checks the traffic check before a sunset (docs/spec/versions.md). They release two more versions.
func trafficChecks() []promise {
	return []promise{
		{"TheTrafficCheckIsThirtyDaysBeforeTheSunset", func(c *check) {
			c.released()
			path, announcedAt := c.nextVersion(nil), c.suite.now()
			a := c.get(path).send().is(http.StatusOK).has(fields{"state": "deprecated"})
			a.shape(map[string]string{"sunsetAt": "time", "trafficCheckAt": "time", "checks": "array"})
			if at := a.moment("sunsetAt"); at.Before(addMonths(announcedAt, 6).Add(-time.Second)) {
				a.broken("the sunset is less than six months after the announcement")
			}
			c.checkedBefore(a)
			later := a.moment("sunsetAt").AddDate(0, 0, 40).Truncate(time.Second)
			c.patch(path).json(fields{"sunsetAt": later.Format(time.RFC3339)}).send().is(http.StatusOK)
			a = c.get(path).send().is(http.StatusOK)
			if !a.moment("sunsetAt").Equal(later) {
				a.broken("want the later date")
			}
			c.checkedBefore(a)
		}},
		{"ASunsetDateMovesWhenTrafficRemains", func(c *check) {
			if c.suite.target.Advance != nil {
				c.skip("the server looks for due checks each minute of real time, and this run moves the clock instead of waiting")
			}
			if c.suite.limit <= smallTier {
				c.skip("the tier is too small for the traffic of a version")
			}
			c.released()
			current := c.suite.live[len(c.suite.live)-1]
			const calls = 300
			for range calls {
				c.get("/api/v" + current + "/developer/whoami").send().is(http.StatusOK)
			}
			c.wait(3 * time.Second) // usage is stored within 2 s
			sunsetAt := c.suite.now().AddDate(0, 0, 2).UTC().Truncate(time.Second)
			path := c.nextVersion(fields{
				"announcedAt": c.suite.now().AddDate(0, -7, 0).UTC().Format(time.RFC3339), "sunsetAt": sunsetAt.Format(time.RFC3339),
			})
			var a *answer
			if !c.eventually(90*time.Second, func() bool {
				a = c.get(path).send().is(http.StatusOK)
				return len(a.list("checks")) > 0
			}) {
				a.broken("a sunset in two days is not checked within 90 s")
				return
			}
			c.concluded(a, sunsetAt, calls)
			if at, err := http.ParseTime(c.get("/api/v" + current + "/health").send().header.Get("Sunset")); err != nil || !at.Equal(a.moment("sunsetAt")) {
				c.broken("header Sunset is not the date of the check")
			}
			c.wait(2 * time.Second)
			if again := c.get(path).send().is(http.StatusOK); len(again.list("checks")) != 1 {
				again.broken("a date is checked more than once")
			}
		}},
	}
}

// nextVersion releases the version after the current one and returns the path of the record of the one that it replaces.
func (c *check) nextVersion(members fields) (path string) {
	current := c.suite.live[len(c.suite.live)-1]
	n, err := strconv.Atoi(current)
	if err != nil {
		c.stop("the suite's own mistake: %q is no version", current)
	}
	body := fields{"version": n + 1}
	for name, v := range members {
		body[name] = v
	}
	if a := c.post("/api/v" + current + versionsPath + "/release").json(body).send(); a.status/100 != 2 {
		c.stop("want a 2xx for the release of version %d\n  %s", n+1, a.describe())
	}
	next := strconv.Itoa(n + 1)
	c.suite.live = append(slices.Clone(c.suite.live), next)
	return "/api/v" + next + versionsPath + "/" + current
}

// checkedBefore wants the next check 30 days before the sunset.
func (c *check) checkedBefore(a *answer) {
	if want, got := a.moment("sunsetAt").AddDate(0, 0, -30), a.moment("trafficCheckAt"); !got.Equal(want) {
		a.broken("the traffic check is at %s, want %s", got, want)
	}
	if n := len(a.list("checks")); n != 0 {
		a.broken("there were %d checks before that date", n)
	}
}

// concluded wants a stored check whose verdict follows from its inputs and moved the date, after so many requests to the version.
func (c *check) concluded(a *answer, sunsetAt time.Time, calls int64) {
	const first = "checks[0]."
	a.shape(map[string]string{
		first + "checkedAt": "time", first + "newSunsetAt": "time", first + "traffic.from": "time", first + "traffic.days": "integer",
		first + "traffic.keys": "integer", first + "traffic.activeKeys": "integer", first + "thresholds.days": "integer",
	})
	requests, all := a.integer(first+"traffic.requests"), a.integer(first+"traffic.allRequests")
	if requests < calls || all < requests {
		a.broken("the check counted %d of %d requests, want at least %d", requests, all, calls)
	}
	percent := a.integer(first + "thresholds.percent")
	if requests*100 < percent*all {
		c.skip(fmt.Sprintf("%d of %d requests are less than %d %%", requests, all, percent))
	}
	a.has(fields{first + "verdict": "extended", "state": "deprecated"})
	later := addMonths(sunsetAt, 3)
	for field, want := range map[string]time.Time{first + "sunsetAt": sunsetAt, first + "newSunsetAt": later, "sunsetAt": later} {
		if got := a.moment(field); !got.Equal(want) {
			a.broken("%s is %s, want %s", field, got, want)
		}
	}
}

// addMonths adds calendar months. If that month has no such day, its last day counts.
func addMonths(t time.Time, months int) time.Time {
	moved := t.AddDate(0, months, 0)
	if moved.Day() != t.Day() {
		return moved.AddDate(0, 0, -moved.Day())
	}
	return moved
}
