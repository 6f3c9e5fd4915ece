package search

import (
	"cmp"
	"context"
	"slices"

	"keepsake/internal/text"
)

// phrase matches documents in which words stand side by side, in any field.
type phrase struct {
	fields []*fieldPhrase
	idf    float64
	doc    uint64
}

// fieldPhrase is a phrase in one field.
type fieldPhrase struct {
	terms   []phraseTerm // the rarest first
	weight  float64
	average float64
	doc     uint64
	times   int
}

// phraseTerm is a word of a phrase and how far from the first it stands.
type phraseTerm struct {
	*postings
	offset uint64
}

// openPhrase opens a quoted or excluded piece; one of a single word is that word.
func openPhrase(ctx context.Context, v *view, r *ranking, tokens []text.Token) (matcher, error) {
	if len(tokens) == 1 {
		w, _, err := openWord(ctx, v, r, tokens[0], false)
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
			terms, err := openPostings(ctx, v, f.name, t.Term, positions)
			if err != nil {
				p.close()
				return nil, err
			}
			in.terms = append(in.terms, phraseTerm{terms, uint64(t.Pos - tokens[0].Pos)})
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
		doc, err := f.seek(target)
		if err != nil {
			return noMore, err
		}
		p.doc = min(p.doc, doc)
	}
	return p.doc, nil
}

func (p *phrase) score() float64 {
	sum := 0.0
	for _, f := range p.fields {
		if f.doc == p.doc {
			_, length := f.terms[0].frequency()
			sum += weighted(f.weight, float64(f.times), length, f.average)
		}
	}
	return p.idf * saturated(sum)
}

func (p *phrase) close() {
	for _, f := range p.fields {
		for _, t := range f.terms {
			t.close()
		}
	}
}

func (f *fieldPhrase) seek(target uint64) (uint64, error) {
	if f.times > 0 && f.doc >= target || f.doc == noMore {
		return f.doc, nil
	}
	for doc := target; ; doc++ {
		var err error
		if doc, err = together(f.terms, doc); err != nil {
			return noMore, err
		}
		if f.doc = doc; doc == noMore {
			return noMore, nil
		}
		if f.times = f.count(); f.times > 0 {
			return doc, nil
		}
	}
}

// count is how often the terms stand side by side in the document they all have.
func (f *fieldPhrase) count() int {
	times := 0
	rarest := f.terms[0]
	for _, v := range rarest.current.Vectors {
		fits := v.Pos > rarest.offset // positions begin at 1
		for i := 1; i < len(f.terms) && fits; i++ {
			fits = f.terms[i].at(v.Pos - rarest.offset + f.terms[i].offset)
		}
		if fits {
			times++
		}
	}
	return times
}

// together finds the first document at or after doc that all of them have.
func together[M matcher](all []M, doc uint64) (uint64, error) {
	for i := 0; i < len(all) && doc != noMore; {
		found, err := all[i].seek(doc)
		if err != nil {
			return noMore, err
		}
		if found == doc {
			i++
			continue
		}
		doc, i = found, 0
	}
	return doc, nil
}
