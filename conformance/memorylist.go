package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// memories lists memories, and ends the check if that fails.
func (c *check) memories(query url.Values) *answer {
	return c.get(memoriesPath + "?" + query.Encode()).send().is(http.StatusOK).shape(map[string]string{"items": "array", "nextCursor": "string|null"})
}

// memoryListChecks checks GET /api/v1/memories (docs/spec/memories.md).
func memoryListChecks() []promise {
	return []promise{
		{"TheNewestComesFirst", func(c *check) {
			who := c.subject()
			for _, m := range []struct{ text, at string }{
				{"second", "2026-02-01T00:00:00Z"}, {"first", "2026-01-01T00:00:00Z"}, {"last", ""}, {"third", "2026-03-01T00:00:00.001Z"},
			} {
				more := fields{}
				if m.at != "" {
					more["occurredAt"] = m.at
				}
				c.remember(who, m.text, more)
			}
			a := c.memories(url.Values{"subjectId": {who}})
			if got := a.texts("items", "text"); !slices.Equal(got, []string{"last", "third", "second", "first"}) {
				a.broken("the order is %v, want the newest first, by occurredAt, else createdAt", got)
			}
			for i := range a.list("items") {
				at := fmt.Sprintf("items[%d].", i)
				for member, kinds := range memoryShape {
					a.shape(map[string]string{at + member: kinds})
				}
			}
		}},
		{"EveryFilterNarrows", func(c *check) {
			who, other := c.subject(), c.subject()
			agent, session := c.suite.name(), c.suite.name()
			c.remember(who, "all", fields{"agentId": agent, "sessionId": session, "kind": "note", "tags": []string{"red", "big"}, "occurredAt": "2026-05-01T00:00:00Z"})
			c.remember(who, "some", fields{"agentId": agent, "kind": "event", "tags": []string{"red"}, "occurredAt": "2026-04-01T00:00:00Z"})
			c.remember(who, "few", fields{"sessionId": session, "occurredAt": "2026-03-01T00:00:00Z"})
			c.remember(other, "other", fields{"agentId": agent, "sessionId": session, "kind": "note", "tags": []string{"red"}, "occurredAt": "2026-02-01T00:00:00Z"})
			for query, want := range map[string][]string{
				"subjectId=" + who:                                                            {"all", "some", "few"},
				"subjectId=" + other:                                                          {"other"},
				"subjectId=" + c.suite.name():                                                 nil,
				"agentId=" + agent:                                                            {"all", "some", "other"},
				"sessionId=" + session:                                                        {"all", "few", "other"},
				"agentId=" + agent + "&sessionId=" + session:                                  {"all", "other"},
				"subjectId=" + who + "&agentId=" + agent:                                      {"all", "some"},
				"subjectId=" + who + "&sessionId=" + session:                                  {"all", "few"},
				"subjectId=" + who + "&agentId=" + who:                                        nil,
				"subjectId=" + who + "&kind=note":                                             {"all"},
				"subjectId=" + who + "&kind=fact":                                             {"few"},
				"subjectId=" + who + "&tag=red":                                               {"all", "some"},
				"subjectId=" + who + "&tag=red&tag=big":                                       {"all"},
				"subjectId=" + who + "&tag=big&kind=event":                                    nil,
				"subjectId=" + who + "&tag=Red":                                               nil,
				"subjectId=" + who + "&from=2026-04-01T00:00:00Z":                             {"all", "some"},
				"subjectId=" + who + "&to=2026-04-01T00:00:00Z":                               {"few"},
				"agentId=" + agent + "&from=2026-02-01T00:00:00Z":                             {"all", "some", "other"},
				"agentId=" + agent + "&kind=note":                                             {"all", "other"},
				"subjectId=" + who + "&from=2026-03-01T00:00:00.001Z&to=2026-05-01T00:00:00Z": {"some"},
			} {
				a := c.get(memoriesPath + "?" + query).send().is(http.StatusOK)
				if got := a.texts("items", "text"); !slices.Equal(got, want) {
					a.broken("%v, want %v", got, want)
				}
			}
		}},
		{"WithoutATimeOfItsOwnItsCreationCounts", func(c *check) {
			who := c.subject()
			a := c.remember(who, "x")
			c.wait(5 * time.Millisecond)
			b := c.remember(who, "y")
			from := c.memories(url.Values{"subjectId": {who}, "from": {b.text("createdAt")}})
			to := c.memories(url.Values{"subjectId": {who}, "to": {b.text("createdAt")}})
			if from.text("items[0].id") != b.text("id") || len(from.list("items")) != 1 || to.text("items[0].id") != a.text("id") || len(to.list("items")) != 1 {
				from.broken("from and to do not part two memories at the second's creation")
			}
		}},
		{"FiltersComeBeforePages", func(c *check) {
			who := c.subject()
			for i := range 6 {
				c.remember(who, fmt.Sprint(i), fields{"kind": []string{"note", "fact", "fact"}[i%3], "tags": []string{[]string{"x", "y", "z"}[i%3]}})
			}
			for _, filter := range []string{"kind=note", "tag=x"} {
				path := memoriesPath + "?limit=1&subjectId=" + who + "&" + filter
				first := c.get(path).send().is(http.StatusOK).has(fields{"items[0].text": "3"})
				second := c.get(path + "&cursor=" + first.text("nextCursor")).send().is(http.StatusOK).has(fields{"items[0].text": "0"})
				if next := second.text("nextCursor"); next != "" {
					c.get(path + "&cursor=" + next).send().is(http.StatusOK).has(fields{"items": []any{}, "nextCursor": nil})
				}
			}
		}},
		{"MemoriesAreWalkedPageByPage", func(c *check) {
			who := c.subject()
			var items []fields
			for i := range 7 { // at one time, so their IDs decide
				items = append(items, fields{"subjectId": who, "text": fmt.Sprint(i), "occurredAt": "2026-01-01T00:00:00Z"})
			}
			c.post(memoriesPath + "/batch").json(fields{"items": items}).send().is(http.StatusOK)
			var got []string
			next := ""
			for range 7 {
				a := c.get(memoriesPath + "?limit=3&subjectId=" + who + next).send().is(http.StatusOK)
				got = append(got, a.texts("items", "text")...)
				cursor := a.text("nextCursor")
				if cursor == "" {
					break
				}
				next = "&cursor=" + cursor
			}
			if !slices.Equal(got, []string{"6", "5", "4", "3", "2", "1", "0"}) {
				c.broken("pages of three give %v, want each once, the newest first", got)
			}
		}},
		{"ACursorIsOfItsListAlone", func(c *check) {
			who := c.subject()
			c.remember(who, "x", fields{"kind": "note"})
			c.remember(who, "y", fields{"kind": "note"})
			list := memoriesPath + "?limit=1&subjectId=" + who
			cursor := c.get(list).send().is(http.StatusOK).text("nextCursor")
			c.get(memoriesPath + "?limit=2&subjectId=" + who + "&cursor=" + cursor).send().is(http.StatusOK)
			other := c.newKey(fields{"subjectId": who}, "memory:read")
			for _, q := range []*call{
				c.get(memoriesPath + "?limit=1&cursor=" + cursor), c.get(list + "&kind=note&cursor=" + cursor), c.get(list + "&tag=x&cursor=" + cursor),
				c.get(list + "&from=2020-01-01T00:00:00Z&cursor=" + cursor), c.get(docsPath + "?limit=1&cursor=" + cursor), c.get(subjectsPath + "?cursor=" + cursor),
				c.get(list + "&cursor=" + cursor).as(other.text), c.get(list + "&cursor=" + flip(cursor, 0)), c.get(list + "&cursor=x"),
			} {
				q.send().fails(400, "validation_error", "cursor", "invalid")
			}
		}},
		{"ATagNeedsASubject", func(c *check) {
			c.get(memoriesPath+"?tag=x").send().fails(400, "validation_error", "subjectId", "required")
			c.get(memoriesPath+"?tag=x&agentId=a&sessionId=s").send().fails(400, "validation_error", "subjectId", "required")
		}},
		{"ABadFilterIs400", func(c *check) {
			for query, want := range map[string][2]string{
				"subjectId=a/b": {"subjectId", "format"}, "agentId=%20": {"agentId", "format|required"}, "sessionId=@": {"sessionId", "format"},
				"kind=odd": {"kind", "not_allowed"}, "from=x": {"from", "format"}, "to=2026-01-01": {"to", "format"}, "limit=0": {"limit", "too_small"},
				"limit=201": {"limit", "too_large"}, "limit=x": {"limit", "type|format"}, "subject=x": {"subject", "unknown"},
				"subjectId=a&subjectId=b": {"subjectId", "duplicate"}, "text=x": {"text", "unknown"},
			} {
				c.get(memoriesPath+"?"+query).send().fails(400, "validation_error", want[0], want[1])
			}
		}},
	}
}
