package conformance

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// statusChecks checks §7 with the order of checks in docs/spec/scopes.md.
func statusChecks() []promise {
	return []promise{
		{"AnUnknownPathIs404ForEverybody", func(c *check) {
			for _, path := range []string{
				"/api/v1/nothing-here", "/api/v1/", "/api/v1", "/api/", "/api/v1/searchx", "/api/v1/health/more", "/api/v1/developer",
				"/api/v1/profile.css", "/api/v1/documents/a/b/c", "/api/v1/%2e%2e/health",
			} {
				with, without := c.get(path).send().fails(404, "not_found"), c.get(path).anonymous().send().fails(404, "not_found")
				if with.withoutMoments() != without.withoutMoments() {
					with.broken("with a key the 404 is another than without: %s", without.withoutMoments())
				}
			}
		}},
		{"AnUncleanPathIsAnotherPathAndNeverARedirect", func(c *check) {
			for _, path := range []string{
				"/api/v1/health/", "/api/v1/search/?q=x", "//api/v1/health", "/api//v1/health", "/api/v1//health", "/api/v1/./health",
				"/api/v1/x/../health", "/api/v1/health/.", "/api/v1/developer/api-keys/", "/api/versions/", "/./api/v1/health",
			} {
				a := c.get(path).send()
				a.fails(404, "not_found").head("Location", "")
			}
		}},
		{"AMethodThatIsNotThereIs405WithAllow", func(c *check) {
			for path, allow := range map[string]string{
				"/api/v1/health": "GET, HEAD, OPTIONS", "/api/v1/search": "GET, HEAD, OPTIONS, POST", docsPath + "/x": "DELETE, GET, HEAD, OPTIONS, PATCH, PUT",
				keysPath: "GET, HEAD, OPTIONS, POST", keysPath + "/x": "DELETE, GET, HEAD, OPTIONS, PATCH", "/api/versions": "GET, HEAD, OPTIONS",
			} {
				for _, method := range []string{"TRACE", "COPY", "PATCH", "DELETE", "PUT", "GET"} {
					if strings.Contains(allow, method) {
						continue
					}
					for _, q := range []*call{c.call(method, path), c.call(method, path).anonymous()} {
						allows(q.send().fails(405, "method_not_allowed"), allow)
					}
				}
			}
		}},
		{"HEADWorksWhereverGETDoes", func(c *check) {
			id := c.suite.name()
			c.document(id, fields{"text": "conformance"})
			for _, path := range []string{
				"/api/v1/health", "/api/v1/search?q=conformance", docsPath + "?limit=1", docsPath + "/" + id, keysPath + "?limit=1", keysPath + "/" + c.suite.keyID,
				"/api/v1/developer/whoami", "/api/versions", "/openapi.json", docsPath + "/" + id + "-not-there", "/api/v1/search",
			} {
				get, head := c.get(path).send(), c.call(http.MethodHead, path).send()
				for _, name := range []string{"Content-Type", "ETag", "Cache-Control"} {
					head.head(name, get.header.Get(name))
				}
				if head.status != get.status {
					head.broken("HEAD answers %d where GET answers %d", head.status, get.status)
				}
			}
		}},
		{"OPTIONSIs204WithAllow", func(c *check) {
			for path, allow := range map[string]string{
				"/api/v1/health": "GET, HEAD, OPTIONS", keysPath: "GET, HEAD, OPTIONS, POST", docsPath + "/x": "DELETE, GET, HEAD, OPTIONS, PATCH, PUT",
			} {
				a := c.call(http.MethodOptions, path).anonymous().send().is(http.StatusNoContent)
				allows(a, allow)
				a.head("Access-Control-Allow-Origin", "")
			}
			c.call(http.MethodOptions, "/api/v1/nothing-here").anonymous().send().fails(404, "not_found")
		}},
		{"NoMethodIsOverridden", func(c *check) {
			for _, name := range []string{"X-HTTP-Method-Override", "X-Method-Override", "X-HTTP-Method"} {
				c.post("/api/v1/health").with(name, "GET").send().fails(405, "method_not_allowed")
			}
		}},
		{"CORSIsOffUnlessConfigured", func(c *check) {
			a := c.get("/api/v1/health").with("Origin", "https://conformance.example").send().is(http.StatusOK)
			a.head("Access-Control-Allow-Origin", "").head("Access-Control-Allow-Credentials", "")
		}},
		{"TheHostIsNeverBelieved", func(c *check) {
			a := c.get("/api/versions").anonymous().with("X-Forwarded-Host", "evil.example").with("X-Forwarded-Proto", "gopher").send().is(200)
			if strings.Contains(string(a.body), "evil.example") {
				a.broken("X-Forwarded-Host is in the answer")
			}
		}},
		{"TheOrderOfChecksIsOneForAll", func(c *check) {
			reader, writer := c.newKey(nil, "read").text, c.newKey(nil, "write").text
			for i, step := range []struct {
				call         *call
				status       int
				code, remark string
			}{
				{c.get("/api/v9/nothing").anonymous(), 404, "version_not_found", "version before path and credential"},
				{c.get("/api/v1/nothing").anonymous(), 404, "not_found", "path before credential"},
				{c.delete("/api/v1/health").anonymous(), 405, "method_not_allowed", "method before credential"},
				{c.put(docsPath+"/%20").anonymous().raw("text/plain", "x"), 401, "missing_credentials", "credential before media type"},
				{c.put(docsPath+"/x").as(reader).raw("text/plain", "x"), 403, "insufficient_scope", "scope before media type"},
				{c.put(docsPath+"/x").as(writer).raw("text/plain", "x"), 415, "unsupported_media_type", "media type before body"},
				{c.patch(keysPath + "/key_01kakakakafkhvayayayayayay").json(fields{"nme": 1}), 400, "validation_error", "body before the resource"},
				{c.put(docsPath+"/conformance-never").with("If-Match", `"7"`).json(fields{}), 400, "validation_error", "body before the revision"},
			} {
				a := step.call.send()
				if a.status != step.status || a.text("error") != step.code {
					a.broken("step %d, %s: want %d %s", i+1, step.remark, step.status, step.code)
				}
			}
		}},
	}
}

// allows compares the methods in Allow, in any order.
func allows(a *answer, want string) {
	got := map[string]bool{}
	for _, m := range strings.Split(a.header.Get("Allow"), ",") {
		got[strings.TrimSpace(m)] = true
	}
	if names := strings.Split(want, ", "); len(got) != len(names) {
		a.broken("Allow is %q, want %s", a.header.Get("Allow"), want)
	} else {
		for _, m := range names {
			if !got[m] {
				a.broken("Allow is %q, want %s", a.header.Get("Allow"), want)
			}
		}
	}
}

// requestChecks checks how requests are decoded (docs/spec/conventions.md).
func requestChecks() []promise {
	const search = "/api/v1/search"
	body := func(name, text, field, issue string) promise {
		return promise{"ABodyIsRefused/" + name, func(c *check) {
			c.post(search).raw("application/json", text).send().fails(400, "validation_error", field, issue)
		}}
	}
	list := []promise{
		body("ThatIsEmpty", "", "body", "required|format"),
		body("ThatIsNotJSON", "q=x", "body", "format"),
		body("ThatEndsTooSoon", `{"q":"x"`, "body", "format"),
		body("WithBytesAfterIt", `{"q":"x"} {}`, "body", "format"),
		body("WithACommaTooMany", `{"q":"x",}`, "body", "format"),
		body("WithAComment", `{"q":"x"/* */}`, "body", "format"),
		body("WithSingleQuotes", `{'q':'x'}`, "body", "format"),
		body("WithNaN", `{"q":"x","limit":NaN}`, "body", "format"),
		body("ThatIsUTF16", "{\x00\"\x00q\x00\"\x00:\x00\"\x00x\x00\"\x00}\x00", "body", "format"),
		body("WithBadUTF8", "{\"q\":\"\xff\xfe\"}", "body|q", "format"),
		body("WithALoneSurrogate", `{"q":"\ud800"}`, "body|q", "format"),
		body("WithAControlCharacter", "{\"q\":\"a\nb\"}", "body|q", "format"),
		body("ThatIsAList", `[{"q":"x"}]`, "body", "type|format"),
		body("ThatIsAString", `"q"`, "body", "type|format"),
		body("ThatIsNull", `null`, "body", "type|format|required"),
		body("WithADuplicate", `{"q":"x","q":"y"}`, "q", "duplicate"),
		body("WithAnEscapedDuplicate", `{"q":"x","\u0071":"y"}`, "q", "duplicate"),
		body("WithAnUnknownMember", `{"q":"x","colour":1}`, "colour", "unknown"),
		body("WithAMemberInAnotherCase", `{"Q":"x"}`, "Q", "unknown"),
		body("WithANumberForText", `{"q":1}`, "q", "type"),
		body("WithTextForANumber", `{"q":"x","limit":"10"}`, "limit", "type"),
		body("WithAHugeNumber", `{"q":"x","limit":1e999}`, "limit", "type|too_large|format"),
		body("WithAFraction", `{"q":"x","limit":1.5}`, "limit", "type"),
		body("WithNullForText", `{"q":null}`, "q", "required|type"),
		body("NestedTooDeep", `{"q":`+strings.Repeat("[", 40)+strings.Repeat("]", 40)+`}`, "body|q", "format|type|too_long|too_large|invalid"),
		body("NestedMuchTooDeep", strings.Repeat(`{"q":`, 100_000), "body", "format|too_long|too_large|invalid"),
	}
	return append(list, []promise{
		{"AnotherMediaTypeIs415", func(c *check) {
			for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/xml", "", "json", "application/jsonp"} {
				c.post(search).raw(media, `{"q":"x"}`).send().fails(415, "unsupported_media_type")
			}
			for _, media := range []string{"application/json", "application/json; charset=utf-8", "Application/JSON"} {
				c.post(search).raw(media, `{"q":"x"}`).send().is(http.StatusOK)
			}
		}},
		{"ABodyOverOneMebibyteIs413", func(c *check) {
			text := `{"q":"` + strings.Repeat("x", 1<<20) + `"}`
			c.post(search).raw("application/json", text).send().fails(413, "payload_too_large")
			c.post(search).raw("application/json", text).inChunks().send().fails(413, "payload_too_large")
			fits := `{"q":"x"}` + strings.Repeat(" ", 1<<20-9)
			c.post(search).raw("application/json", fits).send().is(http.StatusOK)
			c.post(search).raw("application/json", fits).inChunks().send().is(http.StatusOK)
			remove := `{"ids":["conformance"]}` + strings.Repeat(" ", 1<<20)
			c.post("/api/v1/documents/delete").raw("application/json", remove).send().fails(413, "payload_too_large")
		}},
		{"QueryParametersAreStrict", func(c *check) {
			for query, want := range map[string][2]string{
				"q=x&colour=red": {"colour", "unknown"}, "q=x&Q=x": {"Q", "unknown"}, "q=x&q=y": {"q", "duplicate"},
				"q=x&limit=1&limit=2": {"limit", "duplicate"}, "q=x&limit=ten": {"limit", "type|format"}, "q=x&limit=1.5": {"limit", "type|format"},
				"q=x&limit=0": {"limit", "too_small"}, "q=x&limit=-1": {"limit", "too_small"}, "q=x&limit=101": {"limit", "too_large"},
				"q=x&limit=99999999999999999999": {"limit", "type|format|too_large"}, "q=x&limit=": {"limit", "type|format|required"},
				"q=x&highlight=yes": {"highlight", "type|format"}, "q=x&prefix=TRUE": {"prefix", "type|format"}, "q=x&sort=title": {"sort", "not_allowed|unsupported|invalid"},
			} {
				c.get(search+"?"+query).send().fails(400, "validation_error", want[0], want[1])
			}
		}},
		{"ABrokenQueryIs400", func(c *check) {
			for _, query := range []string{"q=%zz", "q=%", "q=x&%zz=1", "q=x;y=1"} {
				if a := c.get(search + "?" + query).send(); a.status != http.StatusOK || query != "q=x;y=1" {
					a.fails(400, "validation_error")
				}
			}
		}},
		{"NothingOfAnAnswerIsTakenThatIsNotForClients", func(c *check) {
			answered := append(c.answered(), "workspaceId", "operator", "passwordHash", "owner", "role", "tier", "isAdmin", "__proto__")
			tried := 0
			for _, op := range c.operations() {
				members, ok := op.members(c)
				if !ok || len(members) == 0 || !strings.HasPrefix(op.path, "/api/v1/") || op.path == profilePath || op.path == "/api/v1/search" ||
					!c.suite.operator && operatorOnly(op.method, op.path) {
					continue // a search changes nothing; the profile has its own check
				}
				path := strings.NewReplacer("{id}", "key_01kakakakafkhvayayayayayay", "{n}", "9", "{name}", "nothing").Replace(op.path)
				for _, member := range answered {
					if slices.Contains(members, member) {
						continue
					}
					// The unknown field is sent alone, so that nothing would change if it were accepted. It is refused before
					// missing fields.
					c.call(op.method, path).json(fields{member: nil}).send().fails(400, "validation_error", member, "unknown")
					tried++
				}
			}
			if tried < 200 {
				c.broken("only %d pairs of an operation and a member were found in the API's own description", tried)
			}
		}},
		{"AGETWithABodyIsNotConfused", func(c *check) {
			a := c.get("/api/v1/health").raw("application/json", `{"status":"broken"}`).send()
			if a.status != http.StatusOK && a.status/100 != 4 {
				a.broken("want 200, or a 4xx")
			}
			c.get("/api/v1/health").send().is(http.StatusOK)
		}},
		{"ManyQueryParametersAreRefusedQuickly", func(c *check) {
			var query strings.Builder
			for i := range 900 {
				fmt.Fprintf(&query, "&p%d=1", i)
			}
			c.get(search+"?q=x"+query.String()).send().fails(400, "validation_error")
		}},
	}...)
}
