package conformance

import (
	"net/http"
	"strconv"
	"time"
)

// rateLimitBodyChecks is §2.4. The body itself is checked on every 429 (everyanswer.go).
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
				if end := second.came.Add(until); end.Unix() < second.number("X-RateLimit-Reset")-2 || end.Unix() > second.number("X-RateLimit-Reset")+2 {
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

// perMinute gives a key a minute limit of its own.
func perMinute(n int) fields { return fields{"rateLimit": fields{"requestsPerMinute": n}} }

// sameWindow runs fn with a new key, and again with another one while fn says that the key's minute ended in between.
func (c *check) sameWindow(members fields, fn func(k key) bool) {
	for range 3 {
		if fn(c.newKey(members, "read")) {
			return
		}
	}
	c.stop("thrice in a row the minute of a new key ended within a few requests")
}

// resetsLater says whether b belongs to a later window than a.
func resetsLater(a, b *answer) bool {
	return b.number("X-RateLimit-Reset") > a.number("X-RateLimit-Reset")
}

// limitChecks is §8 and decisions.md, H. That the headers are on every answer is checked on every answer.
func limitChecks() []promise {
	const health = "/api/v1/health"
	return []promise{
		{"AKeysOwnLimitIsCountedDownAndTheNextIsRefused", func(c *check) {
			c.sameWindow(perMinute(4), func(k key) bool {
				var first *answer
				for i := range int64(5) {
					a := c.get(health).as(k.text).now().send()
					if first == nil {
						first = a
					}
					if resetsLater(first, a) || first.number("X-RateLimit-Key-Remaining") != 3 {
						return false
					}
					a.head("X-RateLimit-Limit", strconv.FormatInt(c.suite.limit, 10)).head("X-RateLimit-Key-Limit", "4")
					left := strconv.FormatInt(max(0, 3-i), 10)
					a.head("X-RateLimit-Key-Remaining", left).head("X-RateLimit-Remaining", left)
					if i < 4 {
						a.is(http.StatusOK)
					} else {
						a.fails(429, "rate_limit_exceeded")
					}
				}
				return true
			})
		}},
		{"WhoWaitsRetryAfterIsAdmitted", func(c *check) {
			k, refused := c.exhaustedSoon()
			seconds := refused.number("Retry-After")
			c.wait(time.Duration(seconds) * time.Second)
			if a := c.get(health).as(k.text).now().send(); a.status != http.StatusOK {
				a.broken("refused again after waiting the %d s of Retry-After", seconds)
			}
		}},
		{"RefusalsCostNothing", func(c *check) {
			limits := fields{"rateLimit": fields{"requestsPerMinute": 2}, "quota": fields{"daily": 100}}
			c.sameWindow(limits, func(k key) bool {
				var last *answer
				for range 2 {
					last = c.get(health).as(k.text).now().send()
				}
				spent := last.number("X-RateLimit-Daily-Remaining")
				for range 3 {
					a := c.get(health).as(k.text).now().send()
					if a.status != http.StatusTooManyRequests {
						return false
					}
					if a.number("X-RateLimit-Daily-Remaining") != spent {
						a.broken("a refused request spent the daily quota: %d left, then %d", spent, a.number("X-RateLimit-Daily-Remaining"))
					}
				}
				return true
			})
		}},
		{"AKeyWithoutALimitFollowsTheTier", func(c *check) {
			a := c.get(health).as(c.newKey(nil, "read").text).send().is(http.StatusOK)
			a.head("X-RateLimit-Key-Limit", strconv.FormatInt(c.suite.limit, 10))
		}},
		{"ADailyQuotaIsItsOwnPolicy", func(c *check) { c.quota("daily", "daily_quota", untilTomorrow) }},
		{"AMonthlyQuotaIsItsOwnPolicy", func(c *check) { c.quota("monthly", "monthly_quota", untilNextMonth) }},
		{"OfTwoExhaustedBudgetsTheOneThatEndsLastIsTold", func(c *check) {
			k := c.newKey(fields{"rateLimit": fields{"requestsPerMinute": 1}, "quota": fields{"daily": 1, "monthly": 1}}, "read")
			c.get(health).as(k.text).send().is(http.StatusOK)
			a := c.get(health).as(k.text).now().send().fails(429, "rate_limit_exceeded")
			if time.Now().UTC().AddDate(0, 0, 1).Day() != 1 { // on a month's last day, day and month end together
				a.has(fields{"details.policy": "monthly_quota"})
			}
		}},
		{"ABadRequestIsChargedLikeAGoodOne", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 50}}, "read")
			before := c.get(health).as(k.text).send().number("X-RateLimit-Daily-Remaining")
			c.get("/api/v1/search").as(k.text).send().fails(400, "validation_error")
			c.put(docsPath+"/x").as(k.text).json(fields{}).send().fails(403, "insufficient_scope")
			after := c.get(health).as(k.text).send()
			if spent := before - after.number("X-RateLimit-Daily-Remaining"); spent != 3 {
				after.broken("a 400, a 403 and a 200 spent %d requests, want 3", spent)
			}
		}},
		{"WhatIsFreeSpendsNothing", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 50}}, "read")
			before := c.get(health).as(k.text).send().number("X-RateLimit-Daily-Remaining")
			c.call(http.MethodOptions, health).as(k.text).send().is(http.StatusNoContent)
			c.get("/openapi.json").as(k.text).send().is(http.StatusOK)
			c.get("/api/v1/nothing-here").as(k.text).send().is(http.StatusNotFound)
			c.delete(health).as(k.text).send().is(http.StatusMethodNotAllowed)
			after := c.get(health).as(k.text).send()
			if spent := before - after.number("X-RateLimit-Daily-Remaining"); spent != 1 {
				after.broken("OPTIONS, openapi.json, a 404, a 405 and one call spent %d requests of the key, want 1", spent)
			}
		}},
		{"AValidKeyIsRecognisedOn404And405", func(c *check) {
			limit := strconv.FormatInt(c.suite.limit, 10)
			c.get("/api/v1/nothing-here").send().is(404).head("X-RateLimit-Limit", limit).head("X-RateLimit-Key-Limit", limit)
			c.delete(health).send().is(405).head("X-RateLimit-Limit", limit)
		}},
		{"OfParallelRequestsExactlyTheLimitPasses", func(c *check) { c.parallel(20, 60) }},
		{"ACallerWithoutAKeyHasItsAddressesBudget", func(c *check) {
			a := c.get(health).anonymous().send().is(401)
			b := c.get(health).anonymous().send().is(401)
			if !resetsLater(a, b) && b.number("X-RateLimit-Remaining") >= a.number("X-RateLimit-Remaining") {
				b.broken("a 401 did not spend the address's budget: %d left, then %d", a.number("X-RateLimit-Remaining"), b.number("X-RateLimit-Remaining"))
			}
			for _, name := range []string{"X-RateLimit-Key-Limit", "X-RateLimit-Key-Remaining"} {
				b.head(name, "")
			}
		}},
		{"ASpentAddressGets429InPlaceOf401And404And405", func(c *check) { c.spendAddress() }},
		{"ATiersLimitIsItsOwnPolicy", func(c *check) { c.spendTier() }},
	}
}

func untilTomorrow(now time.Time) time.Duration {
	return time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC).Sub(now)
}

func untilNextMonth(now time.Time) time.Duration {
	return time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Sub(now)
}

// quota spends a quota of two requests and looks at what the third is told.
func (c *check) quota(name, policy string, left func(time.Time) time.Duration) {
	header := map[string]string{"daily": "X-RateLimit-Daily-Remaining", "monthly": "X-RateLimit-Monthly-Remaining"}[name]
	k := c.newKey(fields{"quota": fields{name: 2}}, "read")
	for _, remaining := range []string{"1", "0"} {
		c.get("/api/v1/health").as(k.text).send().is(http.StatusOK).head(header, remaining)
	}
	a := c.get("/api/v1/health").as(k.text).now().send().fails(429, "rate_limit_exceeded")
	a.has(fields{"details.policy": policy}).head(header, "0")
	if a.number("X-RateLimit-Remaining") == 0 {
		a.broken("the minute budget is not used up, but X-RateLimit-Remaining says so")
	}
	want := left(a.came.UTC())
	if off := (time.Duration(a.integer("resetTimeMs"))*time.Millisecond - want).Abs(); off > 3*time.Second {
		a.broken("resetTimeMs is %s away from the end of the UTC period", off)
	}
}

// exhaustedSoon makes keys until one's window ends within 8 s, and spends its limit of one.
func (c *check) exhaustedSoon() (key, *answer) {
	for range 20 {
		k := c.newKey(perMinute(1), "read")
		c.get("/api/v1/health").as(k.text).now().send()
		a := c.get("/api/v1/health").as(k.text).now().send()
		if a.status == http.StatusTooManyRequests && a.number("Retry-After") <= 8 {
			return k, a
		}
		c.delete(k.path()).send()
	}
	k := c.newKey(perMinute(1), "read")
	c.get("/api/v1/health").as(k.text).now().send()
	a := c.get("/api/v1/health").as(k.text).now().send()
	a.is(http.StatusTooManyRequests)
	return k, a
}

// parallel sends more requests at once than a key's limit.
func (c *check) parallel(limit, send int) {
	c.sameWindow(perMinute(limit), func(k key) bool {
		answers := make(chan *answer, send)
		for range send {
			go func() {
				a, err := c.get("/api/v1/health").as(k.text).once(c.ctx)
				if err != nil {
					a = nil
				}
				answers <- a
			}()
		}
		passed, ends := 0, map[int64]bool{}
		for range send {
			a := <-answers
			if a == nil {
				c.stop("one of %d parallel requests had no answer", send)
			}
			ends[a.number("X-RateLimit-Reset")] = true
			if a.status == http.StatusOK {
				passed++
			}
		}
		if len(ends) > 1 {
			return false
		}
		if passed != limit {
			c.broken("%d of %d parallel requests passed a limit of %d", passed, send, limit)
		}
		return true
	})
}

// spendAddress spends the budget of callers without a credential, from an address of its own where the target is on
// this machine.
func (c *check) spendAddress() {
	const most = 200
	if !c.suite.door.move() {
		c.skip("would use up the budget of this machine's address; runs against a loopback address")
	}
	c.finally(func() { c.suite.door.move() })
	a := c.get("/api/v1/health").anonymous().now().send()
	if a.number("X-RateLimit-Limit") > most {
		c.skip("the tier anonymous has more than 200 requests a minute")
	}
	for range most + 1 {
		if a.status == http.StatusTooManyRequests {
			break
		}
		a = c.get("/api/v1/health").anonymous().now().send()
	}
	a.fails(429, "rate_limit_exceeded").has(fields{"details.policy": "anonymous"})
	c.get("/api/v1/nothing-here").anonymous().now().send().fails(429, "rate_limit_exceeded")
	c.delete("/api/v1/health").anonymous().now().send().fails(429, "rate_limit_exceeded")
	c.get("/api/v1/health").as(c.strangersKey()).now().send().fails(429, "rate_limit_exceeded")
	c.get("/api/v1/health").now().send().is(http.StatusOK)
	c.call(http.MethodOptions, "/api/v1/health").anonymous().now().send().is(http.StatusNoContent)
}

// spendTier spends the minute of the key's workspace where that is small. What follows waits for the next one.
func (c *check) spendTier() {
	const most = 300
	if c.suite.limit > most {
		c.skip("the key's tier has more than 300 requests a minute")
	}
	for range 3 {
		var a *answer
		for range c.suite.limit + 1 {
			a = c.get("/api/v1/health").now().send()
		}
		if a.status == http.StatusTooManyRequests {
			a.has(fields{"details.policy": "tier_minute"}).head("X-RateLimit-Remaining", "0")
			return
		}
	}
	c.stop("thrice a minute ended before its %d requests were spent", c.suite.limit)
}
