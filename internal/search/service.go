// Package search finds documents by their words.
//
// Each workspace has an index (package index), which this package keeps up to date with the documents. It parses queries,
// repairs misspelled words, and shows why a document was found.
package search

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/page"
	"keepsake/internal/base/text"
	"keepsake/internal/search/collection"
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

// Prefix says whether the last word of a query stands for all words that begin with it.
type Prefix string

// The values of Prefix. The last word of a query that ends with a phrase or an exclusion never does.
const (
	PrefixAuto  Prefix = "auto" // only if no document has it as a word
	PrefixTrue  Prefix = "true"
	PrefixFalse Prefix = "false"
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
	Prefix     Prefix                // empty: PrefixAuto
	Highlight  bool
	Passages   int      // 0–5: how many passages of each text the results contain at most
	Facets     []string // collection, tag, or names of metadata entries
	Sort       Sort     // empty: ByRelevance
	// Preview are settings of Collection in place of its own. Languages, and fields that were not searched before, have no effect.
	Preview *collection.Settings
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
	remote  remote
}

// NewService returns a Service. shares divides CPU time between searches.
func NewService(x *Indexer, cursors *page.Sealer, shares *fairshare.Scheduler, now func() time.Time) *Service {
	return &Service{indexer: x, cursors: cursors, shares: shares, now: now}
}

// SetElsewhere lets searches find documents whose indexes are elsewhere. Call it before the first search.
func (s *Service) SetElsewhere(e Elsewhere) {
	s.remote.Elsewhere, s.remote.states = e, newReads(s.indexer.o.Wait, e.State)
}

// cursor contains the start of the next page, and what ranks it.
type cursor struct {
	Place      index.Place           `json:"p"`
	Statistics index.Statistics      `json:"s"`
	Repair     map[int][]keptSimilar `json:"t,omitempty"`
	Prefix     bool                  `json:"w,omitempty"` // the last word is a prefix
}

// Search finds documents of a workspace, including everything that was written before the call. It returns problem.Invalid
// for q or cursor, and problem.Unavailable while the index is behind.
func (s *Service) Search(ctx context.Context, workspaceID string, r Request) (*Answer, error) {
	began := s.now()
	r.Query = spaced(r.Query)
	if err := checkQuery(r.Query); err != nil {
		return nil, err
	}
	q := parse(s.indexer.analyzer, r.Query)
	if r.Limit == 0 {
		r.Limit = 10
	}
	if r.Sort == "" {
		r.Sort = ByRelevance
	}
	r.Prefix = cmp.Or(r.Prefix, PrefixAuto)
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
	err := s.read(ctx, workspaceID, func(reader Reader, tuned *settings) error {
		look := &lookup{analyzer: s.indexer.analyzer, query: q, request: &r, from: from, groups: groupsOf(s.indexer.analyzer, tuned, q, &r)}
		found, err := look.find(task, reader)
		if err != nil {
			return err
		}
		hits = found.Hits
		answer.Total, answer.Suggestion = found.Total, look.repair.suggestion
		answer.Facets = facetValues(r.Facets, found.Facets)
		if len(hits) > r.Limit {
			hits = hits[:r.Limit]
			answer.NextCursor = s.cursors.Seal(scope, look.next(found, hits[r.Limit-1].Place))
		}
		for _, h := range hits {
			if l := h.Language; wanted[l] == nil {
				wanted[l] = look.wanted(l, found)
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
		r.Query, r.Collection, string(r.Prefix), strconv.FormatBool(r.Highlight), strconv.FormatBool(r.Repair),
		string(r.Sort), strconv.Itoa(r.Passages), strconv.Itoa(len(r.Tags)), strconv.Itoa(len(r.Metadata)),
	}
	parts = append(parts, r.Tags...)
	for _, c := range r.Metadata {
		parts = append(parts, c.Name, string(c.Op), c.Value)
	}
	return page.Scope(workspaceID, "search", append(parts, r.Facets...)...)
}

// lookup is a query and what was found out about its words.
type lookup struct {
	analyzer *text.Analyzer
	query    query
	request  *Request
	from     *cursor // nil: the first page

	groups  groups
	spelled spelled
	repair  repair
}

// find reads the index. It returns up to one more hit than the limit, which means that there is a next page.
func (l *lookup) find(task *fairshare.Task, reader Reader) (*index.Found, error) {
	const ofStep = 16 // steps of the index that take about as long as one of a task
	step := func(n int) error { return task.Step(1 + n/ofStep) }
	l.spelled = spellingsOf(l.analyzer, l.query)
	l.spelled.synonyms = l.groups.synonyms
	reader.LookIn(l.groups.metadata)
	err := reader.Expect(l.plan, func(ahead Reader) error {
		_, err := l.read(ahead, step)
		return err
	})
	if err != nil {
		return nil, err
	}
	return l.read(reader, step)
}

// read decides what the words stand for, and searches that.
func (l *lookup) read(reader Reader, step index.Step) (*index.Found, error) {
	var err error
	if l.query.prefix, err = l.endsOpen(reader, step); err != nil {
		return nil, err
	}
	if l.request.Repair {
		if l.repair, err = repairOf(reader, l.query, l.request, l.spelled, l.from, step); err != nil {
			return nil, err
		}
	}
	return reader.Search(l.plan(), step)
}

// plan returns the query to the index with what is known about the words.
func (l *lookup) plan() *index.Query {
	p := planOf(l.query, l.request, l.repair.similar, l.spelled)
	p.Groups = l.groups.list
	if l.from != nil {
		p.After, p.Statistics = &l.from.Place, &l.from.Statistics
	}
	return p
}

// endsOpen reports whether the last word stands for all words that begin with it.
func (l *lookup) endsOpen(s Reader, step index.Step) (bool, error) {
	switch {
	case !l.query.lastBare || len(l.query.words) == 0 || l.request.Prefix == PrefixFalse:
		return false, nil
	case l.request.Prefix == PrefixTrue:
		return true, nil
	case l.from != nil:
		return l.from.Prefix, nil
	}
	n := len(l.query.words) - 1
	last, scope := l.query.words[n], scopeOf(l.request)
	if text.Unspaced(last.Word) {
		return false, nil // a single character is found inside words anyway
	}
	if docs, err := s.Count(last.Term, last.Word, scope, step); docs > 0 || err != nil {
		return false, err
	}
	if other, err := hasOther(s, last, l.spelled.inPlaceOf(n), scope, step); other || err != nil {
		return false, err
	}
	return s.Begins(last.Word, scope, step)
}

// next returns the cursor of the page after a place.
func (l *lookup) next(found *index.Found, after index.Place) cursor {
	return cursor{Place: after, Statistics: found.Statistics, Repair: l.repair.keep(), Prefix: l.query.prefix}
}

// wanted returns what to highlight in documents of a language.
func (l *lookup) wanted(of text.Language, found *index.Found) *text.Wanted {
	w := wantedOf(of, l.query, l.repair.similar, l.spelled, found)
	l.groups.want(w, found.Weights)
	return w
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
