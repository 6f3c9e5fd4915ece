package index

// openScope sets the scope of every part.
func (r *search) openScope() error {
	if r.away != nil {
		return nil
	}
	r.parts = make([]searchedPart, len(r.snapshot.parts))
	for i := range r.parts {
		p := &r.parts[i]
		p.part, p.number = &r.snapshot.parts[i], i
		p.scope = p.live
		if r.q.Scope == "" {
			continue
		}
		e, _ := p.dictionary.find(r.q.Scope)
		if e.count == p.docs {
			continue
		}
		p.scope = newBitmap(p.docs)
		r.list.open(p.lists, e)
		p.scope.addList(&r.list)
		p.scope.and(p.live)
		if err := r.steps(int(e.count)); err != nil {
			return err
		}
	}
	return nil
}

// statistics returns the current statistics of the scope.
func (r *search) statistics() Statistics {
	if r.away != nil {
		return r.away.Statistics(r.q.Scope)
	}
	s := Statistics{Docs: r.snapshot.docs, Titles: r.snapshot.titles, Texts: r.snapshot.texts, Languages: r.snapshot.Languages()}
	whole := true
	for i := range r.parts {
		whole = whole && sameBitmap(r.parts[i].scope, r.parts[i].live)
	}
	if whole {
		return s
	}
	s = Statistics{}
	for i := range r.parts {
		p := &r.parts[i]
		before := s.Docs
		p.eachInScope(func(doc uint32) {
			title, body := p.lengthsOf(doc)
			s.Docs++
			s.Titles += title
			s.Texts += body
			if len(p.languages) > 0 {
				s.Languages.Add(p.language(doc))
			}
		})
		if len(p.languages) == 0 && s.Docs > before {
			s.Languages.Add(p.language(0))
		}
	}
	return s
}

func (p *searchedPart) eachInScope(do func(doc uint32)) {
	if p.scope != nil {
		p.scope.each(do)
		return
	}
	for doc := range p.docs {
		do(doc)
	}
}
