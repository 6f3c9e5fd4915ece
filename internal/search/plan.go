package search

import (
	"keepsake/internal/text"
)

// plan is an opened query: what a document must contain, what it must not contain, and what gives its score.
type plan struct {
	required []matcher // a document must match all of them
	scored   []matcher // the required ones that add to the score
	extra    *anyOf    // bare words next to phrases: they add to the score but need not match
	excluded []matcher
	exact    bool // false: a prefix matches more words than were read
	wanted   text.Wanted
}

// openPlan opens the query q with the filters of r.
func openPlan(o *readers, rank *ranking, q query, r *Request) (*plan, error) {
	p := &plan{exact: true, wanted: text.Wanted{Terms: map[string]float64{}, Words: map[string]float64{}}}
	if err := p.openWords(o, rank, q); err != nil {
		return nil, err
	}
	for _, tokens := range q.must {
		m, err := openPhrase(o, rank, tokens)
		if err != nil {
			return nil, err
		}
		p.required, p.scored = append(p.required, m), append(p.scored, m)
		for _, t := range tokens {
			p.want(t, 1)
		}
	}
	for _, tokens := range q.not {
		m, err := openPhrase(o, rank, tokens)
		if err != nil {
			return nil, err
		}
		p.excluded = append(p.excluded, m)
	}
	if len(p.required) == 0 && len(p.excluded) > 0 { // only exclusions: all other documents match
		m, err := o.everything()
		if err != nil {
			return nil, err
		}
		p.required = append(p.required, m)
	}
	if len(p.required) == 0 {
		return p, nil
	}
	return p, p.openFilters(o, r)
}

func (p *plan) openWords(o *readers, rank *ranking, q query) error {
	if len(q.words) == 0 {
		return nil
	}
	var words []*word
	for i, t := range q.words {
		prefix := q.prefix && i == len(q.words)-1
		w, complete, err := openWord(o, rank, t, prefix)
		if err != nil {
			return err
		}
		words = append(words, w)
		p.exact = p.exact && complete
		p.want(t, w.idf)
		if prefix {
			p.wanted.Prefix = t.Word
		}
	}
	either := newAnyOf(o.task, words)
	if len(q.must) > 0 {
		p.extra = either
		return nil
	}
	p.required, p.scored = append(p.required, either), append(p.scored, either)
	return nil
}

func (p *plan) openFilters(o *readers, r *Request) error {
	filter := func(field, value string) error {
		m, err := o.postings(field, value, presence)
		if err == nil {
			p.required = append([]matcher{m}, p.required...) // first, so that the words can skip
		}
		return err
	}
	if r.Collection != "" {
		if err := filter(collectionField, r.Collection); err != nil {
			return err
		}
	}
	for _, tag := range r.Tags {
		if err := filter(tagField, tag); err != nil {
			return err
		}
	}
	return nil
}

// want adds a token to highlight.
func (p *plan) want(t text.Token, weight float64) {
	if t.Term != "" {
		p.wanted.Terms[t.Term] = weight
	}
	if t.Term == t.Word && text.Unspaced(t.Word) {
		p.wanted.Words[t.Word] = weight
	}
}

// seek returns the first matching document at or after target, or noMore. All matchers advance together.
func (p *plan) seek(target uint64) (uint64, error) {
	if len(p.required) == 0 {
		return noMore, nil
	}
	for doc := target; doc != noMore; {
		next, err := p.candidate(doc)
		if err != nil {
			return noMore, err
		}
		if next != doc {
			doc = next
			continue
		}
		if ok, err := p.matches(doc); ok || err != nil {
			return doc, err
		}
		doc++
	}
	return noMore, nil
}

// candidate returns doc if every required matcher can match it, else the next possible document.
func (p *plan) candidate(doc uint64) (uint64, error) {
	for _, m := range p.required {
		if next, err := m.seek(doc); err != nil || next != doc {
			return next, err
		}
	}
	return doc, nil
}

// matches reports whether a candidate matches.
func (p *plan) matches(doc uint64) (bool, error) {
	for _, m := range p.required {
		if ok, err := m.matches(); !ok || err != nil {
			return false, err
		}
	}
	for _, m := range p.excluded {
		next, err := m.seek(doc)
		if err != nil {
			return false, err
		}
		if next != doc {
			continue
		}
		if out, err := m.matches(); out || err != nil {
			return false, err
		}
	}
	return true, nil
}

// score returns the score of the last document that was found.
func (p *plan) score(doc uint64) (float64, error) {
	sum := 0.0
	for _, m := range p.scored {
		sum += m.score()
	}
	if p.extra == nil {
		return sum, nil
	}
	found, err := p.extra.seek(doc)
	if err == nil && found == doc {
		sum += p.extra.score()
	}
	return sum, err
}
