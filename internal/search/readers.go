package search

import (
	"context"
	"fmt"

	bleveindex "github.com/blevesearch/bleve_index_api"

	"keepsake/internal/fairshare"
	"keepsake/internal/text"
)

// readers are the open postings of a search: one for each distinct term and field, even if the query contains the term
// several times.
type readers struct {
	ctx       context.Context
	task      *fairshare.Task
	view      *view
	inPhrases map[string]bool // the terms whose positions are needed
	open      map[fieldTerm]*postings
	all       []bleveindex.DocIDReader
	opened    int // number of postings
}

type fieldTerm struct{ field, term string }

func newReaders(ctx context.Context, task *fairshare.Task, v *view, q query) *readers {
	r := &readers{ctx: ctx, task: task, view: v, inPhrases: map[string]bool{}, open: map[fieldTerm]*postings{}}
	for _, phrases := range [][][]text.Token{q.must, q.not} {
		for _, tokens := range phrases {
			if len(tokens) == 1 {
				continue
			}
			for _, t := range tokens {
				r.inPhrases[t.Term] = true
			}
		}
	}
	return r
}

// words returns the postings of a term in a field of words, with positions if a phrase of the query contains the term.
func (r *readers) words(field, term string) (*postings, error) {
	if r.inPhrases[term] {
		return r.postings(field, term, positions)
	}
	return r.postings(field, term, frequency)
}

// postings returns the postings of a term in a field. All calls for a field and a term must ask for the same detail.
func (r *readers) postings(field, term string, d detail) (*postings, error) {
	name := fieldTerm{field, term}
	if p := r.open[name]; p != nil {
		return p, nil
	}
	p, err := r.read(field, term, d)
	if err == nil {
		r.open[name] = p
	}
	return p, err
}

func (r *readers) read(field, term string, d detail) (*postings, error) {
	reader, err := r.view.TermFieldReader(r.ctx, []byte(term), field, d >= frequency, d >= frequency, d >= positions)
	if err != nil {
		return nil, fmt.Errorf("read postings: %w", err)
	}
	r.opened++
	return &postings{task: r.task, reader: reader, count: int64(reader.Count()), current: &bleveindex.TermFieldDoc{}}, nil
}

// each calls do for every document that has a term. It uses its own reader.
func (r *readers) each(field, term string, do func(doc uint64)) error {
	p, err := r.read(field, term, presence)
	if err != nil {
		return err
	}
	defer p.reader.Close()
	for target := uint64(0); ; {
		doc, err := p.seek(target)
		if err != nil || doc == noMore {
			return err
		}
		do(doc)
		target = doc + 1
	}
}

// everything returns a matcher of all documents.
func (r *readers) everything() (*everything, error) {
	reader, err := r.view.DocIDReaderAll()
	if err != nil {
		return nil, fmt.Errorf("read all documents: %w", err)
	}
	r.all = append(r.all, reader)
	return &everything{task: r.task, reader: reader}, nil
}

// close closes all readers.
func (r *readers) close() {
	for _, p := range r.open {
		_ = p.reader.Close()
	}
	for _, reader := range r.all {
		_ = reader.Close()
	}
}
