package conformance

import (
	"net/http"
	"slices"
	"strings"
)

// idempotencyChecks checks Idempotency-Key (docs/spec/conventions.md).
func idempotencyChecks() []promise {
	create := func(c *check, key, name string) *call {
		return c.post(keysPath).with("Idempotency-Key", key).json(fields{"name": "conformance " + name, "scopes": []string{"read"}})
	}
	return []promise{
		{"ARepeatIsReplayedWithoutTheSecret", func(c *check) {
			once := c.suite.name()
			first := create(c, once, "a").send().is(http.StatusCreated)
			c.removeKey(first.text("id"))
			first.head("Idempotent-Replayed", "")
			second := create(c, once, "a").send().is(http.StatusCreated).head("Idempotent-Replayed", "true")
			second.has(fields{"id": first.text("id"), "key": nil, "name": first.text("name"), "createdAt": first.text("createdAt")})
			second.head("ETag", first.header.Get("ETag")).head("Location", first.header.Get("Location"))
			c.get("/api/v1/health").as(first.text("key")).send().is(http.StatusOK)
		}},
		{"AnotherBodyUnderTheSameKeyIs400", func(c *check) {
			once := c.suite.name()
			first := create(c, once, "a").send().is(http.StatusCreated)
			c.removeKey(first.text("id"))
			create(c, once, "b").send().fails(400, "validation_error", "Idempotency-Key", "reused")
		}},
		{"OfParallelRepeatsOneHasTheEffect", func(c *check) {
			once, made, ids := c.suite.name(), 0, map[string]bool{}
			for _, a := range c.atOnce(8, func() *call { return create(c, once, "parallel") }) {
				if a.status != http.StatusCreated {
					a.fails(409, "idempotency_in_progress")
					continue
				}
				ids[a.text("id")] = true
				if a.header.Get("Idempotent-Replayed") == "" {
					made++
					c.removeKey(a.text("id"))
				}
			}
			if made != 1 || len(ids) != 1 {
				c.broken("eight parallel repeats made %d keys under %d ids, want one", made, len(ids))
			}
			create(c, once, "parallel").send().is(http.StatusCreated).head("Idempotent-Replayed", "true")
		}},
		{"ItHoldsPerCredentialMethodAndPath", func(c *check) {
			once := c.suite.name()
			first := create(c, once, "a").send().is(http.StatusCreated)
			c.removeKey(first.text("id"))
			other := c.newKey(nil, "read", "write", "developer:manage").text
			second := create(c, once, "a").as(other).send().is(http.StatusCreated).head("Idempotent-Replayed", "")
			c.removeKey(second.text("id"))
			third := c.post(docsPath).with("Idempotency-Key", once).json(fields{"text": "conformance"}).send().is(http.StatusCreated)
			c.removeDocument(third.text("id"))
			if second.text("id") == first.text("id") {
				second.broken("another credential got the answer of the first")
			}
		}},
		{"ARefusedRequestLeavesNothing", func(c *check) {
			once := c.suite.name()
			c.post(keysPath).with("Idempotency-Key", once).json(fields{"scopes": []string{"read"}}).send().fails(400, "validation_error", "name", "required")
			a := c.post(keysPath).with("Idempotency-Key", once).json(fields{"scopes": []string{"read"}}).send()
			a.fails(400, "validation_error", "name", "required")
		}},
		{"AKeyOfTheWrongLengthIs400", func(c *check) {
			for _, key := range []string{"short77", strings.Repeat("k", 256), "", "tab\tinside", "ünïcödé-key"} {
				a := create(c, key, "a").send()
				if id := a.text("id"); id != "" {
					c.removeKey(id)
				}
				a.fails(400, "validation_error", "Idempotency-Key", "too_short|too_long|format|required")
			}
			for _, key := range []string{"exactly8", strings.Repeat(c.suite.mark, 26)[:255], "with blanks inside"} {
				a := create(c, key, c.suite.name()).send()
				if a.text("details.issue") == "reused" {
					continue // an earlier run used it, so it is accepted
				}
				c.removeKey(a.is(http.StatusCreated).text("id"))
			}
		}},
		{"ADocumentIsMadeOnce", func(c *check) {
			once := c.suite.name()
			post := func() *answer {
				return c.post(docsPath).with("Idempotency-Key", once).json(fields{"title": "once", "text": "once"}).send().is(http.StatusCreated)
			}
			first, second := post(), post()
			c.removeDocument(first.text("id"))
			second.has(fields{"id": first.text("id"), "revision": 1}).head("Idempotent-Replayed", "true")
		}},
		{"EveryPOSTThatChangesSomethingTakesIt", func(c *check) {
			for _, op := range c.operations() {
				free := []string{"/api/v1/search", "/api/v1/search/multi", "/api/v1/developer/verify", memoriesPath + "/recall", memoriesPath + "/context"}
				if op.method != http.MethodPost || !strings.HasPrefix(op.path, "/api/v1/") || slices.Contains(free, op.path) {
					continue
				}
				parameters := strings.ReplaceAll(show(op.operation["parameters"]), "-", "") // by name, or by a reference
				if !strings.Contains(parameters, "IdempotencyKey") {
					c.broken("POST %s does not take an Idempotency-Key", op.path)
				}
			}
		}},
		{"WhateverIsRepeatedHappensOnceAndShowsNoSecretAgain", func(c *check) {
			keyOf := func() string { return c.newKey(nil, "read").path() }
			for _, post := range []struct {
				path        string
				body, other fields
			}{
				{usersPath, fields{"email": c.suite.name() + "@example.org"}, fields{"email": c.suite.name() + "@example.org"}},
				{keyOf() + "/rotate", fields{"graceSeconds": 60}, fields{"graceSeconds": 61}},
				{keyOf() + "/revoke", fields{"reason": "a"}, fields{"reason": "b"}},
				{keyOf() + "/complete-rotation", nil, fields{}},
				{docsPath, fields{"text": "a"}, fields{"text": "b"}},
			} {
				once := c.suite.name()
				send := func(body fields) *answer {
					q := c.post(post.path).with("Idempotency-Key", once)
					if body != nil {
						q.json(body)
					}
					return q.send()
				}
				first := send(post.body).head("Idempotent-Replayed", "")
				if first.status/100 != 2 {
					first.broken("want a 2xx")
				}
				if id := first.text("id"); strings.HasPrefix(id, "usr_") || strings.HasPrefix(id, "doc_") {
					c.remove(post.path + "/" + id)
				}
				second := send(post.body).is(first.status).head("Idempotent-Replayed", "true").head("ETag", first.header.Get("ETag"))
				for _, secret := range []string{"key", "password"} {
					if text := first.text(secret); text != "" && (strings.Contains(string(second.body), text) || second.text(secret) != "") {
						second.broken("a replay shows the %s again", secret)
					}
				}
				second.has(fields{"id": first.text("id"), "revision": first.integer("revision")})
				if other := send(post.other); other.text("details.issue") != "reused" && post.body != nil {
					other.fails(400, "validation_error", "Idempotency-Key", "reused")
				}
			}
		}},
		{"AUsersRepeatIsKnownUnderAnotherToken", func(c *check) {
			p := c.signedIn("developer")
			other := c.signedIn("developer")
			once := c.suite.name()
			send := func(token string) *answer {
				return c.post(docsPath).bearer(token).with("Idempotency-Key", once).json(fields{"text": "conformance"}).send().is(http.StatusCreated)
			}
			first := send(p.token)
			c.removeDocument(first.text("id"))
			p.signIn(c)
			send(p.token).head("Idempotent-Replayed", "true").has(fields{"id": first.text("id")})
			another := send(other.token).head("Idempotent-Replayed", "")
			c.removeDocument(another.text("id"))
			if another.text("id") == first.text("id") {
				another.broken("another user got the answer of the first")
			}
		}},
		{"AKeptAnswerIsForWhoMayStillAsk", func(c *check) {
			p := c.signedIn("developer")
			once := c.suite.name()
			send := func() *answer {
				return c.post(docsPath).bearer(p.token).with("Idempotency-Key", once).json(fields{"text": "conformance"}).send()
			}
			c.removeDocument(send().is(http.StatusCreated).text("id"))
			c.patch(p.path()).json(fields{"role": "viewer"}).send().is(http.StatusOK)
			send().fails(403, "insufficient_scope")
			c.patch(p.path()).json(fields{"disabled": true}).send().is(http.StatusOK)
			send().fails(401, "invalid_token")
		}},
		{"ARevocationMayBeRepeated", func(c *check) {
			k, once := c.newKey(nil, "read"), c.suite.name()
			for range 2 {
				c.post(k.path()+"/revoke").with("Idempotency-Key", once).json(fields{"reason": "x"}).send().is(http.StatusOK).has(fields{"state": "revoked"})
			}
		}},
	}
}

// listChecks checks limit and cursor (docs/spec/conventions.md).
func listChecks() []promise {
	return []promise{
		{"AListIsWalkedPageByPage", func(c *check) {
			collection := c.suite.name()
			want := map[string]bool{}
			for range 7 {
				id := c.suite.name()
				c.document(id, fields{"collection": collection, "text": "conformance"})
				want[id] = true
			}
			next := ""
			for page := range 5 {
				a := c.get(docsPath + "?limit=3&collection=" + collection + next).send().is(http.StatusOK)
				a.shape(map[string]string{"items": "array", "nextCursor": "string|null"})
				for _, id := range a.texts("items", "id") {
					if !want[id] {
						a.broken("%s is listed twice, or is of another collection", id)
					}
					delete(want, id)
				}
				if cursor := a.text("nextCursor"); cursor != "" {
					next = "&cursor=" + cursor
				} else {
					if page != 2 {
						a.broken("7 documents in pages of 3 ended on page %d", page+1)
					}
					break
				}
			}
			if len(want) > 0 {
				c.broken("%d of 7 documents were on no page", len(want))
			}
		}},
		{"TheLimitIsOneTo200", func(c *check) {
			for _, path := range []string{keysPath, docsPath} {
				c.get(path+"?limit=0").send().fails(400, "validation_error", "limit", "too_small")
				c.get(path+"?limit=201").send().fails(400, "validation_error", "limit", "too_large")
				c.get(path+"?limit=x").send().fails(400, "validation_error", "limit", "type|format")
				c.get(path + "?limit=200").send().is(http.StatusOK)
				if n := len(c.get(path + "?limit=1").send().is(http.StatusOK).list("items")); n > 1 {
					c.broken("%s?limit=1 lists %d items", path, n)
				}
			}
		}},
		{"ACursorThatWasNotGivenForThisListIs400", func(c *check) {
			collection := c.suite.name()
			for range 3 {
				c.document(c.suite.name(), fields{"collection": collection, "tags": []string{"x"}, "text": "conformance"})
			}
			list := docsPath + "?limit=1&collection=" + collection
			cursor := c.get(list).send().is(http.StatusOK).text("nextCursor")
			if cursor == "" {
				c.stop("three documents in pages of one have no next page")
			}
			c.get(list + "&cursor=" + cursor).send().is(http.StatusOK)
			c.get(docsPath + "?limit=2&collection=" + collection + "&cursor=" + cursor).send().is(http.StatusOK)
			for _, path := range []string{
				docsPath + "?limit=1&cursor=" + cursor, list + "&tag=x&cursor=" + cursor, keysPath + "?cursor=" + cursor,
				docsPath + "?limit=1&collection=other&cursor=" + cursor, "/api/v1/search?q=conformance&cursor=" + cursor,
			} {
				c.get(path).send().fails(400, "validation_error", "cursor", "invalid")
			}
			for _, forged := range []string{"x", "AAAA", flip(cursor, 0), flip(cursor, len(cursor)/2), cursor[:len(cursor)-2], cursor + "AA", strings.Repeat("A", 4000)} {
				c.get(list+"&cursor="+forged).send().fails(400, "validation_error", "cursor", "invalid")
			}
		}},
		{"KeysAreWalkedToo", func(c *check) {
			maker := c.newKey(nil, "developer:manage")
			a, b := c.newKeyAs(maker.text, nil, "developer:manage"), c.newKeyAs(maker.text, nil, "developer:manage")
			path := keysPath + "?limit=1&createdBy=" + maker.id
			first := c.get(path).send().is(http.StatusOK)
			second := c.get(path + "&cursor=" + first.text("nextCursor")).send().is(http.StatusOK)
			if first.text("items[0].id") != b.id || second.text("items[0].id") != a.id {
				second.broken("two pages of one key each are not the newer and then the older")
			}
			second.has(fields{"nextCursor": nil})
		}},
	}
}

// flip changes one character of a cursor into another one of its alphabet.
func flip(cursor string, i int) string {
	b := []byte(cursor)
	if b[i] == 'A' {
		b[i] = 'B'
	} else {
		b[i] = 'A'
	}
	return string(b)
}
