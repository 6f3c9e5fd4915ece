package conformance

import (
	"net/http"
	"strings"
	"time"
)

// refreshChecks checks POST /api/auth/refresh (docs/spec/login.md).
func refreshChecks() []promise {
	return []promise{
		{"ARefreshGivesANewPair", func(c *check) {
			p := c.signedIn("member")
			a := c.refresh(p.refresh).send().is(http.StatusOK)
			a.has(fields{"tokenType": "Bearer", "expiresIn": 900, "refreshExpiresIn": 2592000, "user.id": p.id})
			if a.text("refreshToken") == p.refresh || a.text("accessToken") == p.token {
				a.broken("a refresh gave a token that was there before")
			}
			c.get(profilePath).bearer(a.text("accessToken")).send().is(http.StatusOK)
			c.refresh(a.text("refreshToken")).send().is(http.StatusOK)
		}},
		{"TheImmediateParentReturnsTheSameChild", func(c *check) {
			p := c.signedIn("member")
			first, second := c.refresh(p.refresh).send().is(http.StatusOK), c.refresh(p.refresh).send().is(http.StatusOK)
			if first.text("refreshToken") != second.text("refreshToken") {
				second.broken("a token used twice within 10 s gave two children")
			}
			c.refresh(second.text("refreshToken")).send().is(http.StatusOK)
		}},
		{"AReusedTokenEndsItsWholeFamily", func(c *check) {
			p := c.signedIn("member")
			bystander := p
			bystander.signIn(c)
			child := c.refresh(p.refresh).send().is(http.StatusOK)
			grandchild := c.refresh(child.text("refreshToken")).send().is(http.StatusOK)
			c.get(profilePath).bearer(grandchild.text("accessToken")).send().is(http.StatusOK)
			c.refresh(p.refresh).send().fails(401, "token_reused")
			for _, a := range []*answer{child, grandchild} {
				c.get(profilePath).bearer(a.text("accessToken")).send().fails(401, "invalid_token")
				if got := c.refresh(a.text("refreshToken")).send().is(http.StatusUnauthorized); !oneOf("token_reused|invalid_token", got.text("error")) {
					got.broken("a descendant of a reused token is neither token_reused nor invalid_token")
				}
			}
			c.get(profilePath).bearer(p.token).send().fails(401, "invalid_token")
			c.get(profilePath).bearer(bystander.token).send().is(http.StatusOK)
			c.refresh(bystander.refresh).send().is(http.StatusOK)
		}},
		{"AfterTenSecondsTheParentIsReuseToo", func(c *check) {
			p := c.signedIn("member")
			child := c.refresh(p.refresh).send().is(http.StatusOK)
			c.wait(10*time.Second + 500*time.Millisecond) // a deployment can use its database's clock, which the suite does not move
			c.refresh(p.refresh).send().fails(401, "token_reused")
			c.get(profilePath).bearer(child.text("accessToken")).send().fails(401, "invalid_token")
			c.refresh(child.text("refreshToken")).send().is(http.StatusUnauthorized)
		}},
		{"OfTwentyParallelRefreshesOneFamilyLives", func(c *check) {
			c.door.move() // twenty at once are most of an address's minute limit
			p := c.signedIn("member")
			children := map[string]bool{}
			for _, a := range c.atOnce(20, func() *call { return c.refresh(p.refresh) }) {
				children[a.is(http.StatusOK).text("refreshToken")] = true
			}
			if len(children) != 1 {
				c.stop("twenty parallel refreshes gave %d children, want one", len(children))
			}
			for child := range children {
				c.refresh(child).send().is(http.StatusOK)
			}
		}},
		{"OneTokenIsNotTheOther", func(c *check) {
			p := c.signedIn("member")
			c.refresh(p.token).send().fails(401, "invalid_token")
			c.get(profilePath).bearer(p.refresh).send().fails(401, "invalid_token")
			c.get("/api/v1/health").as(p.refresh).send().fails(401, "invalid_api_key")
		}},
		{"WhatIsNoRefreshTokenIsRefused", func(c *check) {
			p := c.signedIn("member")
			first := c.refresh("x").send().fails(401, "invalid_token").withoutMoments()
			for _, text := range []string{"", "x", p.refresh[:len(p.refresh)-1], p.refresh + "A", strings.ToUpper(p.refresh), flip(p.refresh, len(p.refresh)-2), strings.Repeat("r", 60_000), "' OR 1=1--", "\x00"} {
				a := c.refresh(text).send()
				if a.status == http.StatusBadRequest && strings.TrimSpace(text) == "" {
					continue
				}
				if a.fails(401, "invalid_token"); a.withoutMoments() != first {
					a.broken("two tokens that never were have different answers")
				}
			}
			c.post(refreshPath).anonymous().json(fields{}).send().fails(400, "validation_error", "refreshToken", "required")
			c.post(refreshPath).anonymous().json(fields{"refreshToken": 1}).send().fails(400, "validation_error", "refreshToken", "type")
			c.refresh(p.refresh).send().is(http.StatusOK)
		}},
		{"AnIdempotencyKeyChangesNothingHere", func(c *check) {
			p := c.signedIn("member")
			once := c.suite.name()
			a := c.refresh(p.refresh).with("Idempotency-Key", once).send().is(http.StatusOK).head("Idempotent-Replayed", "")
			if a.text("refreshToken") == "" {
				a.broken("want a refreshToken")
			}
		}},
	}
}
