package v1

import (
	"context"
	"time"

	"keepsake/internal/auth"
	"keepsake/internal/endpoint"
	"keepsake/internal/problem"
	"keepsake/internal/search"
	"keepsake/internal/wire"
)

// AddSearch declares search, with parameters in the query or in a body.
func AddSearch(r *endpoint.Registry, s *search.Service) {
	endpoint.Add(r, endpoint.Operation{
		ID: "search", Method: "GET", Path: "/search", Since: 1, Tag: "search", Summary: "Search documents",
		Description: searchSyntax, Credentials: endpoint.Key, Scope: auth.Read, Status: 200,
	}, func(ctx context.Context, in *searchQuery) (*searchAnswer, error) {
		return runSearch(ctx, s, in.Fuzzy, search.Request{
			Query: in.Q, Limit: in.Limit, Cursor: in.Cursor, Collection: in.Collection, Tags: in.Tags,
			Prefix: in.Prefix, Highlight: in.Highlight, Sort: search.Sort(in.Sort),
		})
	})
	endpoint.Add(r, endpoint.Operation{
		ID: "searchPost", Method: "POST", Path: "/search", Since: 1, Tag: "search", Summary: "Search documents with parameters in the body",
		Description: searchSyntax, Credentials: endpoint.Key | endpoint.Bearer, Scope: auth.Read, Status: 200,
	}, func(ctx context.Context, in *searchBody) (*searchAnswer, error) {
		b := &in.Body
		return runSearch(ctx, s, b.Fuzzy, search.Request{
			Query: b.Q, Limit: b.Limit, Cursor: b.Cursor, Collection: b.Collection, Tags: b.Tags,
			Prefix: b.Prefix, Highlight: b.Highlight, Sort: search.Sort(b.Sort),
		})
	})
}

const searchSyntax = "A document matches if it contains any of the words in `q`, and documents with more of them rank higher. `\"Quoted " +
	"phrases\"` must all occur, and `-excluded` words must not. A phrase can have at most 32 words. There is no other " +
	"syntax in `q`. Send a cursor with the same parameters as before; only `limit` can change."

type searchQuery struct {
	Q          string   `query:"q" required:"true" maxLength:"1024" doc:"The query." example:"opening hours"`
	Limit      int      `query:"limit" default:"10" minimum:"1" maximum:"100"`
	Cursor     string   `query:"cursor"`
	Collection string   `query:"collection"`
	Tags       []string `query:"tag" maxItems:"32" doc:"The tags to match. All of them must match."`
	Prefix     bool     `query:"prefix" doc:"Whether the last word matches as a prefix, for search while typing."`
	Highlight  bool     `query:"highlight" default:"true"`
	Sort       string   `query:"sort" default:"relevance" enum:"relevance,-updatedAt,updatedAt"`
	Fuzzy      string   `query:"fuzzy" enum:"auto,off" doc:"Whether spelling mistakes are tolerated. Only off is supported: words match as they are spelled."`
	Filters    []string `query:"filter" unsupported:"true"`
	Facets     string   `query:"facets" unsupported:"true"`
}

type searchBody struct {
	Body struct {
		Q          string   `json:"q" maxLength:"1024" doc:"The query." example:"opening hours"`
		Limit      int      `json:"limit" default:"10" minimum:"1" maximum:"100"`
		Cursor     string   `json:"cursor" required:"false"`
		Collection string   `json:"collection" required:"false"`
		Tags       []string `json:"tag" required:"false" maxItems:"32" doc:"The tags to match. All of them must match."`
		Prefix     bool     `json:"prefix" required:"false" doc:"Whether the last word matches as a prefix, for search while typing."`
		Highlight  bool     `json:"highlight" default:"true"`
		Sort       string   `json:"sort" default:"relevance" enum:"relevance,-updatedAt,updatedAt"`
		Fuzzy      string   `json:"fuzzy" required:"false" enum:"auto,off" doc:"Whether spelling mistakes are tolerated. Only off is supported: words match as they are spelled."`
		Filters    []string `json:"filter" unsupported:"true"`
		Facets     []string `json:"facets" unsupported:"true"`
	}
}

type searchAnswer struct {
	Body struct {
		Query         string                  `json:"query"`
		Total         int64                   `json:"total"`
		TotalRelation string                  `json:"totalRelation" enum:"eq,gte"`
		TookMs        float64                 `json:"tookMs"`
		Results       []searchResult          `json:"results"`
		Facets        map[string][]facetCount `json:"facets"`
		Suggestion    *string                 `json:"suggestion"`
		NextCursor    *string                 `json:"nextCursor"`
	}
}

type searchResult struct {
	ID         string            `json:"id"`
	Collection string            `json:"collection"`
	Title      string            `json:"title"`
	Snippet    string            `json:"snippet" doc:"The plain text around the best match."`
	Highlights []searchHighlight `json:"highlights"`
	Score      float64           `json:"score"`
	URL        *string           `json:"url"`
	Tags       []string          `json:"tags"`
	Metadata   wire.Metadata     `json:"metadata"`
	UpdatedAt  wire.Time         `json:"updatedAt"`
}

type searchHighlight struct {
	Field string `json:"field" enum:"snippet,title"`
	Start int    `json:"start" doc:"The start of the highlight, in code points."`
	End   int    `json:"end"`
}

type facetCount struct {
	Value string `json:"value"`
	Count int64  `json:"count"`
}

func runSearch(ctx context.Context, s *search.Service, fuzzy string, request search.Request) (*searchAnswer, error) {
	if fuzzy == "auto" {
		return nil, problem.Validation("fuzzy", problem.Unsupported, "Typo repair is not supported yet. Leave fuzzy out or send off.")
	}
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
	out.Body.NextCursor = textOrNull(found.NextCursor)
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
	return searchResult{
		ID: d.ID, Collection: d.Collection, Title: d.Title, Snippet: r.Snippet, Highlights: highlights, Score: r.Score,
		URL: textOrNull(d.URL), Tags: d.Tags, Metadata: d.Metadata, UpdatedAt: wire.At(d.UpdatedAt),
	}
}
