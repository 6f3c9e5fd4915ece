package client

import (
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"time"
)

// Query is a search. Only Q is required: bare words, "quoted phrases" that must occur, -excluded words, or * alone for everything.
type Query struct {
	Q          string   `json:"q"`
	Limit      *int     `json:"limit,omitempty"` // 1–100, 10 when nil
	Cursor     string   `json:"cursor,omitempty"`
	Collection string   `json:"collection,omitempty"`
	Tags       []string `json:"tag,omitempty"`       // all must match
	Filters    []string `json:"filter,omitempty"`    // metadata, as name:op:value with eq, ne, lt, lte, gt or gte; all must match
	Fuzzy      string   `json:"fuzzy,omitempty"`     // auto, which repairs misspelled words, or off; auto when empty
	Facets     []string `json:"facets,omitempty"`    // collection, tag, or names of metadata entries
	Prefix     string   `json:"prefix,omitempty"`    // true, false, or auto: whether the last word can be unfinished; auto when empty
	Highlight  *bool    `json:"highlight,omitempty"` // true when nil
	Passages   int      `json:"passages,omitempty"`  // 0–5: how many passages of each text the results contain at most
	Sort       string   `json:"sort,omitempty"`      // relevance, updatedAt, -updatedAt
}

// Found contains the results of a search.
type Found struct {
	Query         string                  `json:"query"`
	Total         int64                   `json:"total"`
	TotalRelation string                  `json:"totalRelation"` // eq: exact, gte: at least
	TookMs        float64                 `json:"tookMs"`
	Results       []Result                `json:"results"`
	Facets        map[string][]FacetCount `json:"facets"`
	Suggestion    *string                 `json:"suggestion"`
	NextCursor    *string                 `json:"nextCursor"`
}

// Result is a document that was found.
type Result struct {
	ID         string         `json:"id"`
	Collection string         `json:"collection"`
	Title      string         `json:"title"`
	Snippet    string         `json:"snippet"` // plain text
	Highlights []Highlight    `json:"highlights"`
	Passages   []Passage      `json:"passages"` // of the document's text, best first
	Score      float64        `json:"score"`
	URL        *string        `json:"url"`
	Tags       []string       `json:"tags"`
	Metadata   map[string]any `json:"metadata"`
	UpdatedAt  time.Time      `json:"updatedAt"`
}

// Highlight is a match, in code points from the start of the field.
type Highlight struct {
	Field string `json:"field"` // snippet or title
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// Passage is a part of a document's text: whole sentences, at most 1,000 characters. Start and End are code points in the text.
type Passage struct {
	Text  string `json:"text"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// FacetCount is the number of found documents with a value.
type FacetCount struct {
	Value any   `json:"value"`
	Count int64 `json:"count"`
}

// Search finds documents. It sends the query in the body, so that a proxy does not log it.
func (c *Client) Search(ctx context.Context, q Query) (*Found, error) {
	return result[Found](func(out any) error {
		return c.send(ctx, request{method: http.MethodPost, path: "/api/v1/search", safe: true}, q, out)
	})
}

// SearchOutcome is the outcome of one of several searches: one of the two is nil.
type SearchOutcome struct {
	Found *Found
	Err   *Error // its Status is 0, because it has no response of its own
}

// UnmarshalJSON decodes the result of a search or the body of an error.
func (o *SearchOutcome) UnmarshalJSON(data []byte) error {
	var failed struct {
		Error
		ResetTimeMs int64 `json:"resetTimeMs"`
	}
	if err := json.Unmarshal(data, &failed); err != nil {
		return err
	}
	if failed.Code != "" {
		failed.RetryAfter = time.Duration(failed.ResetTimeMs) * time.Millisecond
		*o = SearchOutcome{Err: &failed.Error}
		return nil
	}
	*o = SearchOutcome{Found: &Found{}}
	return json.Unmarshal(data, o.Found)
}

// SearchMulti runs up to 20 searches in one request and returns their outcomes in order. Each counts as a request towards rate
// limits and quotas.
func (c *Client) SearchMulti(ctx context.Context, searches []Query) ([]SearchOutcome, error) {
	var out struct {
		Results []SearchOutcome `json:"results"`
	}
	body := struct {
		Searches []Query `json:"searches"`
	}{searches}
	err := c.send(ctx, request{method: http.MethodPost, path: "/api/v1/search/multi", safe: true}, body, &out)
	return out.Results, err
}

// EachResult reads all results of a search, page by page.
func (c *Client) EachResult(ctx context.Context, q Query) iter.Seq2[Result, error] {
	return each(q.Cursor, func(cursor string) (*Page[Result], error) {
		q.Cursor = cursor
		found, err := c.Search(ctx, q)
		if err != nil {
			return nil, err
		}
		return &Page[Result]{Items: found.Results, NextCursor: found.NextCursor}, nil
	})
}
