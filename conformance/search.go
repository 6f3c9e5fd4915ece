package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// answerShape is the response to a search (docs/spec/documents.md).
var answerShape = map[string]string{
	"query": "string", "total": "integer", "totalRelation": "string", "tookMs": "number", "results": "array", "facets": "object",
	"suggestion": "string|null", "nextCursor": "string|null",
}

// hitShape is a result of a search.
var hitShape = map[string]string{
	"id": "string", "collection": "string", "title": "string", "snippet": "string", "highlights": "array", "passages": "array", "score": "number",
	"url": "string|null", "tags": "array", "metadata": "object", "updatedAt": "time",
}

// searchChecks checks the search of §4 and docs/spec/documents.md.
func searchChecks() []promise {
	const path = "/api/v1/search"
	list := []promise{
		{"AMissingQIs400", func(c *check) {
			for _, query := range []string{"", "?q=", "?q=%20%09%0a", "?q=%E3%80%80", "?limit=3"} {
				a := c.get(path+query).send().fails(400, "validation_error", "q", "required")
				if !strings.Contains(strings.ToLower(a.text("message")), "required") {
					a.broken("the message does not say that the parameter is required (§4)")
				}
			}
			c.post(path).json(fields{}).send().fails(400, "validation_error", "q", "required")
			c.post(path).json(fields{"q": " \n"}).send().fails(400, "validation_error", "q", "required")
		}},
		{"AWrittenDocumentIsFoundByTheNextSearch", func(c *check) {
			for range 5 {
				word, id := c.suite.word(), c.suite.name()
				c.document(id, fields{"text": "A text about " + word + "."})
				c.finds(word, id)
				c.document(id, fields{"text": "Nothing of that any more."})
				c.finds(word)
			}
		}},
		{"ADeletedDocumentIsGoneFromTheNextSearch", func(c *check) {
			word, id := c.suite.word(), c.suite.name()
			c.document(id, fields{"title": word})
			c.finds(word, id)
			c.delete(docsPath + "/" + id).send().is(http.StatusNoContent)
			c.finds(word)
		}},
		{"TheAnswerHasItsShape", func(c *check) {
			word, id := c.suite.word(), c.suite.name()
			c.document(id, fields{
				"collection": "conformance", "title": "About " + word, "text": "It is " + word + ".", "url": "https://example.org/", "tags": []string{"a"}, "metadata": fields{"n": 1},
			})
			a := c.search(url.Values{"q": {word}})
			a.has(fields{"query": word, "total": 1, "totalRelation": "eq", "nextCursor": nil})
			a.has(fields{"results[0].id": id, "results[0].url": "https://example.org/", "results[0].tags": []string{"a"}, "results[0].metadata": fields{"n": 1}})
			a.has(fields{"results[0].title": "About " + word, "results[0].collection": "conformance"}).lacks("results[0].text")
			for member, kind := range hitShape {
				a.shape(map[string]string{"results[0]." + member: kind})
			}
		}},
		{"PassagesAreWholeSentencesOfTheText", func(c *check) {
			word, id, filler := c.suite.word(), c.suite.name(), strings.Repeat("Nothing of note happens here. ", 60)
			text := "Ünïcödé 🎉. " + filler + "It is " + word + ". " + filler + "More " + word + " here!"
			c.document(id, fields{"text": text})
			c.search(url.Values{"q": {word}}).has(fields{"results[0].passages": []any{}})
			a := c.search(url.Values{"q": {word}, "passages": {"5"}})
			list := a.list("results[0].passages")
			if len(list) != 2 {
				c.stop("%d passages, want 2\n  %s", len(list), a.describe())
			}
			points := []rune(text)
			for i := range list {
				at := fmt.Sprintf("results[0].passages[%d].", i)
				passage, start, end := a.text(at+"text"), a.integer(at+"start"), a.integer(at+"end")
				if utf8.RuneCountInString(passage) > 1000 || !strings.Contains(passage, word) || passage != string(points[start:end]) {
					c.stop("passage %d is not a part of the text with the word, of at most 1,000 characters\n  %s", i, a.describe())
				}
				if first, last := passage[:1], passage[len(passage)-1:]; first != strings.ToUpper(first) || last != "." && last != "!" {
					c.stop("passage %d is not whole sentences\n  %s", i, a.describe())
				}
			}
			for _, bad := range []string{"-1", "6", "x"} {
				c.get(path + "?q=x&passages=" + bad).send().is(http.StatusBadRequest)
			}
		}},
		{"SeveralSearchesAnswerInOrder", func(c *check) {
			word, id := c.suite.word(), c.suite.name()
			c.document(id, fields{"text": "It is " + word + "."})
			search := func(searches ...any) *call { return c.post(path + "/multi").json(fields{"searches": searches}) }
			a := search(fields{"q": word}, fields{"q": " "}, fields{"q": c.suite.word(), "fuzzy": "off"}, fields{"q": word, "no": 1}, 7).send().is(http.StatusOK)
			a.has(fields{"results[0].total": 1, "results[0].results[0].id": id, "results[2].total": 0})
			a.has(fields{"results[1].error": "validation_error", "results[1].details.field": "q", "results[1].details.issue": "required"})
			a.has(fields{"results[3].error": "validation_error", "results[3].details.field": "no", "results[4].error": "validation_error"})
			c.post(path+"/multi").json(fields{"searches": []any{}}).send().fails(400, "validation_error", "searches", "too_short")
			search(slices.Repeat([]any{fields{"q": "x"}}, 21)...).send().fails(400, "validation_error", "searches", "too_long")
		}},
		{"EachOfSeveralSearchesIsChargedAsARequest", func(c *check) {
			k := c.newKey(fields{"quota": fields{"daily": 4}}, "read")
			searches := fields{"searches": slices.Repeat([]any{fields{"q": "x"}}, 3)}
			a := c.post(path + "/multi").as(k.text).now().json(searches).send().is(http.StatusOK)
			for i := range 3 {
				a.lacks(fmt.Sprintf("results[%d].error", i))
			}
			a = c.post(path + "/multi").as(k.text).now().json(searches).send().is(http.StatusOK)
			a.lacks("results[0].error")
			for i := 1; i < 3; i++ {
				at := fmt.Sprintf("results[%d].", i)
				a.has(fields{at + "error": "rate_limit_exceeded", at + "remaining": 0, at + "details.policy": "daily_quota"})
			}
			c.post(path+"/multi").as(k.text).now().json(searches).send().fails(429, "rate_limit_exceeded")
		}},
		{"NothingFoundIsNoError", func(c *check) {
			c.search(url.Values{"q": {c.suite.word()}, "fuzzy": {"off"}}).has(fields{"total": 0, "results": []any{}, "nextCursor": nil})
		}},
		{"HighlightsAreCodePoints", func(c *check) {
			word := c.suite.word()
			c.document(c.suite.name(), fields{"title": "👩‍👩‍👧 題名 " + word, "text": "Ünïcödé 🎉🎉 日本語 — " + word + " <b>&amp; " + strings.ToUpper(word) + "."})
			a := c.search(url.Values{"q": {word}})
			seen := map[string]int{}
			for i := range a.list("results[0].highlights") {
				at := fmt.Sprintf("results[0].highlights[%d].", i)
				field := a.text(at + "field")
				if field != "title" && field != "snippet" {
					c.stop("highlight of field %q, want title or snippet\n  %s", field, a.describe())
				}
				text := []rune(a.text("results[0]." + field))
				start, end := a.integer(at+"start"), a.integer(at+"end")
				if start < 0 || end <= start || end > int64(len(text)) {
					c.stop("highlight %d–%d of %d code points\n  %s", start, end, len(text), a.describe())
				}
				if got := string(text[start:end]); !strings.EqualFold(got, word) {
					a.broken("the highlight shows %q, want %q", got, word)
				}
				seen[field]++
			}
			if seen["title"] != 1 || seen["snippet"] != 2 {
				a.broken("%d highlights in the title and %d in the snippet, want 1 and 2", seen["title"], seen["snippet"])
			}
			c.search(url.Values{"q": {word}, "highlight": {"false"}}).has(fields{"results[0].highlights": []any{}})
		}},
		{"TheSnippetIsAroundTheMatch", func(c *check) {
			word := c.suite.word()
			c.document(c.suite.name(), fields{"text": strings.Repeat("Before it is much else. ", 400) + "Here is " + word + " at last. " + strings.Repeat("After it too. ", 400)})
			snippet := c.search(url.Values{"q": {word}}).text("results[0].snippet")
			if !strings.Contains(snippet, word) || utf8.RuneCountInString(snippet) > 400 {
				c.broken("the snippet of %d characters is not a passage around the match", utf8.RuneCountInString(snippet))
			}
		}},
		{"AnyWordMatchesAndMoreWordsRankHigher", func(c *check) {
			one, two, filler := c.suite.word(), c.suite.word(), " and some other words"
			first, second, both := c.suite.name(), c.suite.name(), c.suite.name()
			c.document(first, fields{"text": one + filler})
			c.document(second, fields{"text": two + filler})
			c.document(both, fields{"text": one + " " + two + filler})
			a := c.search(url.Values{"q": {one + " " + two}}).has(fields{"total": 3, "results[0].id": both})
			c.finds(one+" "+two, first, second, both)
			if again := c.search(url.Values{"q": {one + " " + two}}); !slices.Equal(again.texts("results", "id"), a.texts("results", "id")) {
				again.broken("the same search twice has two orders")
			}
		}},
		{"APhraseMustOccur", func(c *check) {
			one, two := c.suite.word(), c.suite.word()
			together, apart := c.suite.name(), c.suite.name()
			c.document(together, fields{"text": "So " + one + " " + two + " it is."})
			c.document(apart, fields{"text": "So " + two + " is not " + one + " it is."})
			c.finds(`"`+one+" "+two+`"`, together)
			c.finds(`"`+two+" "+one+`"`, "")
			c.finds(one+" "+two, together, apart)
		}},
		{"OtherFormsOfAWordAreFoundInTheLanguageOfTheDocument", func(c *check) {
			for _, of := range []struct{ text, query, highlight string }{
				{"The houses are on the hill, and the cats are with them: ", "house", "houses"},
				{"Die Häuser und die Katzen sind nicht in der Stadt: ", "Katze", "Katzen"},
				{"Las habitaciones de los niños están en la casa: ", "habitación", "habitaciones"},
				{"Les médicaments sont dans la cuisine et pas dans le salon: ", "médicament", "médicaments"},
			} {
				word, id := c.suite.word(), c.suite.name()
				c.document(id, fields{"text": of.text + word + "."})
				a := c.search(url.Values{"q": {`"` + word + `" "` + of.query + `"`}}).has(fields{"total": 1, "results[0].id": id})
				text, found := []rune(a.text("results[0].snippet")), false
				for i := range a.list("results[0].highlights") {
					at := fmt.Sprintf("results[0].highlights[%d].", i)
					start, end := a.integer(at+"start"), a.integer(at+"end")
					inside := start >= 0 && start <= end && end <= int64(len(text))
					found = found || inside && string(text[start:end]) == of.highlight
				}
				if !found {
					a.broken("%q is not highlighted", of.highlight)
				}
			}
		}},
		{"AnExcludedWordMustNotOccur", func(c *check) {
			one, two := c.suite.word(), c.suite.word()
			with, without := c.suite.name(), c.suite.name()
			c.document(with, fields{"text": one + " " + two})
			c.document(without, fields{"text": one})
			c.finds(one+" -"+two, without)
			c.finds(one, with, without)
			c.finds(two+" -"+two, "")
		}},
		{"NothingTypedIsAnError", func(c *check) {
			for _, q := range []string{
				`"`, `""`, `"unfinished`, "-", "--", "-a", `-"a b"`, "a AND b OR NOT c", "title:x", "a*", "?", "/regex.*/", "[1 TO 5]", "a~2", "a^3", "(((", `\`, "a\\\"b",
				"'; DROP TABLE document; --", "%00", "a\x00b", "\u202e", "🎉", "日本語", "a\tb\nc", "{}", "+a -b \"c", "<script>alert(1)</script>", strings.Repeat("a ", 512),
				strings.Repeat("é", 1024), strings.Repeat(`"a" `, 256), strings.Repeat("-a ", 341), strings.Repeat("\"", 1024), "null", "$where", "NEAR(a b)", "\ufeff", "ﷺ",
			} {
				a := c.get(path + "?" + url.Values{"q": {q}}.Encode()).send()
				if a.status != http.StatusOK {
					a.broken("want 200 for %q", q)
				} else {
					a.shape(answerShape)
				}
			}
		}},
		{"QHasALimitInCharacters", func(c *check) {
			c.get(path+"?q="+strings.Repeat("a", 1025)).send().fails(400, "validation_error", "q", "too_long")
			c.get(path+"?q="+strings.Repeat("%C3%A9", 1025)).send().fails(400, "validation_error", "q", "too_long")
			c.post(path).json(fields{"q": strings.Repeat("é", 1025)}).send().fails(400, "validation_error", "q", "too_long")
		}},
		{"ALongPhraseIsAccepted", func(c *check) {
			for _, mark := range []string{`"`, `-"`, `fox "`} {
				for _, words := range []int{32, 33, 400} {
					phrase := mark + strings.TrimSpace(strings.Repeat("a ", words)) + `"`
					c.search(url.Values{"q": {phrase}})
					c.post(path).json(fields{"q": phrase}).send().is(http.StatusOK)
				}
			}
		}},
		{"BadUTF8Is400", func(c *check) {
			for _, q := range []string{"%ff", "a%C3", "%ed%a0%80", "%c0%af", "%f8%88%80%80%80"} {
				c.get(path+"?q="+q).send().fails(400, "validation_error", "q", "format")
			}
		}},
		{"CollectionAndTagsNarrow", func(c *check) {
			word, collection := c.suite.word(), c.suite.name()
			in, tagged, out := c.suite.name(), c.suite.name(), c.suite.name()
			c.document(in, fields{"collection": collection, "text": word, "tags": []string{"red"}})
			c.document(tagged, fields{"collection": collection, "text": word, "tags": []string{"red", "Two Words"}})
			c.document(out, fields{"collection": "conformance-other", "text": word, "tags": []string{"Two Words"}})
			for query, want := range map[string][]string{
				"": {in, tagged, out}, "&collection=" + collection: {in, tagged}, "&tag=red": {in, tagged}, "&tag=red&tag=Two%20Words": {tagged},
				"&tag=Two%20Words": {tagged, out}, "&tag=two": nil, "&collection=nowhere": nil, "&collection=" + collection + "&tag=red&tag=Two+Words": {tagged},
			} {
				a := c.get(path + "?q=" + word + query).send().is(http.StatusOK)
				if got := a.texts("results", "id"); !sameSet(got, want) || a.integer("total") != int64(len(want)) {
					a.broken("found %v, want %v", got, want)
				}
			}
		}},
	}
	return append(list, moreSearchChecks()...)
}

func moreSearchChecks() []promise {
	const path = "/api/v1/search"
	return []promise{
		{"PagesAreWholeAndStable", func(c *check) {
			word, collection := c.suite.word(), c.suite.name()
			want := map[string]bool{}
			for i := range 11 {
				id := c.suite.name()
				c.document(id, fields{"collection": collection, "text": strings.Repeat(word+" ", 1+i%3) + "and more"})
				want[id] = true
			}
			query, seen, score := path+"?q="+word+"&limit=", 0, 1e300
			a := c.get(query + "4").send().is(http.StatusOK)
			for _, limit := range []string{"2", "100", ""} {
				a.has(fields{"total": 11, "totalRelation": "eq"})
				for i, id := range a.texts("results", "id") {
					if !want[id] {
						a.broken("%s is on two pages", id)
					}
					delete(want, id)
					seen++
					var s float64
					v, _ := a.at(fmt.Sprintf("results[%d].score", i))
					if _, err := fmt.Sscan(fmt.Sprint(v), &s); err != nil || s > score {
						a.broken("scores rise from one result to the next")
					}
					score = s
				}
				if limit != "" {
					a = c.get(query + limit + "&cursor=" + a.text("nextCursor")).send().is(http.StatusOK)
				}
			}
			if seen != 11 || a.text("nextCursor") != "" {
				a.broken("%d of 11 results on three pages, nextCursor %q", seen, a.text("nextCursor"))
			}
		}},
		{"ACursorGoesWithItsOwnSearchOnly", func(c *check) {
			word := c.suite.word()
			for range 3 {
				c.document(c.suite.name(), fields{"text": word, "tags": []string{"x"}})
			}
			cursor := c.get(path + "?limit=1&q=" + word).send().is(http.StatusOK).text("nextCursor")
			if cursor == "" {
				c.stop("three results in pages of one have no next page")
			}
			for _, query := range []string{"q=other", "q=" + word + "&tag=x", "q=" + word + "&collection=y", "q=" + word + "&prefix=true", "q=" + word + "&sort=updatedAt", "q=" + word + "&highlight=false"} {
				c.get(path+"?"+query+"&cursor="+cursor).send().fails(400, "validation_error", "cursor", "invalid")
			}
			for _, forged := range []string{"x", flip(cursor, 3), flip(cursor, len(cursor)-2), cursor + "A", cursor[1:]} {
				c.get(path+"?q="+word+"&cursor="+forged).send().fails(400, "validation_error", "cursor", "invalid")
			}
			c.get(path + "?limit=2&q=" + word + "&cursor=" + cursor).as(c.newKey(nil, "read").text).send().is(http.StatusOK)
		}},
		{"ResultsAreSortedByTime", func(c *check) {
			word, ids := c.suite.word(), []string{c.suite.name(), c.suite.name(), c.suite.name()}
			for i, id := range ids {
				c.document(id, fields{"text": strings.Repeat(word+" ", 3-i)})
				c.wait(3e6)
			}
			if got := c.search(url.Values{"q": {word}, "sort": {"updatedAt"}}).texts("results", "id"); !slices.Equal(got, ids) {
				c.broken("sort=updatedAt gives %v, want %v", got, ids)
			}
			slices.Reverse(ids)
			if got := c.search(url.Values{"q": {word}, "sort": {"-updatedAt"}}).texts("results", "id"); !slices.Equal(got, ids) {
				c.broken("sort=-updatedAt gives %v, want %v", got, ids)
			}
		}},
		{"PrefixMatchesTheLastWordAsTyped", func(c *check) {
			word, id := c.suite.word(), c.suite.name()
			c.document(id, fields{"text": "It begins with " + word})
			half := word[:len(word)-2]
			if got := c.search(url.Values{"q": {half}, "fuzzy": {"off"}, "prefix": {"false"}}).texts("results", "id"); len(got) > 0 {
				c.broken("with prefix=false the beginning of a word finds %v", got)
			}
			for _, values := range []url.Values{{"q": {half}, "prefix": {"true"}}, {"q": {half}, "prefix": {"auto"}}, {"q": {half}}} {
				if got := c.search(values).texts("results", "id"); !slices.Contains(got, id) {
					c.broken("%s does not find a document by the beginning of a word, which no document has", values.Encode())
				}
			}
		}},
		{"WordsTogetherAndApartFindEachOther", func(c *check) {
			first, second := c.suite.word(), c.suite.word()
			together, apart := c.suite.name(), c.suite.name()
			c.document(together, fields{"text": first + second})
			c.document(apart, fields{"text": first + "-" + second})
			for _, q := range []string{first + second, first + "-" + second, first + " " + second} {
				got := c.search(url.Values{"q": {q}, "fuzzy": {"off"}}).texts("results", "id")
				if !slices.Contains(got, together) || !slices.Contains(got, apart) {
					c.broken("q=%s finds %v", q, got)
				}
			}
		}},
		{"AnAsteriskFindsEverything", func(c *check) {
			collection := c.suite.word()
			for range 2 {
				c.document(c.suite.name(), fields{"collection": collection, "text": c.suite.word()})
			}
			c.search(url.Values{"q": {"*"}, "collection": {collection}}).has(fields{"total": 2})
		}},
		{"POSTSearchesAlike", func(c *check) {
			word, id := c.suite.word(), c.suite.name()
			c.document(id, fields{"collection": "conformance", "text": word, "tags": []string{"a", "b"}})
			a := c.post(path).json(fields{"q": word, "limit": 5, "tag": []string{"a", "b"}, "collection": "conformance", "highlight": true, "prefix": false, "sort": "relevance", "fuzzy": "off"}).send()
			a.is(http.StatusOK).shape(answerShape).has(fields{"total": 1, "results[0].id": id})
			c.post(path).json(fields{"q": word, "tag": "a"}).send().fails(400, "validation_error", "tag", "type")
			c.post(path).json(fields{"q": word, "limit": 101}).send().fails(400, "validation_error", "limit", "too_large")
		}},
		{"CaseAndAccentsDoNotMatter", func(c *check) {
			word, id := c.suite.word(), c.suite.name()
			c.document(id, fields{"text": "É" + strings.ToUpper(word)})
			c.finds("é"+word, id)
		}},
		{"FuzzyMayBeOff", func(c *check) { c.search(url.Values{"q": {"conformance"}, "fuzzy": {"off"}}) }},
		{"TyposAreRepaired", func(c *check) {
			word, id := c.suite.word()+"harbour", c.suite.name()
			c.document(id, fields{"text": word})
			a := c.search(url.Values{"q": {"x " + word[:len(word)-1] + "x"}})
			if got := a.texts("results", "id"); !slices.Contains(got, id) || a.text("suggestion") != "x "+word {
				c.broken("a word with a wrong letter finds %v and suggests %q, want %s and %q", got, a.text("suggestion"), id, "x "+word)
			}
			if got := c.search(url.Values{"q": {word[:len(word)-1] + "x"}, "fuzzy": {"off"}}).texts("results", "id"); len(got) > 0 {
				c.broken("with fuzzy=off a word with a wrong letter finds %v", got)
			}
		}},
		{"ResultsAreFilteredByMetadata", func(c *check) {
			word, ids := c.suite.word(), []string{c.suite.name(), c.suite.name(), c.suite.name()}
			for i, id := range ids {
				c.document(id, fields{"text": word, "metadata": fields{"year": 2019 + i, "color": []string{"red", "green", "green"}[i]}})
			}
			for filter, want := range map[string][]string{
				"year:gte:2020": ids[1:], "year:lt:2020": ids[:1], "year:eq:2020": ids[1:2], "year:ne:2020": {ids[0], ids[2]}, "color:eq:green": ids[1:],
				"color:gt:green": ids[:1], "month:eq:1": {}, "month:ne:1": ids,
			} {
				if got := c.search(url.Values{"q": {word}, "filter": {filter}}).texts("results", "id"); !sameSet(got, want) {
					c.broken("filter=%s finds %v, want %v", filter, got, want)
				}
			}
			c.get(path+"?q=x&filter=year").send().fails(400, "validation_error", "filter", "format")
			c.post(path).json(fields{"q": "x", "filter": []string{"year:is:1"}}).send().fails(400, "validation_error", "filter[0]", "format")
		}},
		{"ResultsAreCountedByFacet", func(c *check) {
			word := c.suite.word()
			for i := range 3 {
				c.document(c.suite.name(), fields{"text": word, "collection": []string{"one", "two", "two"}[i], "tags": []string{"t"}, "metadata": fields{"n": i % 2}})
			}
			c.search(url.Values{"q": {word}, "facets": {"collection,tag,n,none"}, "limit": {"1"}}).has(fields{
				"facets.collection[0].value": "two", "facets.collection[0].count": 2, "facets.collection[1].count": 1,
				"facets.tag[0].count": 3, "facets.n[0].count": 2, "facets.n[0].value": "0",
			})
		}},
	}
}

// finds checks that a search finds exactly these documents. An empty ID means none.
func (c *check) finds(q string, ids ...string) {
	ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
	a := c.search(url.Values{"q": {q}, "limit": {"100"}, "fuzzy": {"off"}}) // words of the suite are like each other
	if got := a.texts("results", "id"); !sameSet(got, ids) || a.integer("total") != int64(len(ids)) {
		a.broken("found %v, want %v", got, ids)
	}
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
