package conformance

import (
	"net/http"
	"strconv"
	"time"
)

// limitChecks checks §8 and docs/spec/limits.md. everyanswer.go checks the headers of every response.
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
			c.pass(time.Duration(seconds) * time.Second)
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
			if c.suite.now().UTC().AddDate(0, 0, 1).Day() != 1 { // on the last day of a month, both quotas end together
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
			if a.number("X-RateLimit-Remaining") == 0 { // the next request has another address, or is in another minute
				a = c.get(health).anonymous().send().is(401)
			}
			b := c.get(health).anonymous().send().is(401)
			if !resetsLater(a, b) && b.number("X-RateLimit-Remaining") >= a.number("X-RateLimit-Remaining") {
				b.broken("a 401 did not spend the address's budget: %d left, then %d", a.number("X-RateLimit-Remaining"), b.number("X-RateLimit-Remaining"))
			}
			for _, name := range []string{"X-RateLimit-Key-Limit", "X-RateLimit-Key-Remaining"} {
				b.head(name, "")
			}
		}},
		{"ASpentAddressGets429InPlaceOf401And404And405", func(c *check) { c.spendAddress() }},
		{"ATiersCountOfKeysIsKept", func(c *check) { c.spendKeys() }},
		{"ATiersLimitIsItsOwnPolicy", func(c *check) { c.spendTier() }},
	}
}

func untilTomorrow(now time.Time) time.Duration {
	return time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC).Sub(now)
}

func untilNextMonth(now time.Time) time.Duration {
	return time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC).Sub(now)
}

// quota uses up a quota of two requests and checks the response to the third.
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
	if off := (time.Duration(a.integer("resetTimeMs"))*time.Millisecond - want).Abs(); off > 3*time.Second+a.came.Sub(a.sent) {
		a.broken("resetTimeMs is %s away from the end of the UTC period", off)
	}
}

// exhaustedSoon creates keys until the window of one ends within 8 s, and spends its limit of one request. If the suite moves
// the deployment's clock, it accepts any window.
func (c *check) exhaustedSoon() (key, *answer) {
	most := int64(8)
	if c.suite.target.Advance != nil {
		most = 60
	}
	for range 20 {
		k := c.newKey(perMinute(1), "read")
		c.get("/api/v1/health").as(k.text).now().send()
		a := c.get("/api/v1/health").as(k.text).now().send()
		if a.status == http.StatusTooManyRequests && a.number("Retry-After") <= most {
			return k, a
		}
		c.delete(k.path()).send()
	}
	k := c.newKey(perMinute(1), "read")
	a := c.get("/api/v1/health").as(k.text).now().send()
	for range 3 { // the minute can end in between
		if a = c.get("/api/v1/health").as(k.text).now().send(); a.status == http.StatusTooManyRequests {
			return k, a
		}
	}
	a.is(http.StatusTooManyRequests)
	return k, a
}

// parallel sends more requests at once than a key's limit.
func (c *check) parallel(limit, send int) {
	c.sameWindow(perMinute(limit), func(k key) bool {
		passed, ends := 0, map[int64]bool{}
		for _, a := range c.atOnce(send, func() *call { return c.get("/api/v1/health").as(k.text) }) {
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

// spendAddress spends the limit of callers without a credential, from its own address if the target is on this machine.
func (c *check) spendAddress() {
	const most = 200
	if !c.door.move() {
		c.skip("would use up the budget of this machine's address; runs against a loopback address")
	}
	c.finally(func() { c.door.move() })
	a := c.get("/api/v1/health").anonymous().now().send()
	if a.number("X-RateLimit-Limit") > most {
		c.skip("the tier anonymous has more than 200 requests a minute")
	}
	for tries := 1; ; tries++ {
		for range most + 1 {
			if a.status == http.StatusTooManyRequests {
				break
			}
			a = c.get("/api/v1/health").anonymous().now().send()
		}
		refused := []*answer{
			a, c.get("/api/v1/nothing-here").anonymous().now().send(), c.delete("/api/v1/health").anonymous().now().send(),
			c.get("/api/v1/health").as(c.strangersKey()).now().send(),
		}
		last := refused[len(refused)-1]
		if tries < 3 && resetsLater(a, last) {
			a = last
			continue // the minute ended in between
		}
		for _, r := range refused {
			r.fails(429, "rate_limit_exceeded").has(fields{"details.policy": "anonymous"})
		}
		break
	}
	c.get("/api/v1/health").now().send().is(http.StatusOK)
	c.call(http.MethodOptions, "/api/v1/health").anonymous().now().send().is(http.StatusNoContent)
	// Sign-in has its own limit of the same size.
	login := c.login("unknown-"+c.suite.mark+"@example.org", "not the password").now().send().is(http.StatusUnauthorized)
	login.head("X-RateLimit-Limit", a.header.Get("X-RateLimit-Limit"))
	if left, most := login.number("X-RateLimit-Remaining"), login.number("X-RateLimit-Limit"); left != most-1 {
		login.broken("the first login from an address that is spent elsewhere leaves %d of %d", left, most)
	}
}

// spendKeys creates keys up to the tier's limit, if that is small.
func (c *check) spendKeys() {
	if c.suite.limit > smallTier {
		c.skip("the key's tier is no small one")
	}
	create := func() *answer {
		a := c.post(keysPath).json(fields{"name": "conformance " + c.suite.mark, "scopes": []string{"read"}}).send()
		if id := a.text("id"); id != "" {
			c.removeKey(id)
		}
		return a
	}
	var ids []string
	for range 30 {
		a := create()
		if a.status == http.StatusCreated {
			ids = append(ids, a.text("id"))
			continue
		}
		a.fails(409, "limit_reached").has(fields{"details.limit": "keys"})
		if len(ids) == 0 {
			c.skip("the workspace has all the keys its tier allows")
		}
		c.delete(keysPath + "/" + ids[0]).send().is(http.StatusNoContent)
		create().is(http.StatusCreated) // revoked keys do not count
		return
	}
	c.skip("the key's tier has more than 30 keys")
}

// smallTier is the highest minute limit of a tier that the suite spends.
const smallTier = 300

// spendTier spends the minute limit of the key's workspace, if it is small. Later requests wait for the next minute. Another
// key spends one request, so that the workspace has none left while the target's key has one. If the minutes of the two
// begin at different times, the key can also have none left.
func (c *check) spendTier() {
	if c.suite.limit > smallTier {
		c.skip("the key's tier is no small one")
	}
	for range 3 {
		other := c.newKey(nil, "read")
		a := c.get("/api/v1/health").as(other.text).send()
		c.removeNow(other.path())
		for range c.suite.limit {
			a = c.get("/api/v1/health").now().send()
		}
		if a.status != http.StatusTooManyRequests {
			continue // the minute ended in between
		}
		a.head("X-RateLimit-Remaining", "0")
		if policy := a.text("details.policy"); policy != "tier_minute" && a.number("X-RateLimit-Key-Remaining") > 0 {
			a.broken("details.policy is %q, want tier_minute: the key has requests left", policy)
		}
		return
	}
	c.stop("thrice a minute ended before its %d requests were spent", c.suite.limit)
}
