package conformance

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// profileShape is the record of docs/spec/login.md.
var profileShape = map[string]string{
	"id": "string", "email": "string", "name": "string|null", "role": "string", "scopes": "array", "workspace": "object",
	"workspace.id": "string", "workspace.name": "string", "workspace.tier": "string", "createdAt": "time", "lastLoginAt": "time|null",
	"revision": "integer",
}

// loginChecks checks §4 and §5.2 for users (docs/spec/login.md).
func loginChecks() []promise {
	return []promise{
		{"LoginReturnsABearerToken", func(c *check) {
			p := c.newUser(fields{"role": "developer", "name": "conformance Ada"})
			a := p.signIn(c)
			a.has(fields{"tokenType": "Bearer", "expiresIn": 900, "refreshExpiresIn": 2592000})
			a.has(fields{"user.id": p.id, "user.email": p.email, "user.role": "developer", "user.name": "conformance Ada"})
			profile := c.get(profilePath).bearer(p.token).send().is(http.StatusOK)
			if user, _ := a.at("user"); !same(user, profile.value) {
				a.broken("login's user is not the record of /profile: %s", show(profile.value))
			}
			if p.token == p.refresh || strings.Contains(string(a.body), p.password) {
				a.broken("the answer shows the password, or one token for both")
			}
		}},
		{"WrongEmailAndWrongPasswordAreTheSame401", func(c *check) {
			p, off := c.newUser(nil), c.newUser(nil)
			c.patch(off.path()).json(fields{"disabled": true}).send().is(http.StatusOK)
			wrong := c.login(p.email, p.password+"x").send().fails(401, "invalid_credentials")
			for name, a := range map[string]*answer{
				"an unknown email":  c.login(c.suite.name()+"@example.org", p.password).send(),
				"a disabled user":   c.login(off.email, off.password).send(),
				"a text for email":  c.login("no-address", p.password).send(),
				"a long password":   c.login(p.email, strings.Repeat("p", 100_000)).send(),
				"a short password":  c.login(p.email, "p").send(),
				"a very long email": c.login(strings.Repeat("e", 3000)+"@example.org", p.password).send(),
			} {
				if a.fails(401, "invalid_credentials"); a.withoutMoments() != wrong.withoutMoments() {
					a.broken("%s is answered otherwise than a wrong password: %s", name, wrong.withoutMoments())
				}
				if got, want := headerNames(a), headerNames(wrong); !slices.Equal(got, want) {
					a.broken("%s has the headers %v, a wrong password %v", name, got, want)
				}
				for _, header := range []string{"WWW-Authenticate", "X-RateLimit-Limit", "Content-Length"} {
					a.head(header, wrong.header.Get(header))
				}
			}
		}},
		{"AnEmailIsFolded", func(c *check) {
			p := c.newUser(fields{"email": "  " + strings.ToUpper(c.suite.name()) + "@Example.ORG "})
			p.made.has(fields{"email": strings.ToLower(strings.TrimSpace(p.made.text("email")))})
			for _, written := range []string{p.email, strings.ToUpper(p.email), "\t" + p.email + " \n"} {
				c.login(written, p.password).send().is(http.StatusOK).has(fields{"user.id": p.id})
			}
			c.post(usersPath).json(fields{"email": strings.ToUpper(p.email)}).send().fails(409, "conflict")
		}},
		{"TheCredentialsAreReadFromTheBodyAlone", func(c *check) {
			for _, bad := range []struct {
				body         any
				field, issue string
			}{
				{fields{"password": "a long password"}, "email", "required"},
				{fields{"email": "a@example.org"}, "password", "required"},
				{fields{"email": nil, "password": "x"}, "email", "required|type"},
				{fields{"email": 7, "password": "x"}, "email", "type"},
				{fields{"email": "a@example.org", "password": []string{"x"}}, "password", "type"},
				{fields{"email": "a@example.org", "password": "x", "remember": true}, "remember", "unknown"},
				{fields{"Email": "a@example.org", "password": "x"}, "Email", "unknown"},
				{[]string{"a"}, "body", "type|format"},
			} {
				c.post(loginPath).anonymous().json(bad.body).send().fails(400, "validation_error", bad.field, bad.issue)
			}
			c.post(loginPath).anonymous().raw("application/x-www-form-urlencoded", "email=a&password=b").send().fails(415, "unsupported_media_type")
			c.post(loginPath+"?email=a@example.org&password=x").anonymous().json(fields{"email": "a@example.org", "password": "x"}).send().fails(400, "validation_error", "email|password", "unknown")
			c.get(loginPath).anonymous().send().fails(405, "method_not_allowed")
			c.post(loginPath).anonymous().raw("application/json", `{"email":"a@example.org","password":"`+strings.Repeat("p", 2<<20)+`"}`).send().fails(413, "payload_too_large")
		}},
		{"ALoginIsChargedToTheUsersWorkspaceAndAFailureToTheAddress", func(c *check) {
			p := c.newUser(nil)
			good := p.signIn(c)
			good.head("X-RateLimit-Limit", strconv.FormatInt(c.suite.limit, 10))
			refreshed := c.refresh(p.refresh).send().is(http.StatusOK)
			refreshed.head("X-RateLimit-Limit", strconv.FormatInt(c.suite.limit, 10))
			if !resetsLater(good, refreshed) && refreshed.number("X-RateLimit-Daily-Remaining") >= good.number("X-RateLimit-Daily-Remaining") {
				refreshed.broken("a refresh did not spend the workspace's day")
			}
			anonymous := c.get(profilePath).anonymous().send().header.Get("X-RateLimit-Limit")
			c.login(p.email, "another password").send().is(401).head("X-RateLimit-Limit", anonymous)
			c.refresh("kprt_"+strings.Repeat("x", 43)).send().is(401).head("X-RateLimit-Limit", anonymous)
		}},
		{"ALoginIsThrottled", func(c *check) {
			p := c.newUser(nil)
			known := c.failTenTimes(p.email)
			known.fails(429, "rate_limit_exceeded").has(fields{"details.policy": "login"})
			if wait := known.number("Retry-After"); wait < 1 || wait > 900 {
				known.broken("Retry-After is %d s, want at most the 900 s of the throttle", wait)
			}
			if !c.door.move() {
				return // ten more failures would leave too few for the other checks
			}
			c.failTenTimes(c.suite.name()+"@example.org").fails(429, "rate_limit_exceeded").has(fields{"details.policy": "login"})
			c.door.move()
			p.signIn(c) // from another address: the account is not locked
		}},
		{"EveryWayToWriteAnEmailIsCountedAsOne", func(c *check) {
			email := c.suite.name() + "@example.org"
			ways := []string{email, strings.ToUpper(email), " " + email, email + "\t", "C" + email[1:]}
			c.freshAddress()
			var last *answer
			for i := range 11 {
				last = c.login(ways[i%len(ways)], "a wrong password").now().send()
			}
			last.fails(429, "rate_limit_exceeded").has(fields{"details.policy": "login"})
		}},
		{"ThirtyFailuresAreEnoughFromOneAddress", func(c *check) {
			c.freshAddress()
			c.finally(func() { c.door.move() })
			var last *answer
			failed := -1
			for ; failed < 30 && (last == nil || last.status != http.StatusTooManyRequests); failed++ {
				last = c.login(c.suite.name()+"@example.org", "a wrong password").now().send()
			}
			last.fails(429, "rate_limit_exceeded")
			if failed < 30 { // the anonymous tier was set to fewer than its 30 requests a minute
				last.has(fields{"details.policy": "anonymous"})
				return
			}
			// The minute limit is used up, too. The response names the limit that ends last.
			last.has(fields{"details.policy": "login"})
			if wait := last.number("Retry-After"); wait <= 60 || wait > 900 {
				last.broken("Retry-After is %d s, want what is left of the 900 s of the throttle", wait)
			}
		}},
		{"ManyAddressesFormALineAndARightPasswordStillWorks", func(c *check) {
			p := c.newUser(nil)
			for i := range 12 {
				if i%5 == 0 {
					c.freshAddress()
				}
				c.login(p.email, "a wrong password").now().send()
			}
			c.freshAddress()
			p.signIn(c)
		}},
		{"AKeyIsNoCredentialOfALogin", func(c *check) {
			p := c.newUser(nil)
			c.login(p.email, p.password).as("kpsk_nonsense").send().is(http.StatusOK)
			c.login(p.email, "a wrong password").as(c.suite.target.Key).send().fails(401, "invalid_credentials")
		}},
		{"LogoutEndsTheSessionAtOnce", func(c *check) {
			p := c.signedIn("member")
			other := p
			other.signIn(c)
			if a := c.post(logoutPath).bearer(p.token).send().is(http.StatusNoContent); len(a.body) > 0 {
				a.broken("a 204 has a body")
			}
			c.get(profilePath).bearer(p.token).send().fails(401, "invalid_token")
			c.post(logoutPath).bearer(p.token).send().fails(401, "invalid_token")
			c.refresh(p.refresh).send().fails(401, "invalid_token")
			c.get(profilePath).bearer(other.token).send().is(http.StatusOK)
			c.refresh(other.refresh).send().is(http.StatusOK)
			c.post(logoutPath).anonymous().send().fails(401, "missing_credentials")
			c.post(logoutPath).send().fails(401, "missing_credentials")
		}},
		{"ANewPasswordEndsAllOtherSessions", func(c *check) {
			p := c.signedIn("member")
			other := p
			other.signIn(c)
			change := func(current, wanted any) *answer {
				return c.post(passwordPath).bearer(p.token).json(fields{"currentPassword": current, "newPassword": wanted}).send()
			}
			change("not the password", "conformance new password 1").fails(401, "invalid_credentials")
			change(p.password, "elevenchars").fails(400, "validation_error", "newPassword", "too_short")
			change(p.password, strings.Repeat("p", 129)).fails(400, "validation_error", "newPassword", "too_long")
			change(p.password, "password1234").fails(400, "validation_error", "newPassword", "not_allowed")
			change(p.password, 12345678901234).fails(400, "validation_error", "newPassword", "type")
			c.get(profilePath).bearer(other.token).send().is(http.StatusOK)
			if a := change(p.password, "conformance new password 1"); a.status != http.StatusNoContent && a.status != http.StatusOK {
				a.broken("want 204 or 200 for a changed password")
			}
			c.get(profilePath).bearer(p.token).send().is(http.StatusOK)
			c.get(profilePath).bearer(other.token).send().fails(401, "invalid_token")
			c.refresh(other.refresh).send().fails(401, "invalid_token")
			c.login(p.email, p.password).send().fails(401, "invalid_credentials")
			p.password = "conformance new password 1"
			p.signIn(c)
		}},
	}
}

// freshAddress changes to another address of the machine, or ends the check.
func (c *check) freshAddress() {
	if !c.door.move() {
		c.skip("would keep this machine's address from signing in; runs against a loopback address")
	}
}

// failTenTimes fails ten times with an email and returns the response to the next attempt. It uses an address of its own
// if there is one.
func (c *check) failTenTimes(email string) *answer {
	c.door.move()
	c.finally(func() { c.door.move() })
	for range 10 {
		c.login(email, "a wrong password").send().fails(401, "invalid_credentials")
	}
	return c.login(email, "a wrong password").now().send()
}

func headerNames(a *answer) []string {
	var names []string
	for name := range a.header {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
