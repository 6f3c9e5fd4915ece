package v1test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func (c client) search(t *testing.T, query string) *answer {
	t.Helper()
	return c.do(t, "GET", "/api/v1/search?"+query, nil)
}

func TestASearchAnswersAsTheSpecificationSays(t *testing.T) {
	t.Parallel()
	c := start(t)
	made := c.put(t, "hours", object{
		"collection": "handbook", "title": "Opening hours", "text": "We open at nine.", "url": "https://example.org/hours",
		"tags": []string{"faq"}, "metadata": object{"floor": 2},
	}).is(201)
	a := c.search(t, "q=open").is(200)
	result := a.body["results"].([]any)[0].(object)
	if score, ok := result["score"].(float64); !ok || score <= 0 {
		t.Errorf("score is %v", result["score"])
	}
	if took, ok := a.body["tookMs"].(float64); !ok || took < 0 {
		t.Errorf("tookMs is %v", a.body["tookMs"])
	}
	want := object{
		"query": "open", "total": 1.0, "totalRelation": "eq", "tookMs": a.body["tookMs"], "facets": object{}, "suggestion": nil, "nextCursor": nil,
		"results": []any{object{
			"id": "hours", "collection": "handbook", "title": "Opening hours", "snippet": "We open at nine.",
			"highlights": []any{
				object{"field": "snippet", "start": 3.0, "end": 7.0}, object{"field": "title", "start": 0.0, "end": 7.0},
			},
			"passages": []any{}, "score": result["score"], "url": "https://example.org/hours", "tags": []any{"faq"}, "metadata": object{"floor": 2.0},
			"updatedAt": made.text("updatedAt"),
		}},
	}
	if diff := cmp.Diff(want, a.body); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	posted := c.do(t, "POST", "/api/v1/search", object{"q": "open"}).is(200)
	want["tookMs"] = posted.body["tookMs"]
	if diff := cmp.Diff(want, posted.body); diff != "" {
		t.Errorf("answer of POST (-want +got):\n%s", diff)
	}
	none := c.search(t, "q=nothing").is(200)
	if none.body["total"] != 0.0 || len(none.body["results"].([]any)) != 0 {
		t.Errorf("a search without results: %v", none.body)
	}
}

func TestParametersOfASearch(t *testing.T) {
	t.Parallel()
	c := start(t)
	for id, collection := range map[string]string{"a": "one", "b": "one", "c": "two"} {
		c.put(t, id, object{
			"text": "stone " + id, "collection": collection, "tags": []string{"t-" + id, "all"}, "metadata": object{"n": id[0] - 'a' + 1},
		}).is(201)
	}
	for _, q := range []struct {
		query string
		body  object
		want  []any
	}{
		{"q=stone", object{"q": "stone"}, []any{"a", "b", "c"}},
		{"q=stone&limit=2", object{"q": "stone", "limit": 2}, []any{"a", "b"}},
		{"q=stone&collection=two", object{"q": "stone", "collection": "two"}, []any{"c"}},
		{"q=stone&tag=all&tag=t-b", object{"q": "stone", "tag": []string{"all", "t-b"}}, []any{"b"}},
		{"q=stone+-a", object{"q": "stone -a"}, []any{"b", "c"}},
		{"q=sto&prefix=true", object{"q": "sto", "prefix": true}, []any{"a", "b", "c"}},
		{"q=sto", object{"q": "sto"}, []any{"a", "b", "c"}}, // no document has it as a word
		{"q=sto&prefix=auto", object{"q": "sto", "prefix": "auto"}, []any{"a", "b", "c"}},
		{"q=sto&prefix=false", object{"q": "sto", "prefix": false}, nil},
		{"q=*", object{"q": "*"}, []any{"a", "b", "c"}},
		{"q=stone&fuzzy=off", object{"q": "stone", "fuzzy": "off"}, []any{"a", "b", "c"}},
		{"q=stome", object{"q": "stome"}, []any{"a", "b", "c"}},
		{"q=stome&fuzzy=off", object{"q": "stome", "fuzzy": "off"}, nil},
		{"q=stone&filter=n:gte:2", object{"q": "stone", "filter": []string{"n:gte:2"}}, []any{"b", "c"}},
		{"q=stone&filter=n:gt:1&filter=n:ne:3", object{"q": "stone", "filter": []string{"n:gt:1", "n:ne:3"}}, []any{"b"}},
		{"q=stone&filter=none:eq:1", object{"q": "stone", "filter": []string{"none:eq:1"}}, nil},
	} {
		if got := c.search(t, q.query).is(200).items("results", "id"); !slices.Equal(got, q.want) {
			t.Errorf("%s: got %v, want %v", q.query, got, q.want)
		}
		if got := c.do(t, "POST", "/api/v1/search", q.body).is(200).items("results", "id"); !slices.Equal(got, q.want) {
			t.Errorf("%v: got %v, want %v", q.body, got, q.want)
		}
	}
	facets := object{
		"collection": []any{object{"value": "one", "count": 2.0}, object{"value": "two", "count": 1.0}},
		"n":          []any{object{"value": "1", "count": 1.0}, object{"value": "2", "count": 1.0}, object{"value": "3", "count": 1.0}},
		"none":       []any{},
	}
	for name, counted := range map[string]*answer{
		"GET":  c.search(t, "q=stone&limit=1&facets=collection,n,none"),
		"POST": c.do(t, "POST", "/api/v1/search", object{"q": "stone", "limit": 1, "facets": []string{"collection", "n", "none"}}),
	} {
		if diff := cmp.Diff(facets, counted.is(200).body["facets"]); diff != "" {
			t.Errorf("facets of %s (-want +got):\n%s", name, diff)
		}
	}
	if got := c.search(t, "q=stome+b").is(200).text("suggestion"); got != "stone b" {
		t.Errorf("suggestion is %q", got)
	}
	plain := c.search(t, "q=stone&highlight=false").is(200)
	for _, highlights := range plain.items("results", "highlights") {
		if len(highlights.([]any)) != 0 {
			t.Errorf("highlight=false came with %v", highlights)
		}
	}
	passage := []any{object{"text": "stone a", "start": 0.0, "end": 7.0}}
	for name, a := range map[string]*answer{
		"GET": c.search(t, "q=a&passages=2"), "POST": c.do(t, "POST", "/api/v1/search", object{"q": "a", "passages": 2}),
	} {
		if diff := cmp.Diff([]any{passage}, a.is(200).items("results", "passages")); diff != "" {
			t.Errorf("passages of %s (-want +got):\n%s", name, diff)
		}
	}
	c.search(t, "q=a&passages=6").is(400)
	newest := c.search(t, "q=stone&sort=-updatedAt").is(200).items("results", "updatedAt")
	if !slices.IsSortedFunc(newest, func(x, y any) int { return strings.Compare(y.(string), x.(string)) }) {
		t.Errorf("sorted by -updatedAt: %v", newest)
	}
}

func TestCursorsLeadThroughAllResults(t *testing.T) {
	t.Parallel()
	c := start(t)
	var lines strings.Builder
	for i := range 25 {
		fmt.Fprintf(&lines, "{\"id\":\"d%d\",\"text\":\"stone\"}\n", i)
	}
	c.load(t, lines.String()).is(200)
	first := c.search(t, "q=stone&limit=10").is(200)
	cursor := url.QueryEscape(first.text("nextCursor"))
	second := c.search(t, "q=stone&limit=20&cursor="+cursor).is(200)
	ids := append(first.items("results", "id"), second.items("results", "id")...)
	seen := map[any]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	if len(ids) != 25 || len(seen) != 25 || second.body["nextCursor"] != nil {
		t.Errorf("two pages gave %d, %d of them different, then %v", len(ids), len(seen), second.body["nextCursor"])
	}
	posted := c.do(t, "POST", "/api/v1/search", object{"q": "stone", "limit": 20, "cursor": first.text("nextCursor")}).is(200)
	if diff := cmp.Diff(second.body["results"], posted.body["results"]); diff != "" {
		t.Errorf("the cursor in a body (-GET +POST):\n%s", diff)
	}
	c.search(t, "q=stones&cursor="+cursor).fails(400, "validation_error", "cursor", "invalid")
	c.search(t, "q=stone&highlight=false&cursor="+cursor).fails(400, "validation_error", "cursor", "invalid")
	c.search(t, "q=stone&cursor=AAAA").fails(400, "validation_error", "cursor", "invalid")
}

func TestASearchThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	c := start(t)
	for query, want := range map[string][2]string{
		"":                                    {"q", "required"},
		"q=":                                  {"q", "required"},
		"q=%20%09":                            {"q", "required"},
		"q=" + strings.Repeat("%C5%BE", 1025): {"q", "too_long"},
		"q=%ff":                               {"q", "format"},
		"q=x&q=y":                             {"q", "duplicate"},
		"q=x&limit=0":                         {"limit", "too_small"},
		"q=x&limit=101":                       {"limit", "too_large"},
		"q=x&limit=ten":                       {"limit", "type"},
		"q=x&prefix=perhaps":                  {"prefix", "type"},
		"q=x&sort=title":                      {"sort", "not_allowed"},
		"q=x&fuzzy=much":                      {"fuzzy", "not_allowed"},
		"q=x&filter=a:is:b":                   {"filter", "format"},
		"q=x&filter=:eq:b":                    {"filter", "format"},
		"q=x&facets=tag,,n":                   {"facets", "format"},
		"q=x&facets=":                         {"facets", "required"},
		"q=x&facets=a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q": {"facets", "too_long"},
		"q=x&page=2":                         {"page", "unknown"},
		"q=x" + strings.Repeat("&tag=t", 33): {"tag", "too_long"},
		"q=x&collection=a&collection=b":      {"collection", "duplicate"},
	} {
		c.search(t, query).fails(400, "validation_error", want[0], want[1])
	}
	for _, bad := range []struct {
		body         object
		field, issue string
	}{
		{object{}, "q", "required"},
		{object{"q": " "}, "q", "required"},
		{object{"q": 1}, "q", "type"},
		{object{"q": "x", "limit": 0}, "limit", "too_small"},
		{object{"q": "x", "fuzzy": "much"}, "fuzzy", "not_allowed"},
		{object{"q": "x", "facets": []string{""}}, "facets[0]", "required"},
		{object{"q": "x", "facets": "tag"}, "facets", "type"},
		{object{"q": "x", "filter": []string{"a:eq:b", "a"}}, "filter[1]", "format"},
		{object{"q": "x", "tags": []string{"t"}}, "tags", "unknown"},
	} {
		c.do(t, "POST", "/api/v1/search", bad.body).fails(400, "validation_error", bad.field, bad.issue)
	}
}
