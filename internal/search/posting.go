package search

import (
	"fmt"
	"math"
	"math/bits"

	bleveindex "github.com/blevesearch/bleve_index_api"

	"keepsake/internal/fairshare"
)

// noMore is the document after the last one.
const noMore = math.MaxUint64

// matcher finds the documents that match something. Matchers of one search share postings, so none may take these
// beyond a document that another may still want: seek moves them to its target and no further.
type matcher interface {
	// seek gives a document at or after target, or noMore, before which none matches. target never falls.
	seek(target uint64) (uint64, error)
	// matches reports whether the document matches, which is the last target and what seek gave for it.
	matches() (bool, error)
	// score says how well that document matches, after matches has reported that it does.
	score() float64
}

// postings walks through the documents that have one term in one field.
type postings struct {
	task    *fairshare.Task
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

// nearby is how far a document may be for stepping there to be cheaper than skipping.
const nearby = 16

// seek goes to the first document at or after target that has the term.
func (p *postings) seek(target uint64) (uint64, error) {
	if p.started && p.doc >= target {
		return p.doc, nil
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
		return noMore, p.task.Step(1)
	default:
		p.current, p.doc = found, found.ID.Value()
		return p.doc, p.task.Step(1 + len(found.Vectors))
	}
}

// frequency is how often the term occurs in the document found last, length how many words the field has there.
func (p *postings) frequency() (times, length float64) {
	// The library keeps 1/√length.
	return float64(p.current.Freq), math.Round(1 / (p.current.Norm * p.current.Norm))
}

func (p *postings) matches() (bool, error) { return true, nil }

func (p *postings) score() float64 { return 0 }

// everything walks through all documents.
type everything struct {
	task    *fairshare.Task
	reader  bleveindex.DocIDReader
	doc     uint64
	started bool
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
		if err := e.task.Step(1); err != nil {
			return noMore, err
		}
	}
	return e.doc, nil
}

func (e *everything) matches() (bool, error) { return true, nil }

func (e *everything) score() float64 { return 0 }

// listed is a set of documents that were gathered before: a bit for each number up to the greatest.
type listed []uint64

// add puts a document into the set and reports whether it was not there.
func (l *listed) add(doc uint64) bool {
	at, bit := int(doc/64), uint64(1)<<(doc%64)
	if at >= len(*l) {
		*l = append(*l, make([]uint64, at+1-len(*l))...)
	}
	added := (*l)[at]&bit == 0
	(*l)[at] |= bit
	return added
}

// seek gives the first document at or after target.
func (l listed) seek(target uint64) uint64 {
	if target/64 >= uint64(len(l)) {
		return noMore
	}
	at := int(target / 64)
	for word := l[at] &^ (1<<(target%64) - 1); ; word = l[at] {
		if word != 0 {
			return uint64(at)*64 + uint64(bits.TrailingZeros64(word))
		}
		if at++; at == len(l) {
			return noMore
		}
	}
}
