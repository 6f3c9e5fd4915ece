package conformance

import (
	"net/http"
	"slices"
	"strings"
)

const forgetPath = memoriesPath + "/forget"

// plan creates a plan of what to forget.
func (c *check) plan(subject string, more fields) *answer {
	more["subjectId"] = subject
	return c.post(forgetPath).json(more).send().is(http.StatusOK).
		shape(map[string]string{"memoryIds": "array", "planId": "string", "expiresAt": "time"}).lacks("forgotten")
}

func (c *check) carryOut(subject, plan string) *call {
	return c.post(forgetPath).json(fields{"subjectId": subject, "planId": plan, "dryRun": false})
}

// sorted returns the sorted IDs of a plan or of responses.
func sorted(ids []string) []string { return slices.Sorted(slices.Values(ids)) }

func (a *answer) ids(member string) []string {
	var list []string
	for _, v := range a.list(member) {
		id, _ := v.(string)
		list = append(list, id)
	}
	return list
}

// forgetChecks checks POST /api/v1/memories/forget (docs/spec/memories.md).
func forgetChecks() []promise {
	return []promise{
		{"ADryRunErasesNothing", func(c *check) {
			who := c.subject()
			a, b := c.remember(who, "x"), c.remember(who, "y")
			for _, more := range []fields{{"ids": []string{a.text("id")}}, {"ids": []string{a.text("id")}, "dryRun": true}} {
				p := c.plan(who, more).has(fields{"memoryIds": []string{a.text("id")}})
				if d := p.moment("expiresAt").Sub(p.came); d.Minutes() < 50 || d.Minutes() > 70 {
					p.broken("the plan does not expire in an hour")
				}
			}
			for _, m := range []*answer{a, b} {
				c.get(m.memory()).send().is(http.StatusOK)
			}
		}},
		{"APlanErasesExactlyWhatItNames", func(c *check) {
			who, word := c.subject(), c.suite.word()
			gone := []*answer{c.remember(who, word+" one"), c.remember(who, word+" two")}
			p := c.plan(who, fields{"query": word})
			if got := p.ids("memoryIds"); !slices.Equal(sorted(got), sorted([]string{gone[0].text("id"), gone[1].text("id")})) {
				p.broken("the plan does not name the two that match")
			}
			later := c.remember(who, word+" three")
			c.carryOut(who, p.text("planId")).send().is(http.StatusOK).has(fields{"forgotten": 2}).lacks("planId", "memoryIds")
			for _, m := range gone {
				c.get(m.memory()).send().fails(404, "not_found")
				c.get(m.memory()+"/history").send().fails(404, "not_found")
			}
			c.get(later.memory()).send().is(http.StatusOK)
			c.recall(who, word).has(fields{"results[0].memory.id": later.text("id")}).lacks("results[1]")
			c.get(subjectsPath + "/" + who).send().has(fields{"memories": 1})
		}},
		{"APlanIsUsedOnceByWhoeverMadeIt", func(c *check) {
			who := c.subject()
			a := c.remember(who, "x")
			p := c.plan(who, fields{"ids": []string{a.text("id")}}).text("planId")
			other := c.newKey(nil, "memory:write")
			never := c.carryOut(who, "pln_01kakakakafkhvayayayayayay").send().fails(404, "not_found")
			for _, q := range []*call{c.carryOut(who, p).as(other.text), c.carryOut(c.suite.name(), p)} {
				if got := q.send().fails(404, "not_found"); got.withoutMoments() != never.withoutMoments() {
					got.broken("the response differs from that for a plan that does not exist: %s", never.withoutMoments())
				}
			}
			c.get(a.memory()).send().is(http.StatusOK)
			c.carryOut(who, p).send().is(http.StatusOK).has(fields{"forgotten": 1})
			c.carryOut(who, p).send().fails(404, "not_found")
		}},
		{"FiltersChoose", func(c *check) {
			who := c.subject()
			c.remember(who, "all", fields{"agentId": "a1", "sessionId": "s1", "kind": "note", "tags": []string{"red", "big"}, "occurredAt": "2026-05-01T00:00:00Z"})
			c.remember(who, "some", fields{"agentId": "a1", "kind": "event", "tags": []string{"red"}, "occurredAt": "2026-04-01T00:00:00Z"})
			c.remember(who, "few", fields{"sessionId": "s1", "occurredAt": "2026-03-01T00:00:00Z"})
			for _, f := range []struct {
				filter fields
				want   string
			}{
				{fields{"kinds": []string{"note", "fact"}}, "all few"},
				{fields{"tags": []string{"red"}}, "all some"},
				{fields{"tags": []string{"red", "big"}}, "all"},
				{fields{"sessionId": "s1"}, "all few"},
				{fields{"agentId": "a1"}, "all some"},
				{fields{"agentId": "a1", "kinds": []string{"event"}}, "some"},
				{fields{"from": "2026-04-01T00:00:00Z"}, "all some"},
				{fields{"to": "2026-04-01T00:00:00Z"}, "few"},
				{fields{"sessionId": "s2"}, ""},
			} {
				p := c.plan(who, fields{"filter": f.filter})
				var got []string
				for _, id := range p.ids("memoryIds") {
					got = append(got, c.get(memoriesPath+"/"+id).send().is(http.StatusOK).text("text"))
				}
				if text := strings.Join(sorted(got), " "); text != f.want {
					p.broken("%q, want %q", text, f.want)
				}
			}
		}},
		{"EveryWordOfAQueryMustOccur", func(c *check) {
			who, one, two := c.subject(), c.suite.word(), c.suite.word()
			both := c.remember(who, two+" and "+one)
			c.remember(who, one)
			c.remember(who, two)
			c.plan(who, fields{"query": one + " " + two}).has(fields{"memoryIds": []string{both.text("id")}})
			c.plan(who, fields{"query": one + " " + two + " " + c.suite.word()}).has(fields{"memoryIds": []any{}})
			if n := len(c.plan(who, fields{"query": strings.ToUpper(one)}).list("memoryIds")); n != 2 {
				c.broken("one word is in %d memories, want 2", n)
			}
		}},
		{"WhatIsNotThereIsNotPlanned", func(c *check) {
			who, other := c.subject(), c.subject()
			mine, theirs := c.remember(who, "x"), c.remember(other, "x")
			p := c.plan(who, fields{"ids": []string{mine.text("id"), theirs.text("id"), neverMemory}}).has(fields{"memoryIds": []string{mine.text("id")}})
			c.carryOut(who, p.text("planId")).send().is(http.StatusOK).has(fields{"forgotten": 1})
			c.get(theirs.memory()).send().is(http.StatusOK)
		}},
		{"ADryRunTakesNoNoticeOfAnIdempotencyKey", func(c *check) {
			who, once := c.subject(), c.suite.name()
			a, b := c.remember(who, "x"), c.remember(who, "y")
			plan := func(m *answer) *answer {
				return c.post(forgetPath).with("Idempotency-Key", once).json(fields{"subjectId": who, "ids": []string{m.text("id")}}).send().
					is(http.StatusOK).head("Idempotent-Replayed", "").has(fields{"memoryIds": []string{m.text("id")}})
			}
			first, second := plan(a), plan(b)
			third := plan(a)
			if first.text("planId") == third.text("planId") {
				third.broken("a dry run was answered by an older one")
			}
			for _, replayed := range []string{"", "true"} {
				c.carryOut(who, second.text("planId")).with("Idempotency-Key", once).send().is(http.StatusOK).
					has(fields{"forgotten": 1}).head("Idempotent-Replayed", replayed)
			}
			c.get(a.memory()).send().is(http.StatusOK)
		}},
		{"ABadForgetIs400", func(c *check) {
			who := c.subject()
			a := c.remember(who, "x")
			ids := []string{a.text("id")}
			for _, bad := range []struct {
				body         fields
				field, issue string
			}{
				{fields{"subjectId": who, "ids": ids, "dryRun": false}, "planId", "required"},
				{fields{"subjectId": who, "dryRun": false}, "planId", "required"},
				{fields{"subjectId": who, "planId": nil, "dryRun": false}, "planId", "required"},
				{fields{"subjectId": who, "planId": "pln_x", "ids": ids, "dryRun": false}, "ids", "not_allowed"},
				{fields{"subjectId": who, "planId": "pln_x"}, "planId", "not_allowed"},
				{fields{"subjectId": who}, "ids", "required"},
				{fields{"ids": ids}, "subjectId", "required"},
				{fields{"subjectId": who, "ids": []string{}}, "ids", "too_short|required"},
				{fields{"subjectId": who, "ids": ids, "query": "x"}, "query", "not_allowed"},
				{fields{"subjectId": who, "filter": fields{}, "query": "x"}, "query", "not_allowed"},
				{fields{"subjectId": who, "query": " "}, "query", "required"},
				{fields{"subjectId": who, "filter": fields{"kinds": []string{"odd"}}}, "filter.kinds[0]", "not_allowed"},
				{fields{"subjectId": who, "filter": fields{"colour": "red"}}, "filter.colour", "unknown"},
				{fields{"subjectId": who, "filter": fields{"from": "x"}}, "filter.from", "format"},
				{fields{"subjectId": who, "ids": ids, "dryRun": "no"}, "dryRun", "type"},
			} {
				c.post(forgetPath).json(bad.body).send().fails(400, "validation_error", bad.field, bad.issue)
			}
			c.get(a.memory()).send().is(http.StatusOK)
		}},
	}
}
