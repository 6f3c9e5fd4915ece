// Package search finds documents by their words.
//
// The index is Bleve's (scorch: segments of postings on disk). This package reads it through its low-level reader, and
// implements matching, ranking and paging itself.
package search

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/document"
	"keepsake/internal/fairshare"
	"keepsake/internal/page"
	"keepsake/internal/text"
)

// Sort is the order of results.
type Sort string

// The orders. Equal results are sorted by ID.
const (
	ByRelevance Sort = "relevance"
	NewestFirst Sort = "-updatedAt"
	OldestFirst Sort = "updatedAt"
)

// Request is a search. The zero value of a field is its default, except for Highlight.
type Request struct {
	Query      string
	Limit      int // 1–100; 0: 10
	Cursor     string
	Collection string
	Tags       []string // all must match
	Prefix     bool     // the last word is a prefix
	Highlight  bool
	Sort       Sort // empty: ByRelevance
}

// Highlight is a matching word, in code points of the field's text.
type Highlight struct {
	Field string // "snippet" or "title"
	Start int
	End   int
}

// Result is a document that was found.
type Result struct {
	Document   document.Document
	Snippet    string
	Highlights []Highlight
	Score      float64
}

// Answer is the result of a search.
type Answer struct {
	Total      int64
	Exact      bool // false: there are at least Total
	Results    []Result
	NextCursor string // empty on the last page
	Took       time.Duration
}

// Service answers searches from the indexes.
type Service struct {
	indexer *Indexer
	cursors *page.Sealer
	shares  *fairshare.Scheduler
	now     func() time.Time
}

// NewService returns a Service. shares divides CPU time between searches.
func NewService(x *Indexer, cursors *page.Sealer, shares *fairshare.Scheduler, now func() time.Time) *Service {
	return &Service{indexer: x, cursors: cursors, shares: shares, now: now}
}

// cursor contains the start of the next page, and the counts that rank it.
type cursor struct {
	Place      place      `json:"p"`
	Statistics statistics `json:"s"`
}

// Search finds documents of a workspace, including everything that was written before the call. It returns problem.Invalid
// for q or cursor, and problem.Unavailable while the index is behind.
func (s *Service) Search(ctx context.Context, workspaceID string, r Request) (*Answer, error) {
	began := s.now()
	if err := checkQuery(r.Query); err != nil {
		return nil, err
	}
	q, err := parse(s.indexer.analyzer, r.Query, r.Prefix)
	if err != nil {
		return nil, err
	}
	if r.Limit == 0 {
		r.Limit = 10
	}
	if r.Sort == "" {
		r.Sort = ByRelevance
	}
	scope := r.scope(workspaceID)
	var from *cursor
	if r.Cursor != "" {
		from = &cursor{}
		if err := s.cursors.Open(scope, r.Cursor, from); err != nil {
			return nil, err
		}
	}
	answer := &Answer{Exact: true}
	var hits []*hit
	var wanted text.Wanted
	task := s.shares.Start(ctx, workspaceID)
	defer task.Release()
	err = s.indexer.read(ctx, workspaceID, func(v *view) error {
		found, err := s.find(newReaders(ctx, task, v, q), q, &r, from)
		if err != nil {
			return err
		}
		hits, wanted = found.hits, found.wanted
		answer.Total, answer.Exact = found.total, found.exact
		if len(hits) > r.Limit {
			hits = hits[:r.Limit]
			last := hits[r.Limit-1]
			answer.NextCursor = s.cursors.Seal(scope, cursor{place{last.key, last.id}, found.statistics})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	if answer.Results, err = s.results(ctx, task, workspaceID, &r, hits, &wanted); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	answer.Took = s.now().Sub(began)
	return answer, nil
}

// scope identifies the search that a cursor belongs to: everything but limit.
func (r *Request) scope(workspaceID string) string {
	parts := []string{r.Query, r.Collection, strconv.FormatBool(r.Prefix), strconv.FormatBool(r.Highlight), string(r.Sort)}
	return page.Scope(workspaceID, "search", append(parts, r.Tags...)...)
}

// found is the result of reading the index.
type found struct {
	hits       []*hit // up to one more than the limit, which means that there is a next page
	total      int64
	exact      bool
	statistics statistics
	wanted     text.Wanted
}

func (s *Service) find(o *readers, q query, r *Request, from *cursor) (*found, error) {
	defer o.close()
	if o.view.state.Documents == 0 {
		return &found{exact: true}, nil
	}
	var after *place
	var earlier *statistics
	if from != nil {
		after, earlier = &from.Place, &from.Statistics
	}
	rank := newRanking(o.view.state, earlier)
	p, err := openPlan(o, rank, q, r)
	if err != nil {
		return nil, err
	}
	c, err := newCollector(o.task, o.view, r.Sort, after, r.Limit+1)
	if err != nil {
		return nil, err
	}
	if err := c.collect(p); err != nil {
		return nil, err
	}
	hits, err := c.page()
	if err != nil {
		return nil, err
	}
	return &found{hits: hits, total: c.total, exact: p.exact, statistics: rank.statistics, wanted: p.wanted}, nil
}

// snippetSize is the length of a snippet, in code points.
const snippetSize = 240

// results reads the documents of hits and creates their snippets. A document that was deleted since the index was read is
// left out.
func (s *Service) results(ctx context.Context, task *fairshare.Task, workspaceID string, r *Request, hits []*hit, w *text.Wanted) ([]Result, error) {
	if len(hits) == 0 {
		return nil, nil
	}
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.id
	}
	if s.indexer.o.Shared { // otherwise this process reads them itself, with few connections
		task.Release()
	}
	documents, err := s.indexer.o.Source.Documents(ctx, workspaceID, ids)
	if err != nil {
		return nil, fmt.Errorf("read documents: %w", err)
	}
	byID := make(map[string]*document.Document, len(documents))
	for i := range documents {
		byID[documents[i].ID] = &documents[i]
	}
	results := make([]Result, 0, len(hits))
	for _, h := range hits {
		d, ok := byID[h.id]
		if !ok {
			continue
		}
		result := Result{Document: *d, Score: h.score}
		s.show(&result, w, r.Highlight)
		if err := task.Step(2 * (len(d.Title) + len(d.Text))); err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// show sets the snippet and the highlights.
func (s *Service) show(r *Result, w *text.Wanted, highlight bool) {
	var spans []text.Span
	r.Snippet, spans = s.indexer.analyzer.Excerpt(strings.TrimSpace(r.Document.Text), w, snippetSize)
	if !highlight {
		return
	}
	for _, span := range spans {
		r.Highlights = append(r.Highlights, Highlight{"snippet", span.Start, span.End})
	}
	for _, span := range s.indexer.analyzer.Mark(r.Document.Title, w) {
		r.Highlights = append(r.Highlights, Highlight{"title", span.Start, span.End})
	}
}
