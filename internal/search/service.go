// Package search finds documents by their words.
//
// Each workspace has an index (package index), which this package keeps up to date with the documents. It parses queries,
// repairs misspelled words, and shows why a document was found.
package search

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/page"
	"keepsake/internal/base/text"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
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
	Tags       []string              // all must match
	Metadata   []document.Comparison // all must match
	Repair     bool                  // words that no document has are replaced by similar ones
	Prefix     bool                  // the last word is a prefix
	Highlight  bool
	Passages   int      // 0–5: how many passages of each text the results contain at most
	Facets     []string // collection, tag, or names of metadata entries
	Sort       Sort     // empty: ByRelevance
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
	Passages   []text.Passage // of the document's text, best first
	Score      float64
}

// Answer is the result of a search.
type Answer struct {
	Total      int64
	Exact      bool // false: there are at least Total
	Results    []Result
	Facets     map[string][]FacetValue
	Suggestion string // empty: none
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

// cursor contains the start of the next page, and what ranks it.
type cursor struct {
	Place      index.Place           `json:"p"`
	Statistics index.Statistics      `json:"s"`
	Repair     map[int][]keptSimilar `json:"t,omitempty"`
}

// Search finds documents of a workspace, including everything that was written before the call. It returns problem.Invalid
// for q or cursor, and problem.Unavailable while the index is behind.
func (s *Service) Search(ctx context.Context, workspaceID string, r Request) (*Answer, error) {
	began := s.now()
	r.Query = spaced(r.Query)
	if err := checkQuery(r.Query); err != nil {
		return nil, err
	}
	q := parse(s.indexer.analyzer, r.Query, r.Prefix)
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
	answer := &Answer{Facets: facetValues(r.Facets, nil), Exact: true}
	var hits []index.Hit
	wanted := map[text.Language]*text.Wanted{}
	task := s.shares.Start(ctx, workspaceID)
	defer task.End()
	err := s.indexer.read(ctx, workspaceID, func(snapshot *index.Snapshot, _ *settings) error {
		found, repaired, err := find(task, snapshot, q, &r, from)
		if err != nil {
			return err
		}
		hits = found.Hits
		answer.Total, answer.Suggestion = found.Total, repaired.suggestion
		answer.Facets = facetValues(r.Facets, found.Facets)
		if len(hits) > r.Limit {
			hits = hits[:r.Limit]
			answer.NextCursor = s.cursors.Seal(scope, cursor{hits[r.Limit-1].Place, found.Statistics, repaired.keep()})
		}
		for _, h := range hits {
			if l := h.Language; wanted[l] == nil {
				wanted[l] = wantedOf(l, q, repaired.similar, found.Weights)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	if answer.Results, err = s.results(ctx, task, workspaceID, &r, hits, wanted); err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	answer.Took = s.now().Sub(began)
	return answer, nil
}

// scope identifies the search that a cursor belongs to: everything but limit.
func (r *Request) scope(workspaceID string) string {
	parts := []string{
		r.Query, r.Collection, strconv.FormatBool(r.Prefix), strconv.FormatBool(r.Highlight), strconv.FormatBool(r.Repair),
		string(r.Sort), strconv.Itoa(r.Passages), strconv.Itoa(len(r.Tags)), strconv.Itoa(len(r.Metadata)),
	}
	parts = append(parts, r.Tags...)
	for _, c := range r.Metadata {
		parts = append(parts, c.Name, string(c.Op), c.Value)
	}
	return page.Scope(workspaceID, "search", append(parts, r.Facets...)...)
}

// find reads the index. It returns up to one more hit than the limit, which means that there is a next page.
func find(task *fairshare.Task, snapshot *index.Snapshot, q query, r *Request, from *cursor) (*index.Found, repair, error) {
	const ofStep = 16 // steps of the index that take about as long as one of a task
	step := func(n int) error { return task.Step(1 + n/ofStep) }
	var repaired repair
	var err error
	if r.Repair {
		if repaired, err = repairOf(snapshot, q, r, from, step); err != nil {
			return nil, repaired, err
		}
	}
	p := planOf(q, r, repaired.similar)
	if from != nil {
		p.After, p.Statistics = &from.Place, &from.Statistics
	}
	found, err := snapshot.Search(p, step)
	return found, repaired, err
}

// The lengths of a snippet and of a passage, in code points.
const (
	snippetSize = 240
	passageSize = 1_000
)

// results reads the documents of hits and creates their snippets. wanted is what to highlight in documents of a language. A
// document that was deleted since the index was read is left out.
func (s *Service) results(ctx context.Context, task *fairshare.Task, workspaceID string, r *Request, hits []index.Hit, wanted map[text.Language]*text.Wanted) ([]Result, error) {
	if len(hits) == 0 {
		return nil, nil
	}
	ids := make([]string, len(hits))
	for i, h := range hits {
		ids[i] = h.ID
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
		d, ok := byID[h.ID]
		if !ok {
			continue
		}
		result := Result{Document: *d, Score: h.Score}
		s.show(&result, wanted[h.Language], r)
		if err := task.Step(2 * (len(d.Title) + len(d.Text) + passageSize*len(result.Passages))); err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

// show sets the snippet, the highlights and the passages that q asks for.
func (s *Service) show(r *Result, w *text.Wanted, q *Request) {
	var spans []text.Span
	r.Snippet, spans = s.indexer.analyzer.Excerpt(strings.TrimSpace(r.Document.Text), w, snippetSize)
	if q.Passages > 0 {
		r.Passages = s.indexer.analyzer.Passages(r.Document.Text, w, q.Passages, passageSize)
	}
	if !q.Highlight {
		return
	}
	for _, span := range spans {
		r.Highlights = append(r.Highlights, Highlight{"snippet", span.Start, span.End})
	}
	for _, span := range s.indexer.analyzer.Mark(r.Document.Title, w) {
		r.Highlights = append(r.Highlights, Highlight{"title", span.Start, span.End})
	}
}
