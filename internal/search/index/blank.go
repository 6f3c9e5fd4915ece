package index

// This file ranks documents with a sign between two words, such as follow-up, after those with a blank, if the words were typed with
// a blank and the scores are equal otherwise.

// blank is the list of a compound of words that were typed with a blank.
type blank struct {
	term string
	list list
}

// openBlank finds the compounds that documents have.
func (r *search) openBlank() {
	for _, compound := range r.q.Blank {
		if term := compoundTerm(compound); r.inDictionary(term) {
			r.blank = append(r.blank, blank{term: term})
		}
	}
}

// openBlankIn begins to read the lists of a part.
func (r *search) openBlankIn(p *searchedPart) {
	for i := range r.blank {
		p.open(&r.blank[i].list, r.blank[i].term)
	}
}

// typedApart returns how much less a document scores. The documents of successive calls rise.
func (r *search) typedApart(doc uint32) (less int32) {
	for i := range r.blank {
		if r.blank[i].list.seek(doc) == doc {
			less++
		}
	}
	return less
}

// typedApartIn lowers the scores of documents of the window that can be among the best. It returns how many documents it read.
func (r *search) typedApartIn(win *window) (n int) {
	for i := range r.blank {
		l := &r.blank[i].list
		for doc := l.seek(win.first); doc < win.first+windowSize; doc = l.next() {
			slot := doc - win.first
			if win.strong[slot/64]&(1<<(slot%64)) != 0 && win.scores[slot] > 1 {
				win.scores[slot]--
			}
			n++
		}
	}
	return n
}
