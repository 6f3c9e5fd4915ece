package conformance

import (
	"net/http"
	"strings"
)

// errorBodyChecks checks §2.3 for errors that are easily forgotten. everyanswer.go checks what holds for every error.
func errorBodyChecks() []promise {
	return []promise{
		{"EveryKindOfErrorHasTheBody", func(c *check) {
			c.get("/api/v1/search").send().fails(400, "validation_error", "q", "required")
			c.get("/api/v1/search?q=x").anonymous().send().fails(401, "missing_credentials")
			c.get("/api/v1/search?q=x").as(c.newKey(nil, "write").text).send().fails(403, "insufficient_scope")
			c.get("/api/v1/nothing-here").send().fails(404, "not_found")
			c.delete("/api/v1/search").send().fails(405, "method_not_allowed")
			c.post("/api/v1/search").raw("text/plain", "q=x").send().fails(415, "unsupported_media_type")
		}},
		{"PathsOutsideTheAPIHaveItToo", func(c *check) {
			for _, path := range []string{"/nothing-here", "/apiary", "/api", "/.git/config", "/debug/pprof/", "/metrics", "/admin"} {
				c.get(path).anonymous().send().fails(404, "not_found")
			}
		}},
		{"NoErrorRepeatsWhatWasTyped", func(c *check) {
			secret := "canary" + c.suite.word()
			for _, q := range []*call{
				c.get("/api/v1/" + secret), c.get("/api/v1/documents/" + secret), c.get("/api/v1/developer/api-keys/" + secret),
				c.post(keysPath).json(fields{"name": "x", "scopes": []string{secret}}),
				c.post(keysPath).json(fields{"name": "x", "scopes": []string{"read"}, "expiresAt": secret}),
				c.post(keysPath).json(fields{"name": "x", "scopes": []string{"read"}, "allowedIps": []string{secret}}),
				c.post(keysPath).raw("application/json", secret),
				c.get("/api/v1/search?q=x&limit=" + secret),
				c.get("/api/v1/search?q=x&cursor=" + secret),
				c.get("/api/v1/search?q=" + secret + "&sort=" + secret),
				c.put(docsPath + "/x").json(fields{"text": "x", "tags": secret}),
			} {
				if a := q.send(); a.status < 400 || strings.Contains(string(a.body), secret) {
					a.broken("an error that repeats what was typed, or none")
				}
			}
		}},
		{"NoErrorShowsHowTheServiceIsMade", func(c *check) {
			for _, q := range []*call{
				c.get("/api/v1/documents/%27%20OR%201=1"), c.get("/api/v1/developer/api-keys/%00"), c.get("/api/v1/search?q=%00%01%02"),
				c.get("/api/v1/search?q=%27%29%3B%20DROP%20TABLE%20documents%3B--"), c.post("/api/v1/search").json(fields{"q": strings.Repeat("((((", 200)}),
			} {
				a := q.send()
				for _, word := range []string{"goroutine", ".go:", "sqlite", "SQL logic", "panic", "/home/", "bleve", "runtime error"} {
					if a.status >= 400 && strings.Contains(string(a.body), word) {
						a.broken("an error that shows %q", word)
					}
				}
			}
		}},
		{"ARequestIDIsTakenOrMade", func(c *check) {
			for given, taken := range map[string]bool{
				"abcdefgh": true, "a-b_C-9.": false, strings.Repeat("x", 64): true, strings.Repeat("x", 65): false,
				"short77": false, "with space": false, "ünïcödé-id": false, "": false,
			} {
				q := c.get("/api/v1/health").with("X-Request-Id", given)
				if a := q.send(); taken != (a.header.Get("X-Request-Id") == given) {
					a.broken("X-Request-Id %q: taken is %v, want %v", given, !taken, taken)
				}
			}
		}},
		{"RequestIDsAreNeverTheSame", func(c *check) {
			seen := map[string]bool{}
			for range 20 {
				a := c.get("/api/v1/health").send()
				if seen[a.header.Get("X-Request-Id")] {
					a.broken("a request id came twice")
				}
				seen[a.header.Get("X-Request-Id")] = true
			}
		}},
		{"AnErrorToHEADHasHeadersAndNoBody", func(c *check) {
			for path, status := range map[string]int{"/api/v1/search": 400, "/api/v1/nothing-here": 404} {
				a := c.call(http.MethodHead, path).send().is(status)
				if len(a.body) > 0 {
					a.broken("HEAD has a body")
				}
			}
		}},
	}
}
