package search

import (
	"cmp"
	"slices"

	"keepsake/internal/text"
)

// phrase matches documents with adjacent words, in any field.
type phrase struct {
	fields []*fieldPhrase
	idf    float64
	doc    uint64
}

// fieldPhrase is a phrase in one field.
type fieldPhrase struct {
	terms   []phraseTerm // rarest first
	weight  float64
	average float64
	doc     uint64 // result of seek
	times   int    // the phrase occurs in the document that matches
}

// phraseTerm is a word of a phrase, with its distance from the first.
type phraseTerm struct {
	*postings
	offset uint64
	next   int // index of the next position to compare
}

// openPhrase opens a quoted or excluded phrase. A phrase of a single word is that word.
func openPhrase(o *readers, r *ranking, tokens []text.Token) (matcher, error) {
	if len(tokens) == 1 {
		w, _, err := openWord(o, r, tokens[0], false)
		return w, err
	}
	p := &phrase{}
	counts := make([]int64, len(tokens))
	for _, f := range searchedFields {
		in := &fieldPhrase{weight: f.weight, average: r.average(f.name)}
		p.fields = append(p.fields, in)
		for i, t := range tokens {
			if t.Term == "" {
				continue
			}
			terms, err := o.words(f.name, t.Term)
			if err != nil {
				return nil, err
			}
			in.terms = append(in.terms, phraseTerm{postings: terms, offset: uint64(t.Pos - tokens[0].Pos)})
			counts[i] = max(counts[i], terms.count)
		}
		slices.SortStableFunc(in.terms, func(a, b phraseTerm) int { return cmp.Compare(a.count, b.count) })
	}
	for _, count := range counts {
		p.idf += r.idf(count)
	}
	return p, nil
}

func (p *phrase) seek(target uint64) (uint64, error) {
	p.doc = noMore
	for _, f := range p.fields {
		if err := f.seek(target); err != nil {
			return noMore, err
		}
		p.doc = min(p.doc, f.doc)
	}
	return p.doc, nil
}

// matches counts how often the phrase occurs, which score needs.
func (p *phrase) matches() (bool, error) {
	found := false
	for _, f := range p.fields {
		if f.times = 0; f.doc != p.doc {
			continue
		}
		var err error
		if f.times, err = f.count(); err != nil {
			return false, err
		}
		found = found || f.times > 0
	}
	return found, nil
}

func (p *phrase) score() float64 {
	sum := 0.0
	for _, f := range p.fields {
		if f.times > 0 {
			_, length := f.terms[0].frequency()
			sum += weighted(f.weight, float64(f.times), length, f.average)
		}
	}
	return p.idf * saturated(sum)
}

// seek stops at the first term that is missing in the target, and returns the next document with that term.
func (f *fieldPhrase) seek(target uint64) error {
	f.doc = noMore
	for _, t := range f.terms {
		doc, err := t.seek(target)
		if err != nil {
			return err
		}
		if f.doc = doc; doc > target {
			return nil
		}
	}
	return nil
}

// count returns how often the terms are adjacent in a document that contains them all. Positions rise, so each list is read
// once.
func (f *fieldPhrase) count() (times int, err error) {
	for i := range f.terms {
		f.terms[i].next = 0
	}
	rarest := &f.terms[0]
	for _, v := range rarest.current.Vectors {
		if v.Pos <= rarest.offset { // positions begin at 1
			continue
		}
		first, fits, steps := v.Pos-rarest.offset, true, 1
		for i := 1; i < len(f.terms) && fits; i++ {
			t := &f.terms[i]
			before := t.next
			fits = t.at(first + t.offset)
			steps += 1 + t.next - before
		}
		if fits {
			times++
		}
		if err := rarest.task.Step(steps); err != nil {
			return 0, err
		}
	}
	return times, nil
}

// at reports whether the term is at a position. The positions of successive calls must not fall.
func (t *phraseTerm) at(position uint64) bool {
	list := t.current.Vectors
	for t.next < len(list) && list[t.next].Pos < position {
		t.next++
	}
	return t.next < len(list) && list[t.next].Pos == position
}
