// Package search finds documents by their words.
package search

import (
	"context"
	"time"

	"keepsake/internal/document"
	"keepsake/internal/page"
)

// Sort is the order of results.
type Sort string

// The orders.
const (
	ByRelevance Sort = "relevance"
	NewestFirst Sort = "-updatedAt"
	OldestFirst Sort = "updatedAt"
)

// Request is one search. The zero value of a member is its default, but for Highlight.
type Request struct {
	Query      string
	Limit      int // 1–100; 0: 10
	Cursor     string
	Collection string
	Tags       []string // all must match
	Prefix     bool     // the last word is typed so far
	Highlight  bool
	Sort       Sort // empty: ByRelevance
}

// Highlight is a matching word, in code points of the field's text.
type Highlight struct {
	Field string // "snippet" or "title"
	Start int
	End   int
}

// Result is one document found.
type Result struct {
	Document   document.Document
	Snippet    string
	Highlights []Highlight
	Score      float64
}

// Answer is what a search found.
type Answer struct {
	Total      int64
	Exact      bool // false: there are at least Total
	Results    []Result
	NextCursor string // empty at the end
	Took       time.Duration
}

// Service answers searches from the indexes.
type Service struct {
	indexer *Indexer
	cursors *page.Sealer
	now     func() time.Time
}

// NewService makes a Service.
func NewService(x *Indexer, cursors *page.Sealer, now func() time.Time) *Service {
	return &Service{indexer: x, cursors: cursors, now: now}
}

// Search finds what r asks for among the workspace's documents. What a caller wrote before is in it.
func (s *Service) Search(ctx context.Context, workspaceID string, r Request) (*Answer, error) {
	return nil, errTodo
}
