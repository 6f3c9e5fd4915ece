package search

import (
	"context"
	"errors"
	"testing"

	bleveindex "github.com/blevesearch/bleve_index_api"
)

// endless matches every document, and calls end at one of them.
type endless struct {
	at, end uint64
	stop    context.CancelFunc
}

func (e *endless) seek(target uint64) (uint64, error) {
	if e.at = target; e.at == e.end {
		e.stop()
	}
	return e.at, nil
}

func (e *endless) score() float64 { return -float64(e.at) }

func (e *endless) close() {}

// endlessPostings is a term that every document has.
type endlessPostings struct {
	bleveindex.TermFieldReader // the other methods are not called
	endless
}

func (e *endlessPostings) Next(p *bleveindex.TermFieldDoc) (*bleveindex.TermFieldDoc, error) {
	return e.Advance(bleveindex.NewIndexInternalID(nil, e.at+1), p)
}

func (e *endlessPostings) Advance(id bleveindex.IndexInternalID, p *bleveindex.TermFieldDoc) (*bleveindex.TermFieldDoc, error) {
	doc, err := e.seek(id.Value())
	p.ID = bleveindex.NewIndexInternalID(p.ID, doc)
	return p, err
}

// A search that finds many documents, or walks past many and finds none, stops within a bounded number of them when its
// request ends.
func TestASearchEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	const end = 10_000
	t.Run("ThatFindsMany", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		all := &endless{end: end, stop: cancel}
		c, err := newCollector(nil, ByRelevance, nil, 3)
		if err != nil {
			t.Fatal(err)
		}
		err = c.collect(ctx, &plan{required: []matcher{all}, scored: []matcher{all}})
		if !errors.Is(err, context.Canceled) || all.at > end+1_024 {
			t.Errorf("got %v after document %d, want it canceled within 1024 of document %d", err, all.at, end)
		}
	})
	t.Run("ThatFindsNothing", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		all := &endlessPostings{endless: endless{end: end, stop: cancel}}
		p := &postings{ctx: ctx, reader: all, current: &bleveindex.TermFieldDoc{}}
		m := &plan{required: []matcher{p}, excluded: []matcher{&endless{}}}
		if _, err := m.seek(0); !errors.Is(err, context.Canceled) || all.at > end+4_096 {
			t.Errorf("got %v after document %d, want it canceled within 4096 of document %d", err, all.at, end)
		}
	})
}
