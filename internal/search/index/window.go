package index

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"
)

// windowSize is how many documents are scored together when any of several words matches.
const windowSize = 4096

// window adds up the scores of the documents of a window.
type window struct {
	first   uint32
	scores  [windowSize]int32
	matches [windowSize / 64]uint64

	// The documents with a word that is not weak. Only they can be among the best, so others need no score.
	strong [windowSize / 64]uint64

	// A word with several lists is scored here first.
	best    [windowSize]int32
	touched [windowSize / 64]uint64
}

// windows are empty ones.
var windows = sync.Pool{New: func() any { return &window{} }}

// weakestFirst returns words, those with the lowest possible scores first.
func weakestFirst(words []*word) []*word {
	order := slices.Clone(words)
	slices.SortStableFunc(order, func(a, b *word) int { return cmp.Compare(a.limit(), b.limit()) })
	return order
}

// limit is the score, with a bonus, that the word gives to no document.
func (w *word) limit() int64 {
	limit := int64(w.flatScore) + int64(w.flatBonus) + 1
	for i := range w.terms {
		t := &w.terms[i]
		limit = max(limit, int64(t.most())+int64(t.bonus)) // also of a list with a flat score
	}
	for _, a := range w.apart {
		limit = max(limit, int64(mostOf(w.weight))+int64(w.apartBonus)+int64(a.exact))
	}
	return limit
}

// weakWords returns how many of the first words are weak: a document with all of them and no other word has a lower score than
// least.
func weakWords(order []*word, least int64) int {
	sum := int64(0)
	for _, w := range order {
		sum += int64(w.partMost)
	}
	for i, w := range order {
		if sum += w.limit(); sum > least || !w.disjoint() {
			return i
		}
	}
	return len(order)
}

// disjoint reports whether the word consists of lists of which a document can be in only one.
func (w *word) disjoint() bool {
	return len(w.Similar) == 0 && w.flat == nil && !w.others && len(w.apart) == 0 && !w.finds() && !w.inFields
}

// addWeakTo is addTo for a weak word.
func (w *word) addWeakTo(win *window) int {
	w.at = win.first + windowSize
	n := 0
	for i := range w.terms {
		t := &w.terms[i]
		n += win.addToStrong(&t.list, t.scorer, w.part, t.bonus)
	}
	return n
}

// searchAny scores the documents of a part in windows. All words add their scores to the same window, then its matching
// documents are counted and the best are kept.
func (r *search) searchAny(p *searchedPart, mask bitmap, hits *collector) error {
	for _, w := range r.any {
		w.open(p)
	}
	win := windows.Get().(*window)
	order := weakestFirst(r.any)
	for {
		first := uint32(noDoc)
		for _, w := range r.any {
			first = min(first, w.next())
		}
		if first == noDoc {
			windows.Put(win) // not after an error or a panic
			return nil
		}
		win.first = first / windowSize * windowSize
		cost := windowSize / 64
		weak := weakWords(order, hits.least())
		for _, w := range order[weak:] {
			cost += w.addTo(win)
		}
		if win.strong = win.matches; weak > 0 {
			for _, w := range order[:weak] {
				cost += w.addWeakTo(win)
			}
		}
		for _, w := range r.any {
			if len(w.parts) > 0 && !w.finds() {
				cost += w.addParts(win)
			}
		}
		cost += r.typedApartIn(win)
		r.collect(p, win, mask, hits)
		if err := r.steps(cost); err != nil {
			return err
		}
	}
}

// collect offers the matching documents of the window, and clears it.
func (r *search) collect(p *searchedPart, win *window, mask bitmap, hits *collector) {
	at := int(win.first / 64)
	least := hits.least()
	for i := range win.matches {
		found := win.matches[i]
		if found == 0 {
			continue
		}
		win.matches[i] = 0
		kept := found
		if mask != nil {
			kept &= mask[at+i]
		}
		hits.total += int64(bits.OnesCount64(kept))
		if p.matches != nil {
			p.matches[at+i] |= kept
		}
		for ; found != 0; found &= found - 1 {
			bit := bits.TrailingZeros64(found)
			score := win.scores[i*64+bit]
			win.scores[i*64+bit] = 0
			if kept&(1<<bit) != 0 && int64(score) >= least {
				hits.offer(win.first+uint32(i*64+bit), score)
				least = hits.least()
			}
		}
	}
}

// add adds the scores of the documents of a list that are in the window, and returns how many there were.
func (win *window) add(l *list, s *scorer, p *searchedPart, bonus int32) int {
	n := 0
	end := win.first + windowSize
	for l.at < l.n || l.load(l.block+1) {
		l.unpackFrequencies()
		at := l.at
		for ; at < l.n && l.docs[at] < end; at++ {
			doc := l.docs[at]
			slot := (doc - win.first) % windowSize
			score := int32(0)
			if text := l.texts[at]; l.titles[at] == 0 && text < uint32(len(s.table)) {
				score = s.table[text][p.lengths[2*doc+1]]
			}
			if score == 0 {
				score = s.score(l.titles[at], l.texts[at], p.lengths[2*doc], p.lengths[2*doc+1])
			}
			win.scores[slot] += bonus + score
			win.matches[slot/64] |= 1 << (slot % 64)
		}
		n += at - l.at
		if l.at = at; at < l.n {
			break
		}
	}
	return n
}

// addToStrong is add for a weak word: it adds scores only to documents with a word that is not weak.
func (win *window) addToStrong(l *list, s *scorer, p *searchedPart, bonus int32) int {
	n := 0
	end := win.first + windowSize
	for l.at < l.n || l.load(l.block+1) {
		at := l.at
		for ; at < l.n && l.docs[at] < end; at++ {
			doc := l.docs[at]
			slot := (doc - win.first) % windowSize
			bit := uint64(1) << (slot % 64)
			win.matches[slot/64] |= bit
			if win.strong[slot/64]&bit != 0 {
				l.unpackFrequencies()
				win.scores[slot] += bonus + s.score(l.titles[at], l.texts[at], p.lengths[2*doc], p.lengths[2*doc+1])
			}
		}
		n += at - l.at
		if l.at = at; at < l.n {
			break
		}
	}
	return n
}

// compare keeps the best scores of the documents of a list that are in the window, and returns how many there were.
func (win *window) compare(l *list, s *scorer, p *searchedPart, bonus int32) int {
	n := 0
	end := win.first + windowSize
	for doc := l.seek(win.first); doc < end; doc = l.next() {
		slot := doc - win.first
		title, text := l.frequencies()
		win.keep(slot, bonus+s.score(title, text, p.lengths[2*doc], p.lengths[2*doc+1]))
		n++
	}
	return n
}

// compareFlat is compare for a list whose documents have the same score.
func (win *window) compareFlat(l *list, score int32) int {
	n := 0
	for doc := l.seek(win.first); doc < win.first+windowSize; doc = l.next() {
		win.keep(doc-win.first, score)
		n++
	}
	return n
}

// keep keeps a score if it is the best of its document.
func (win *window) keep(slot uint32, score int32) {
	if bit := uint64(1) << (slot % 64); win.touched[slot/64]&bit == 0 || score > win.best[slot] {
		win.touched[slot/64] |= bit
		win.best[slot] = score
	}
}

// addBest adds the best scores and clears them.
func (win *window) addBest() {
	for i := range win.touched {
		touched := win.touched[i]
		win.touched[i] = 0
		win.matches[i] |= touched
		for ; touched != 0; touched &= touched - 1 {
			bit := bits.TrailingZeros64(touched)
			win.scores[i*64+bit] += win.best[i*64+bit]
		}
	}
}
