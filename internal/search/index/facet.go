package index

// countFacets counts the matching documents of a part by the terms of the facets.
func (r *search) countFacets(p *searchedPart) error {
	if p.matches == nil || p.matches.count() == 0 {
		return nil
	}
	for i, facet := range r.q.Facets {
		for _, of := range facet {
			var err error
			if c, ok := p.column(of); ok {
				err = r.countColumn(p, of, &c, &r.counts[i])
			} else {
				err = r.countLists(p, of, &r.counts[i])
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// countColumn counts the matching documents by the terms of a facet with a column.
func (r *search) countColumn(p *searchedPart, of Range, c *column, counts *Counts) error {
	const ofStep = 8 // documents that are counted in about the time of one step
	n := &r.columns
	n.open(c)
	if err := r.steps(1 + c.sets/ofStep); err != nil {
		return err
	}
	for i, word := range p.matches {
		if word == 0 {
			continue
		}
		n.add(c, i*64, word)
		if err := r.steps(1 + int(ones(word))/ofStep); err != nil {
			return err
		}
	}
	n.sum()
	value := 0
	p.dictionary.each(of, func(term []byte, _ entry) bool {
		counts.add(term, n.byValue[value])
		value++
		return true
	})
	return r.steps(1 + value)
}

// countLists counts the matching documents by the terms of a range.
func (r *search) countLists(p *searchedPart, of Range, counts *Counts) error {
	var err error
	p.dictionary.each(of, func(term []byte, e entry) bool {
		r.list.open(p.lists, e)
		n := int64(0)
		for doc := r.list.seek(0); doc != noDoc; doc = r.list.next() {
			if p.matches.has(doc) {
				n++
			}
		}
		counts.add(term, n)
		err = r.steps(1 + r.list.stored)
		return err == nil
	})
	return err
}

// add adds n documents with a term.
func (c *Counts) add(term []byte, n int64) {
	if n == 0 {
		return
	}
	if _, known := c.ByTerm[string(term)]; !known && len(c.ByTerm) == maxFacet {
		c.Complete = false
		return
	}
	c.ByTerm[string(term)] += n
}
