package v1

import (
	"context"
	"slices"
	"strings"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
	"keepsake/internal/govern/auth"
	"keepsake/internal/search"
	"keepsake/internal/web/endpoint"
)

// AddSearch declares search, with parameters in the query or in a body.
func AddSearch(r *endpoint.Registry, s *search.Service) {
	endpoint.Add(r, endpoint.Operation{
		ID: "search", Method: "GET", Path: "/search", Since: 1, Tag: "search", Summary: "Search documents",
		Description: searchSyntax, Credentials: endpoint.Key, Scope: auth.Read, Status: 200,
	}, func(ctx context.Context, in *searchQuery) (*searchAnswer, error) {
		metadata, err := comparisons(in.Filters, func(int) string { return "filter" })
		if err != nil {
			return nil, err
		}
		facets, err := facetNames(in.Facets)
		if err != nil {
			return nil, err
		}
		return runSearch(ctx, s, search.Request{
			Query: in.Q, Limit: in.Limit, Cursor: in.Cursor, Collection: in.Collection, Tags: in.Tags, Metadata: metadata,
			Repair: in.Fuzzy != "off", Prefix: search.Prefix(in.Prefix), Highlight: in.Highlight, Passages: in.Passages, Facets: facets, Sort: search.Sort(in.Sort),
		})
	})
	endpoint.Add(r, endpoint.Operation{
		ID: "searchPost", Method: "POST", Path: "/search", Since: 1, Tag: "search", Summary: "Search documents with parameters in the body",
		Description: searchSyntax, Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Read, Status: 200,
	}, func(ctx context.Context, in *searchBody) (*searchAnswer, error) {
		request, err := in.Body.request()
		if err != nil {
			return nil, err
		}
		return runSearch(ctx, s, request)
	})
	endpoint.Add(r, endpoint.Operation{
		ID: "searchMulti", Method: "POST", Path: "/search/multi", Since: 1, Tag: "search", Summary: "Run up to 20 searches",
		Description: "The searches run one after the other, and the results have the same order. Each search counts as one request towards rate " +
			"limits and quotas. A search that fails does not affect the others: its result is the body of the error that it would have " +
			"alone. So is that of a search for which no requests are left; if not even the first one can run, the response is 429.",
		Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Read, Class: endpoint.Batch, MaxBody: endpoint.Small.MaxBody(), Status: 200, Parts: true,
	}, func(ctx context.Context, in *searchMultiBody) (*searchMultiAnswer, error) {
		out := &searchMultiAnswer{}
		out.Body.Results = make([]endpoint.Outcome[searchView], len(in.Body.Searches))
		for i := range in.Body.Searches {
			result := &out.Body.Results[i]
			failed, err := endpoint.RequestOf(ctx).Part(func() error {
				found, err := searchOne(ctx, s, &in.Body.Searches[i])
				if err == nil {
					result.Value = found.Body
				}
				return err
			})
			if err != nil {
				return nil, err
			}
			result.Error = failed
		}
		return out, nil
	})
}

// searchOne runs one of several searches.
func searchOne(ctx context.Context, s *search.Service, sent *endpoint.Loose[searchParameters]) (*searchAnswer, error) {
	if sent.Err != nil {
		return nil, sent.Err
	}
	request, err := sent.Value.request()
	if err != nil {
		return nil, err
	}
	return runSearch(ctx, s, request)
}

// maxFacets is the maximum number of facets of a search.
const maxFacets = 16

// facetNames parses a list of names that are separated by commas.
func facetNames(list string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	if slices.Contains(names, "") {
		return nil, problem.Validation("facets", problem.Format, "facets must be names that are separated by commas.")
	}
	if names = distinct(names); len(names) > maxFacets {
		return nil, problem.Validation("facets", problem.TooLong, "facets must have at most 16 names.")
	}
	return names, nil
}

// distinct returns each name once, in the order of their first use.
func distinct(names []string) []string {
	var list []string
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

const searchSyntax = "A document matches if it contains any of the words in `q`, and documents with more of them rank higher. `\"Quoted " +
	"phrases\"` must all occur, and `-excluded` words must not. A phrase is compared by its first 32 words. There is no other " +
	"syntax in `q`, except that `*` alone finds every document. Words that are written together, apart, or with `- / . ' _` find each " +
	"other: `wi-fi`, `wifi` and `wi fi`. A word that no document has is replaced by up to three similar words, unless `fuzzy` is `off`; " +
	"`suggestion` is then the query with the closest of them. Send a cursor with the same parameters as before; only `limit` can change."

type searchQuery struct {
	Q          string            `query:"q" required:"true" maxLength:"1024" doc:"The words to search for, in the syntax that the operation describes." example:"opening hours"`
	Limit      int               `query:"limit" default:"10" minimum:"1" maximum:"100" doc:"The maximum number of results in the response."`
	Cursor     string            `query:"cursor"`
	Collection string            `query:"collection" doc:"Search only documents of this collection."`
	Tags       []string          `query:"tag" maxItems:"32" doc:"The tags to match. All of them must match."`
	Prefix     endpoint.AutoBool `query:"prefix" doc:"Whether the last word also matches words that begin with it, for search while typing. auto, the default, means only if no document has it as a word."`
	Highlight  bool              `query:"highlight" default:"true" doc:"Whether the response says where words of the query are in snippets and titles."`
	Passages   int               `query:"passages" minimum:"0" maximum:"5" doc:"The number of passages of each text in the response, at most: whole sentences for a prompt."`
	Sort       string            `query:"sort" default:"relevance" enum:"relevance,-updatedAt,updatedAt" doc:"The order of the results: relevance has the best match first, updatedAt the oldest change, and -updatedAt the newest."`
	Fuzzy      string            `query:"fuzzy" enum:"auto,off" doc:"Whether words that no document has are replaced by similar ones: with one edit for 4 to 7 letters, two for more; an edit of the first letter counts as two. off also means that parts of words do not count. auto when absent."`
	Filters    []string          `query:"filter" maxItems:"32" doc:"Comparisons of metadata, each in the form name:op:value, where op is eq, ne, lt, lte, gt or gte. All of them must match." example:"floor:gte:2"`
	Facets     string            `query:"facets" doc:"Names separated by commas: collection, tag, or metadata entries. The matching documents are counted for each value." example:"collection,tag"`
}

type searchBody struct {
	Body searchParameters
}

type searchMultiBody struct {
	Body struct {
		Searches []endpoint.Loose[searchParameters] `json:"searches" minItems:"1" maxItems:"20" doc:"The searches, each in the format of searchPost."`
	}
}

type searchMultiAnswer struct {
	Body struct {
		Results []endpoint.Outcome[searchView] `json:"results" doc:"The results of the searches, in their order. A result with the field error is the body of an error."`
	}
}

type searchParameters struct {
	Q          string            `json:"q" maxLength:"1024" doc:"The words to search for, in the syntax that the operation describes." example:"opening hours"`
	Limit      int               `json:"limit" default:"10" minimum:"1" maximum:"100" doc:"The maximum number of results in the response."`
	Cursor     *string           `json:"cursor" doc:"The nextCursor of the page before. Without it, the response is the first page."`
	Collection *string           `json:"collection" doc:"Search only documents of this collection."`
	Tags       []string          `json:"tag" required:"false" maxItems:"32" doc:"The tags to match. All of them must match."`
	Prefix     endpoint.AutoBool `json:"prefix" required:"false" doc:"Whether the last word also matches words that begin with it, for search while typing. auto, the default, means only if no document has it as a word."`
	Highlight  bool              `json:"highlight" default:"true" doc:"Whether the response says where words of the query are in snippets and titles."`
	Passages   int               `json:"passages" required:"false" minimum:"0" maximum:"5" doc:"The number of passages of each text in the response, at most: whole sentences for a prompt."`
	Sort       string            `json:"sort" default:"relevance" enum:"relevance,-updatedAt,updatedAt" doc:"The order of the results: relevance has the best match first, updatedAt the oldest change, and -updatedAt the newest."`
	Fuzzy      string            `json:"fuzzy" default:"auto" enum:"auto,off" doc:"Whether words that no document has are replaced by similar ones: with one edit for 4 to 7 letters, two for more; an edit of the first letter counts as two. off also means that parts of words do not count."`
	Filters    []string          `json:"filter" required:"false" maxItems:"32" doc:"Comparisons of metadata, each in the form name:op:value, where op is eq, ne, lt, lte, gt or gte. All of them must match." example:"[\"floor:gte:2\"]"`
	Facets     []string          `json:"facets" required:"false" maxItems:"16" doc:"Names: collection, tag, or metadata entries. The matching documents are counted for each value."`
}

// request returns the search that the parameters ask for.
func (b *searchParameters) request() (search.Request, error) {
	if err := b.refuseEmpty(); err != nil {
		return search.Request{}, err
	}
	metadata, err := comparisons(b.Filters, func(i int) string { return item("filter", i) })
	return search.Request{
		Query: b.Q, Limit: b.Limit, Cursor: textOrEmpty(b.Cursor), Collection: textOrEmpty(b.Collection), Tags: b.Tags, Metadata: metadata,
		Repair: b.Fuzzy != "off", Prefix: search.Prefix(b.Prefix), Highlight: b.Highlight, Passages: b.Passages, Facets: distinct(b.Facets), Sort: search.Sort(b.Sort),
	}, err
}

// refuseEmpty refuses empty texts, as the query of a GET does. Without it, an empty collection would mean all of them.
func (b *searchParameters) refuseEmpty() error {
	for _, p := range []struct {
		name  string
		empty bool
		list  []string
	}{
		{"cursor", b.Cursor != nil && *b.Cursor == "", nil},
		{"collection", b.Collection != nil && *b.Collection == "", nil},
		{"tag", false, b.Tags},
		{"filter", false, b.Filters},
		{"facets", false, b.Facets},
	} {
		name := p.name
		if i := slices.Index(p.list, ""); i >= 0 {
			name, p.empty = item(name, i), true
		}
		if p.empty {
			return problem.Validation(name, problem.Required, name+" must not be empty; leave it out instead.")
		}
	}
	return nil
}

type searchAnswer struct {
	Body searchView
}

type searchView struct {
	Query         string                  `json:"query" doc:"The query as it was sent."`
	Total         int64                   `json:"total" doc:"The number of documents that match, on all pages together."`
	TotalRelation string                  `json:"totalRelation" enum:"eq,gte" doc:"Whether total is exact, which is eq, or a lower bound, which is gte."`
	TookMs        float64                 `json:"tookMs" doc:"The duration of the search in milliseconds, with a fraction."`
	Results       []searchResult          `json:"results" doc:"The documents of this page. The list is empty if nothing matches."`
	Facets        map[string][]facetCount `json:"facets" doc:"The counts of matching documents by facet, most frequent value first, at most 100 values each. Without facets in the request, it is empty."`
	Suggestion    *string                 `json:"suggestion" doc:"The query with similar words for those that no document has, or that few have and are probably misspelled. It is null if there is none."`
	NextCursor    *string                 `json:"nextCursor"`
}

type searchResult struct {
	ID         string             `json:"id" doc:"The ID of the document."`
	Collection string             `json:"collection" doc:"The collection that the document belongs to."`
	Title      string             `json:"title" doc:"The title of the document. It is empty if the document has none."`
	Snippet    string             `json:"snippet" doc:"The plain text around the best match."`
	Highlights []searchHighlight  `json:"highlights" doc:"The places of words of the query in snippet and title. The list is empty if highlight is false."`
	Passages   []searchPassage    `json:"passages" doc:"The parts of the document's text that match best, best first. They do not overlap. If only the title matches, the passage is the beginning of the text. The list is empty if passages is 0."`
	Score      float64            `json:"score" doc:"The score of the match. It is higher for better matches, and comparable only within one response."`
	URL        *string            `json:"url" doc:"The URL of the original. It is null if none was stored."`
	Tags       []string           `json:"tags" doc:"The tags of the document, in the order in which they were sent."`
	Metadata   wire.MetadataLists `json:"metadata" doc:"The metadata of the document: strings, numbers, booleans or arrays of these by name."`
	UpdatedAt  wire.Time          `json:"updatedAt"`
}

type searchHighlight struct {
	Field string `json:"field" enum:"snippet,title" doc:"The field of the result that the offsets point into."`
	Start int    `json:"start" doc:"The start of the highlight, in code points."`
	End   int    `json:"end" doc:"The end of the highlight, in code points. The code point at this offset is no longer part of it."`
}

type searchPassage struct {
	Text  string `json:"text" doc:"Whole sentences of the text, at most 1,000 characters. A longer sentence is cut between words."`
	Start int    `json:"start" doc:"The start of the passage in the text of the document, in code points."`
	End   int    `json:"end" doc:"The end of the passage, in code points. The code point at this offset is no longer part of it."`
}

type facetCount struct {
	Value string `json:"value" doc:"A collection, a tag, or a value of a metadata entry as a text."`
	Count int64  `json:"count" doc:"The number of matching documents with this value."`
}

func runSearch(ctx context.Context, s *search.Service, request search.Request) (*searchAnswer, error) {
	found, err := s.Search(ctx, auth.From(ctx).WorkspaceID, request)
	if err != nil {
		return nil, err
	}
	out := &searchAnswer{}
	out.Body.Query, out.Body.Total, out.Body.TotalRelation = request.Query, found.Total, "eq"
	if !found.Exact {
		out.Body.TotalRelation = "gte"
	}
	out.Body.TookMs = float64(found.Took) / float64(time.Millisecond)
	out.Body.NextCursor, out.Body.Suggestion = textOrNull(found.NextCursor), textOrNull(found.Suggestion)
	out.Body.Facets = make(map[string][]facetCount, len(found.Facets))
	for name, values := range found.Facets {
		counts := make([]facetCount, len(values))
		for i, v := range values {
			counts[i] = facetCount(v)
		}
		out.Body.Facets[name] = counts
	}
	out.Body.Results = make([]searchResult, len(found.Results))
	for i := range found.Results {
		out.Body.Results[i] = viewOfResult(&found.Results[i])
	}
	return out, nil
}

func viewOfResult(r *search.Result) searchResult {
	d := &r.Document
	highlights := make([]searchHighlight, len(r.Highlights))
	for i, h := range r.Highlights {
		highlights[i] = searchHighlight(h)
	}
	passages := make([]searchPassage, len(r.Passages))
	for i, p := range r.Passages {
		passages[i] = searchPassage{Text: p.Text, Start: p.Start, End: p.End}
	}
	return searchResult{
		ID: d.ID, Collection: d.Collection, Title: d.Title, Snippet: r.Snippet, Highlights: highlights, Passages: passages, Score: r.Score,
		URL: textOrNull(d.URL), Tags: d.Tags, Metadata: d.Metadata, UpdatedAt: wire.At(d.UpdatedAt),
	}
}
