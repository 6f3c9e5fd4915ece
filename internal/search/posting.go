package search

import (
	"context"
	"fmt"
	"math"
	"sort"

	bleveindex "github.com/blevesearch/bleve_index_api"
)

// noMore is the document after the last one.
const noMore = math.MaxUint64

// matcher walks through the documents that match something, in rising order of the index's own numbers.
type matcher interface {
	// seek goes to the first matching document at or after target, which never falls, and returns it or noMore.
	seek(target uint64) (uint64, error)
	// score says how well the document found last matches.
	score() float64
	close()
}

// postings walks through the documents that have one term in one field.
type postings struct {
	ctx     context.Context // of the search: asked now and then, because a walk may be long and find nothing
	steps   int
	reader  bleveindex.TermFieldReader
	count   int64 // documents, before the walk
	current *bleveindex.TermFieldDoc
	doc     uint64
	started bool
	target  bleveindex.IndexInternalID
}

// detail is how much of a posting is read.
type detail uint8

const (
	presence detail = iota
	frequency
	positions
)

func openPostings(ctx context.Context, v *view, field, term string, d detail) (*postings, error) {
	r, err := v.TermFieldReader(ctx, []byte(term), field, d >= frequency, d >= frequency, d >= positions)
	if err != nil {
		return nil, fmt.Errorf("read postings: %w", err)
	}
	return &postings{ctx: ctx, reader: r, count: int64(r.Count()), current: &bleveindex.TermFieldDoc{}}, nil
}

// nearby is how far a document may be for stepping there to be cheaper than skipping.
const nearby = 16

func (p *postings) seek(target uint64) (uint64, error) {
	if p.started && p.doc >= target {
		return p.doc, nil
	}
	if p.steps++; p.steps%4096 == 0 && p.ctx.Err() != nil {
		return noMore, p.ctx.Err()
	}
	var found *bleveindex.TermFieldDoc
	var err error
	near := target <= p.doc+nearby
	if near {
		found, err = p.reader.Next(p.current.Reset())
	}
	if !near || err == nil && found != nil && found.ID.Value() < target {
		p.target = bleveindex.NewIndexInternalID(p.target, target)
		found, err = p.reader.Advance(p.target, p.current.Reset())
	}
	p.started = true
	switch {
	case err != nil:
		return noMore, fmt.Errorf("walk postings: %w", err)
	case found == nil:
		p.doc = noMore
	default:
		p.current, p.doc = found, found.ID.Value()
	}
	return p.doc, nil
}

// frequency is how often the term occurs in the document found last, length how many words the field has there.
func (p *postings) frequency() (times, length float64) {
	// The library keeps 1/√length.
	return float64(p.current.Freq), math.Round(1 / (p.current.Norm * p.current.Norm))
}

// at reports whether the term stands at a position of the document found last.
func (p *postings) at(position uint64) bool {
	v := p.current.Vectors
	i := sort.Search(len(v), func(i int) bool { return v[i].Pos >= position })
	return i < len(v) && v[i].Pos == position
}

func (p *postings) score() float64 { return 0 }

func (p *postings) close() { _ = p.reader.Close() }

// everything walks through all documents.
type everything struct {
	reader  bleveindex.DocIDReader
	doc     uint64
	started bool
}

func openEverything(v *view) (*everything, error) {
	r, err := v.DocIDReaderAll()
	if err != nil {
		return nil, fmt.Errorf("read all documents: %w", err)
	}
	return &everything{reader: r}, nil
}

func (e *everything) seek(target uint64) (uint64, error) {
	for !e.started || e.doc < target {
		e.started = true
		id, err := e.reader.Next()
		if err != nil {
			return noMore, fmt.Errorf("walk all documents: %w", err)
		}
		if id == nil {
			e.doc = noMore
			break
		}
		e.doc = id.Value()
	}
	return e.doc, nil
}

func (e *everything) score() float64 { return 0 }

func (e *everything) close() { _ = e.reader.Close() }

// listed walks through documents that were gathered before.
type listed struct {
	docs []uint64 // rising
	at   int
}

func (l *listed) seek(target uint64) (uint64, error) {
	rest := l.docs[l.at:]
	l.at += sort.Search(len(rest), func(i int) bool { return rest[i] >= target })
	if l.at == len(l.docs) {
		return noMore, nil
	}
	return l.docs[l.at], nil
}

func (l *listed) score() float64 { return 0 }

func (l *listed) close() {}
