package conformance

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// recall recalls memories of a subject, and ends the check if that fails.
func (c *check) recall(subject, query string, more ...fields) *answer {
	return c.recallQuery(subject, query, more...).send().is(http.StatusOK).shape(map[string]string{"results": "array", "tookMs": "number"})
}

func (c *check) recallQuery(subject, query string, more ...fields) *call {
	body := fields{"subjectId": subject, "query": query}
	for _, m := range more {
		for name, v := range m {
			body[name] = v
		}
	}
	return c.post(memoriesPath + "/recall").json(body)
}

// recalled returns the texts of a response to recall, best first.
func (a *answer) recalled() []string {
	var list []string
	for i := range a.list("results") {
		list = append(list, a.text(fmt.Sprintf("results[%d].memory.text", i)))
	}
	return list
}

// recallChecks checks POST /api/v1/memories/recall (docs/spec/memories.md).
func recallChecks() []promise {
	return []promise{
		{"WhatWasStoredIsInTheNextRecall", func(c *check) {
			who := c.subject()
			for range 10 {
				word := c.suite.word()
				made := c.remember(who, "It is about "+word+".")
				a := c.recall(who, word)
				a.has(fields{"results[0].memory.id": made.text("id"), "results[0].rank": 1})
				if len(a.list("results")) != 1 {
					a.broken("a word of one memory recalls %d", len(a.list("results")))
				}
			}
		}},
		{"AResultIsAMemoryWithItsScore", func(c *check) {
			who := c.subject()
			c.remember(who, "Ada plays the violin on Sundays.", fields{"speaker": "Ada", "tags": []string{"music"}, "metadata": fields{"n": 1}})
			c.remember(who, "Ada sold her bicycle.")
			c.remember(who, "The violin is from Cremona, a violin of renown.")
			a := c.recall(who, "Who plays the violin?").has(fields{"results[0].rank": 1, "results[1].rank": 2})
			for member, kinds := range memoryShape {
				a.shape(map[string]string{"results[0].memory." + member: kinds})
			}
			a.shape(map[string]string{"results[0].score": "number", "results[0].matched": "array"}).lacks("results[0].why")
			a.has(fields{"results[0].memory.text": "Ada plays the violin on Sundays.", "results[0].memory.tags": []string{"music"}})
			before := math.Inf(1)
			for i := range a.list("results") {
				score := a.decimal(fmt.Sprintf("results[%d].score", i))
				if score > before || score <= 0 {
					a.broken("the scores do not fall: %v after %v", score, before)
				}
				before = score
			}
			if len(a.list("results[0].matched")) == 0 {
				a.broken("nothing of the query is said to have matched")
			}
			if again := c.recall(who, "Who plays the violin?"); !slices.Equal(again.recalled(), a.recalled()) || again.decimal("results[0].score") != a.decimal("results[0].score") {
				again.broken("the same question has another answer")
			}
		}},
		{"ARecallExplainsItselfWhenAsked", func(c *check) {
			who := c.subject()
			c.remember(who, "The boiler is serviced in May.")
			c.recall(who, "boiler", fields{"explain": true}).shape(map[string]string{"results[0].why": "object"})
		}},
		{"WordsAreFoundInEveryForm", func(c *check) {
			who := c.subject()
			c.remember(who, "She walks her dogs in the park.")
			for _, query := range []string{"walking", "DOG", "parks", "Dogs?"} {
				if got := c.recall(who, query).recalled(); len(got) != 1 {
					c.broken("%q recalls %d memories, want 1", query, len(got))
				}
			}
		}},
		{"EveryScriptIsRecalled", func(c *check) {
			who := c.subject()
			for _, m := range [][2]string{
				{"她喜欢在早上喝绿茶", "绿茶"},
				{"彼は毎朝ヴァイオリンを練習します", "ヴァイオリン"},
				{"הכלב שלה אוהב גבינה", "גבינה"},
				{"تحب القهوة بدون سكر", "القهوة"},
				{"उसे सुबह की चाय पसंद है", "चाय"},
				{"Она играет на скрипке", "скрипке"},
				{"그녀는 바이올린을 연주한다", "바이올린을"},
				{"ชอบดื่มชาเขียว", "ชาเขียว"},
				{"Crème brûlée à la carte", "creme"},
				{"Το σκυλί της", "σκυλί"},
			} {
				c.remember(who, m[0])
				if got := c.recall(who, m[1]).recalled(); !slices.Contains(got, m[0]) {
					c.broken("%q does not recall %q but %q", m[1], m[0], got)
				}
			}
		}},
		{"HostileTextIsRecalled", func(c *check) {
			who, word := c.subject(), c.suite.word()
			for i, text := range hostile() {
				if len(text) > 65_000 || strings.TrimSpace(text) == "" {
					continue
				}
				text += " " + word + fmt.Sprint("n", i)
				c.remember(who, text)
				c.recall(who, word+fmt.Sprint("n", i), fields{"limit": 1}).has(fields{"results[0].memory.text": text})
			}
			for _, query := range append(hostile(), `"`, "-", "*", "(", "a:b", "a\u0000b") {
				if len(query) <= 1024 && strings.TrimSpace(query) != "" {
					c.recall(who, query)
				}
			}
		}},
		{"OnlyOneSubjectIsRecalled", func(c *check) {
			who, other, word := c.subject(), c.subject(), c.suite.word()
			c.remember(who, word)
			c.recall(other, word).has(fields{"results": []any{}})
			c.recall(c.suite.name(), word).has(fields{"results": []any{}})
		}},
		{"TheLimitIsKept", func(c *check) {
			who, word := c.subject(), c.suite.word()
			var items []fields
			for i := range 30 {
				items = append(items, fields{"subjectId": who, "text": fmt.Sprintf("%s number %d", word, i)})
			}
			c.post(memoriesPath + "/batch").json(fields{"items": items}).send().is(http.StatusOK)
			for limit, want := range map[int]int{1: 1, 25: 25, 200: 30} {
				if got := len(c.recall(who, word, fields{"limit": limit}).list("results")); got != want {
					c.broken("a limit of %d gives %d of 30", limit, got)
				}
			}
			if got := len(c.recall(who, word).list("results")); got != 10 {
				c.broken("without a limit there are %d results, want 10", got)
			}
		}},
		{"FiltersComeBeforeRanking", func(c *check) {
			who, word := c.subject(), c.suite.word()
			c.remember(who, word+" all", fields{"agentId": "a1", "sessionId": "s1", "kind": "note", "tags": []string{"red", "big"}, "occurredAt": "2026-05-01T00:00:00Z"})
			c.remember(who, word+" some", fields{"agentId": "a1", "kind": "event", "tags": []string{"red"}, "occurredAt": "2026-04-01T00:00:00Z"})
			c.remember(who, word+" few", fields{"sessionId": "s1", "occurredAt": "2026-03-01T00:00:00Z"})
			for _, f := range []struct {
				filter fields
				want   string
			}{
				{fields{}, "all few some"},
				{fields{"agentId": "a1"}, "all some"},
				{fields{"sessionId": "s1"}, "all few"},
				{fields{"kinds": []string{"note", "fact"}}, "all few"},
				{fields{"kinds": []string{"turn"}}, ""},
				{fields{"tags": []string{"red"}}, "all some"},
				{fields{"tags": []string{"red", "big"}}, "all"},
				{fields{"from": "2026-04-01T00:00:00Z"}, "all some"},
				{fields{"to": "2026-04-01T00:00:00Z"}, "few"},
				{fields{"agentId": "a2"}, ""},
				{fields{"agentId": "a1", "sessionId": "s1"}, "all"},
				{fields{"minScore": 1e9}, ""},
			} {
				f.filter["limit"] = 3
				a := c.recall(who, word, f.filter)
				var got []string
				for _, text := range a.recalled() {
					got = append(got, strings.TrimPrefix(text, word+" "))
				}
				slices.Sort(got)
				if strings.Join(got, " ") != f.want {
					a.broken("%v, want %s", got, f.want)
				}
			}
		}},
		{"AsOfSeesWhatWasThereThen", func(c *check) {
			who, word := c.subject(), c.suite.word()
			old := c.remember(who, word+" old")
			c.wait(20 * time.Millisecond)
			c.remember(who, word+" new")
			c.recall(who, word, fields{"asOf": old.text("createdAt")}).has(fields{"results[0].memory.text": word + " old"}).lacks("results[1]")
			c.recall(who, word, fields{"asOf": "2020-01-01T00:00:00Z"}).has(fields{"results": []any{}})
			if n := len(c.recall(who, word).list("results")); n != 2 {
				c.broken("now there are %d, want 2", n)
			}
		}},
		{"AsOfKeepsToWhatIsValid", func(c *check) {
			who, word := c.subject(), c.suite.word()
			at := func(d time.Duration) string { return c.suite.now().Add(d).UTC().Format(time.RFC3339) }
			c.remember(who, word+" past", fields{"validTo": at(-time.Hour)})
			c.remember(who, word+" ending", fields{"validTo": at(time.Hour)})
			c.remember(who, word+" coming", fields{"validFrom": at(time.Hour)})
			for asOf, want := range map[string]string{"": word + " ending", at(2 * time.Hour): word + " coming"} {
				more := fields{}
				if asOf != "" {
					more["asOf"] = asOf
				}
				c.recall(who, word, more).has(fields{"results[0].memory.text": want}).lacks("results[1]")
			}
		}},
		{"AChangeIsInTheNextRecall", func(c *check) {
			who, before, after := c.subject(), c.suite.word(), c.suite.word()
			a := c.remember(who, before)
			c.recall(who, before).has(fields{"results[0].memory.id": a.text("id")})
			c.patch(a.memory()).json(fields{"text": after}).send().is(http.StatusOK)
			c.recall(who, after).has(fields{"results[0].memory.text": after, "results[0].memory.revision": 2})
			c.recall(who, before).has(fields{"results": []any{}})
			c.delete(a.memory()).send().is(http.StatusNoContent)
			c.recall(who, after).has(fields{"results": []any{}})
		}},
		{"ABadRecallIs400", func(c *check) {
			who := c.subject()
			c.post(memoriesPath+"/recall").json(fields{"query": "x"}).send().fails(400, "validation_error", "subjectId", "required")
			for _, bad := range []struct {
				more         fields
				field, issue string
			}{
				{fields{"query": nil}, "query", "required|type"},
				{fields{"query": " \n"}, "query", "required"},
				{fields{"query": 7}, "query", "type"},
				{fields{"limit": 0}, "limit", "too_small"},
				{fields{"limit": 201}, "limit", "too_large"},
				{fields{"limit": "x"}, "limit", "type"},
				{fields{"subjectId": "a/b"}, "subjectId", "format"},
				{fields{"kinds": []string{"odd"}}, "kinds[0]", "not_allowed"},
				{fields{"tags": []any{1}}, "tags[0]", "type"},
				{fields{"asOf": "now"}, "asOf", "format"},
				{fields{"from": 1}, "from", "type"},
				{fields{"explain": 1}, "explain", "type"},
				{fields{"minScore": "x"}, "minScore", "type"},
				{fields{"colour": 1}, "colour", "unknown"},
				{fields{"agentId": ""}, "agentId", "format|required|too_short"},
				{fields{"sessionId": "é"}, "sessionId", "format"},
			} {
				c.recallQuery(who, "x", bad.more).send().fails(400, "validation_error", bad.field, bad.issue)
			}
		}},
	}
}

// decimal returns a number field, or NaN.
func (a *answer) decimal(path string) float64 {
	v, _ := a.at(path)
	if n, ok := v.(interface{ Float64() (float64, error) }); ok {
		if x, err := n.Float64(); err == nil {
			return x
		}
	}
	return math.NaN()
}

// contextChecks checks POST /api/v1/memories/context (docs/spec/memories.md).
func contextChecks() []promise {
	pack := func(c *check, more fields) *answer {
		return c.post(memoriesPath + "/context").json(more).send().is(http.StatusOK).
			shape(map[string]string{
				"text": "string", "memoryIds": "array", "tokens": "integer", "parts.pinned": "array", "parts.recalled": "array", "parts.recent": "array",
				"cut": "array", "omitted.pinned": "integer", "omitted.recalled": "integer", "omitted.recent": "integer",
			})
	}
	return []promise{
		{"MemoriesArePackedInTheOrderOfTime", func(c *check) {
			who := c.subject()
			b := c.remember(who, "Then the violin was sold.", fields{"occurredAt": "2026-02-01T10:00:00Z", "speaker": "Ada"})
			a := c.remember(who, "First a violin was bought.", fields{"occurredAt": "2026-01-01T10:00:00Z"})
			p := pack(c, fields{"subjectId": who, "query": "violin", "maxTokens": 500})
			p.has(fields{"memoryIds": []string{a.text("id"), b.text("id")}, "parts.recalled": []string{a.text("id"), b.text("id")}})
			text := p.text("text")
			first, then := strings.Index(text, "First a violin was bought."), strings.Index(text, "Then the violin was sold.")
			if first < 0 || then < first || !strings.Contains(text, "2026") || !strings.Contains(text, "Ada") {
				p.broken("want both texts in the order of time, with their dates and speakers")
			}
			if p.integer("tokens") < 1 || p.integer("tokens") > 500 {
				p.broken("tokens are not from 1 to 500")
			}
		}},
		{"NothingVanishesFromAContext", func(c *check) {
			who := c.subject()
			sentence := "The violin is in the attic, and it is out of tune. "
			long := c.remember(who, strings.TrimSpace(strings.Repeat(sentence, 120)), fields{"pinned": true}).text("id")
			p := pack(c, fields{"subjectId": who}).has(fields{"cut": []string{long}, "memoryIds": []string{long}, "omitted.pinned": 0})
			if text := p.text("text"); !strings.Contains(text, sentence) || !strings.Contains(text, long) {
				p.broken("want the beginning of the pinned memory, marked with its id")
			}
			answer := c.remember(who, "The cello is in the cellar.").text("id")
			p = pack(c, fields{"subjectId": who, "query": "Where is the cello?", "maxCharacters": 300})
			p.has(fields{"cut": []string{long}, "parts.pinned": []string{long}, "parts.recalled": []string{answer}})
			pack(c, fields{"subjectId": who, "maxCharacters": 3}).has(fields{"text": "", "omitted.pinned": 1, "omitted.recent": 1})
		}},
		{"DaysAreThoseOfTheTimeZone", func(c *check) {
			who := c.subject()
			c.remember(who, "There was a party.", fields{"occurredAt": "2026-01-01T01:00:00Z"})
			for zone, day := range map[string]string{"America/New_York": "2025-12-31", "UTC": "2026-01-01"} {
				if p := pack(c, fields{"subjectId": who, "timeZone": zone}); !strings.Contains(p.text("text"), day) {
					p.broken("the day is not %s", day)
				}
			}
			for _, path := range []string{"/context", "/recall"} {
				for _, zone := range []string{"", "Local", "Europe/Atlantis", "+01:00"} {
					c.post(memoriesPath+path).json(fields{"subjectId": who, "query": "party", "timeZone": zone}).send().fails(400, "validation_error", "timeZone", "invalid")
				}
			}
		}},
		{"TheBudgetIsKept", func(c *check) {
			who := c.subject()
			var items []fields
			for i := range 60 {
				items = append(items, fields{"subjectId": who, "text": fmt.Sprintf("Number %d is about bees and honey, and 蜂蜜 is the word for it. 🍯", i)})
			}
			c.post(memoriesPath + "/batch").json(fields{"items": items}).send().is(http.StatusOK)
			some := 0
			for _, budget := range []int{1, 40, 100, 400} {
				tokens := pack(c, fields{"subjectId": who, "query": "bees", "maxTokens": budget})
				if tokens.integer("tokens") > int64(budget) {
					tokens.broken("the budget is %d tokens", budget)
				}
				characters := pack(c, fields{"subjectId": who, "query": "bees", "maxCharacters": budget})
				if n := utf8.RuneCountInString(characters.text("text")); n > budget {
					characters.broken("%d characters, the budget is %d", n, budget)
				}
				for _, p := range []*answer{tokens, characters} {
					if ids := p.list("memoryIds"); len(ids) == 0 != (p.text("text") == "") {
						p.broken("a text without ids, or ids without a text")
					} else {
						some += len(ids)
					}
				}
			}
			if some == 0 {
				c.broken("no budget up to 400 holds any of 60 memories")
			}
		}},
		{"WithoutAQueryThereIsAContextToo", func(c *check) {
			who := c.subject()
			c.remember(who, "Bees make honey.")
			p := pack(c, fields{"subjectId": who, "maxCharacters": 2000})
			if !strings.Contains(p.text("text"), "Bees make honey.") {
				p.broken("the only memory is not in the context")
			}
		}},
		{"PinnedThenRecalledThenRecent", func(c *check) {
			who := c.subject()
			old := c.remember(who, "Her dentist is in Lisbon.", fields{"occurredAt": "2026-01-01T10:00:00Z"}).text("id")
			found := c.remember(who, "The violin was sold.", fields{"occurredAt": "2026-01-02T10:00:00Z"}).text("id")
			pinned := c.remember(who, "Call her Dr. Moss.", fields{"occurredAt": "2026-01-03T10:00:00Z", "pinned": true}).text("id")
			last := c.remember(who, "She likes tea.", fields{"occurredAt": "2026-01-04T10:00:00Z"}).text("id")
			p := pack(c, fields{"subjectId": who, "query": "violin"})
			p.has(fields{
				"memoryIds": []string{pinned, found, old, last}, "parts.pinned": []string{pinned}, "parts.recalled": []string{found}, "parts.recent": []string{old, last},
			})
			if text := p.text("text"); strings.Index(text, "Dr. Moss") > strings.Index(text, "violin") || strings.Index(text, "violin") > strings.Index(text, "tea") {
				p.broken("the text is not in the order of its parts")
			}
			pack(c, fields{"subjectId": who}).has(fields{"parts.pinned": []string{pinned}, "parts.recalled": []any{}, "parts.recent": []string{old, found, last}})
			pack(c, fields{"subjectId": who, "query": "violin", "limit": 2}).has(fields{"memoryIds": []string{pinned, found}})
		}},
		{"ARecallIsFilledUp", func(c *check) {
			who := c.subject()
			found := c.remember(who, "The violin was sold.", fields{"occurredAt": "2026-01-01T10:00:00Z"}).text("id")
			pinned := c.remember(who, "Call her Dr. Moss.", fields{"occurredAt": "2026-01-02T10:00:00Z", "pinned": true}).text("id")
			c.remember(who, "She likes coffee.", fields{"occurredAt": "2026-01-03T10:00:00Z"})
			last := c.remember(who, "She likes tea.", fields{"occurredAt": "2026-01-04T10:00:00Z"}).text("id")
			a := c.recall(who, "violin", fields{"fill": "recent", "limit": 3})
			a.has(fields{"results[0].memory.id": found, "results[1].memory.id": pinned, "results[2].memory.id": last})
			a.has(fields{"results[1].score": 0, "results[1].matched": []any{}, "results[2].rank": 3})
			if n := len(a.list("results")); n != 3 {
				a.broken("%d results, want 3", n)
			}
			for _, fill := range []fields{{}, {"fill": "none"}} {
				if got := c.recall(who, "violin", fill).recalled(); len(got) != 1 {
					c.broken("without fill there are %d results, want 1", len(got))
				}
			}
			c.recallQuery(who, "violin", fields{"fill": "all"}).send().fails(400, "validation_error", "fill", "not_allowed")
		}},
		{"NothingIsSaidTwice", func(c *check) {
			who := c.subject()
			for range 3 {
				c.remember(who, "Bees make honey.", fields{"allowDuplicate": true})
			}
			p := pack(c, fields{"subjectId": who, "query": "honey", "maxTokens": 500})
			if n := strings.Count(p.text("text"), "Bees make honey."); n != 1 {
				p.broken("the same is there %d times", n)
			}
		}},
		{"AnUnknownSubjectHasAnEmptyContext", func(c *check) {
			nothing := fields{"text": "", "memoryIds": []any{}, "tokens": 0}
			pack(c, fields{"subjectId": c.suite.name(), "query": "x", "maxTokens": 100}).has(nothing)
			pack(c, fields{"subjectId": c.suite.name(), "maxCharacters": 100}).has(nothing)
		}},
		{"ContextIsFiltered", func(c *check) {
			who := c.subject()
			c.remember(who, "Bees make honey.", fields{"agentId": "a1", "tags": []string{"x"}, "kind": "note"})
			c.remember(who, "Bears eat honey.", fields{"agentId": "a2"})
			for _, filter := range []fields{{"agentId": "a1"}, {"tags": []string{"x"}}, {"kinds": []string{"note"}}} {
				filter["subjectId"], filter["query"], filter["maxTokens"] = who, "honey", 500
				p := pack(c, filter)
				if text := p.text("text"); !strings.Contains(text, "Bees") || strings.Contains(text, "Bears") {
					p.broken("the filter was not kept")
				}
			}
		}},
		{"ABadContextIs400", func(c *check) {
			who := c.subject()
			for _, bad := range []struct {
				body         fields
				field, issue string
			}{
				{fields{"query": "x", "maxTokens": 10}, "subjectId", "required"},
				{fields{"subjectId": who, "maxTokens": 10, "maxCharacters": 10}, "maxCharacters", "not_allowed|conflict"},
				{fields{"subjectId": who, "maxTokens": 0}, "maxTokens", "too_small"},
				{fields{"subjectId": who, "maxCharacters": -1}, "maxCharacters", "too_small"},
				{fields{"subjectId": who, "maxTokens": "x"}, "maxTokens", "type"},
				{fields{"subjectId": who, "maxTokens": 10, "budget": 1}, "budget", "unknown"},
				{fields{"subjectId": who, "maxTokens": 10, "query": " "}, "query", "required"},
			} {
				c.post(memoriesPath+"/context").json(bad.body).send().fails(400, "validation_error", bad.field, bad.issue)
			}
		}},
	}
}
