package index

// mask returns the documents of a part that no filter, exclusion or deletion leaves out; nil: all.
func (r *search) mask(p *searchedPart) (bitmap, error) {
	mask := p.scope
	owned := false
	own := func() {
		if !owned {
			mask, owned = copyOf(mask, p.docs), true
		}
	}
	members, err := r.members(p, r.group)
	if err != nil {
		return nil, err
	}
	if members != nil {
		own()
		mask.and(members)
	}
	for i := range r.q.Filters {
		f := &r.q.Filters[i]
		terms, err := r.withAny(p, f.Any)
		if err != nil {
			return nil, err
		}
		if own(); f.Not {
			mask.without(terms)
		} else {
			mask.and(terms)
		}
	}
	for _, c := range r.not {
		own()
		if err := r.exclude(p, c, mask); err != nil {
			return nil, err
		}
	}
	return mask, r.steps(1 + len(mask)/8)
}

// exclude removes the documents from mask that match a clause.
func (r *search) exclude(p *searchedPart, c clause, mask bitmap) error {
	c.open(p)
	if w, ok := c.(*word); ok {
		for i := range w.terms {
			mask.withoutList(&w.terms[i].list)
		}
		if w.flat != nil {
			mask.without(w.flat)
		}
		return r.steps(c.count())
	}
	for doc := c.seek(0); doc != noDoc; doc = c.seek(doc + 1) {
		if _, ok := c.score(doc); ok {
			mask.remove(doc)
		}
		if err := r.steps(8); err != nil {
			return err
		}
	}
	return nil
}

func copyOf(b bitmap, docs uint32) bitmap {
	if b == nil {
		return full(docs)
	}
	return append(bitmap(nil), b...)
}

// withAny returns the documents with a term of the ranges.
func (r *search) withAny(p *searchedPart, ranges []Range) (bitmap, error) {
	docs := newBitmap(p.docs)
	var err error
	for _, of := range ranges {
		p.dictionary.each(of, func(_ []byte, e entry) bool {
			r.list.open(p.lists, e)
			docs.addList(&r.list)
			err = r.steps(1 + r.list.stored)
			return err == nil
		})
		if err != nil {
			return nil, err
		}
	}
	return docs, nil
}
