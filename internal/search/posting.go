package search

import (
	"fmt"
	"math"
	"math/bits"

	bleveindex "github.com/blevesearch/bleve_index_api"

	"keepsake/internal/fairshare"
)

// noMore is the number after the last document.
const noMore = math.MaxUint64

// matcher finds matching documents. The matchers of a search share postings, so seek must not advance them beyond its target,
// which another matcher can still need.
type matcher interface {
	// seek returns a document at or after target, or noMore. No document before it matches. target must not fall.
	seek(target uint64) (uint64, error)
	// matches reports whether a document matches: the last target, for which seek returned the target itself.
	matches() (bool, error)
	// score returns the score of that document, after matches returned true.
	score() float64
}

// postings iterates over the documents that have a term in a field.
type postings struct {
	task    *fairshare.Task
	reader  bleveindex.TermFieldReader
	count   int64 // of documents
	current *bleveindex.TermFieldDoc
	doc     uint64
	started bool
	target  bleveindex.IndexInternalID
}

// detail says how much of a posting is read.
type detail uint8

const (
	presence detail = iota
	frequency
	positions
)

// nearby is the distance up to which stepping to a document is cheaper than skipping.
const nearby = 16

// seek returns the first document at or after target that has the term.
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

// frequency returns how often the term occurs in the current document, and the number of words in its field.
func (p *postings) frequency() (times, length float64) {
	// The library stores 1/√length.
	return float64(p.current.Freq), math.Round(1 / (p.current.Norm * p.current.Norm))
}

func (p *postings) matches() (bool, error) { return true, nil }

func (p *postings) score() float64 { return 0 }

// everything iterates over all documents.
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

// listed is a set of documents, as a bitmap.
type listed []uint64

// add adds a document, and reports whether it is new.
func (l *listed) add(doc uint64) bool {
	at, bit := int(doc/64), uint64(1)<<(doc%64)
	if at >= len(*l) {
		*l = append(*l, make([]uint64, at+1-len(*l))...)
	}
	added := (*l)[at]&bit == 0
	(*l)[at] |= bit
	return added
}

// seek returns the first document at or after target.
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
