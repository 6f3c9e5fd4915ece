package index

import (
	"cmp"
	"hash/fnv"
	"slices"

	"keepsake/internal/base/text"
)

// This file ranks documents higher that have a word with parts of a word of the query, and finds them if no document has the word.

const (
	maxParts   = 24  // words that share parts with a word
	lookedAt   = 48  // the closest words, without forms of the word, of which these are
	partWeight = 0.8 // of a word with all parts
	partWords  = 8   // words of a query of which parts are searched

	// The words are in at most so many documents together, or in a quarter of those that have the word itself. Otherwise, they would take
	// longer than the rest of the search. There can be more if no document has the word.
	partDocs      = 1_000
	partShare     = 4
	foundPartDocs = 20_000
)

// sharing is a word that shares parts with a word of the query.
type sharing struct {
	word    string
	shared  int     // grams
	entries []entry // by part; a count of 0: none
	value   int32   // of a document with the word
	form    ofForm
}

// ofForm says whether a word is another form of the word of the query.
type ofForm byte

const (
	unknown ofForm = iota
	isForm
	notForm
)

// raised are the documents of a part of the snapshot with one of the parts of a word, and the score of each.
type raised struct {
	next, end int // in raised of the word
	value     int32
}

// readParts reads the words that share at least half of the grams of a word, which own documents have. Those of a later page are
// those of the first.
func (w *word) readParts(own int64) error {
	r := w.run
	own = r.ranking.count(own)
	number := r.ranking.parts
	r.ranking.parts++
	alone := len(r.q.Any) == 1 && len(r.q.All) == 0 // then all documents have the word
	if number >= partWords || own > 0 && alone {
		return nil
	}
	of := gramsOf(nil, []byte(w.Word.Word))
	if len(of) == 0 {
		return nil
	}
	found, more, err := r.alike(of)
	if err != nil {
		return err
	}
	forms := r.newForms(w.Word)
	statistics := &r.ranking.statistics
	var kept []byte
	if r.ranking.frozen {
		if number < len(statistics.Parts) {
			kept = statistics.Parts[number]
		}
	}
	budget := max(partDocs, own/partShare)
	if own == 0 {
		budget = foundPartDocs
	}
	docs := int64(0)
	for i := range found {
		p := &found[i]
		if len(w.parts) == maxParts || i >= lookedAt && forms.others(found[:i]) >= lookedAt {
			break
		}
		r.findIn(more, p)
		hash := partHash(p.word)
		n := int64(0)
		if r.ranking.frozen {
			if !hasHash(kept, hash) {
				continue
			}
		} else {
			if n, err = r.countParts(p); err != nil {
				return err
			}
			if n == 0 || docs+n > budget {
				continue
			}
		}
		if forms.has(p) {
			continue
		}
		docs += n
		if !r.ranking.frozen {
			kept = append(kept, hash[:]...)
		}
		w.parts = append(w.parts, *p)
	}
	w.grams = len(of)
	if !r.ranking.frozen {
		for len(statistics.Parts) < number {
			statistics.Parts = append(statistics.Parts, nil)
		}
		statistics.Parts = append(statistics.Parts, kept)
	}
	if own == 0 {
		w.partCount = r.ranking.count(docs)
	}
	return nil
}

// partHash identifies a word in a cursor, which clients can read.
func partHash(word string) (hash [2]byte) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(word))
	sum := h.Sum32()
	return [2]byte{byte(sum), byte(sum >> 8)}
}

func hasHash(list []byte, hash [2]byte) bool {
	for ; len(list) >= 2; list = list[2:] {
		if list[0] == hash[0] && list[1] == hash[1] {
			return true
		}
	}
	return false
}

// alike returns the words of all parts of the snapshot that share at least half of the grams of a word, the closest first. more
// tells which parts of the snapshot can have more of the words than it found there.
func (r *search) alike(of []uint32) (list []sharing, more []bool, err error) {
	least := (len(of) + 1) / 2
	if r.away != nil {
		list = alikeElsewhere(r.away, of, least)
	}
	numbers := map[string]int{}
	more = make([]bool, len(r.parts))
	for i := range r.parts {
		steps := 0
		var some []alike
		some, more[i] = r.parts[i].alike(of, least, &steps)
		for _, a := range some {
			n, known := numbers[a.word]
			if !known {
				n = len(list)
				numbers[a.word] = n
				list = append(list, sharing{word: a.word, entries: make([]entry, len(r.parts)), shared: a.shared})
			}
			list[n].entries[i] = a.entry
		}
		if err := r.steps(steps / 16); err != nil {
			return nil, nil, err
		}
	}
	slices.SortFunc(list, func(a, b sharing) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(a.word, b.word)) // as a segment sorts them
	})
	return list, more, nil
}

// findIn finds a word in the parts of the snapshot that can have more words.
func (r *search) findIn(more []bool, p *sharing) {
	for part, entry := range p.entries {
		if entry.count == 0 && more[part] {
			p.entries[part], _ = r.parts[part].dictionary.find(wordTerm(p.word))
		}
	}
}

// forms tells which words are other forms of a word of the query, in one of the languages of the documents.
type forms struct {
	languages text.LanguageSet
	word      string
	stems     [text.Languages]string // of the word
}

func (r *search) newForms(w *Word) *forms {
	f := &forms{languages: r.languages, word: w.Word}
	for l := range r.languages.All {
		if f.stems[l] = w.Stem; l != text.English {
			f.stems[l] = text.StemIn(l, w.Word)
		}
	}
	return f
}

// has reports whether a word is a form, which it notes.
func (f *forms) has(p *sharing) bool {
	if p.form == unknown {
		p.form = notForm
		if p.word == f.word {
			p.form = isForm
		}
		for l := range f.languages.All {
			if p.form == notForm && text.StemIn(l, p.word) == f.stems[l] {
				p.form = isForm
			}
		}
	}
	return p.form == isForm
}

// others returns how many words are no forms.
func (f *forms) others(list []sharing) (n int) {
	for i := range list {
		if !f.has(&list[i]) {
			n++
		}
	}
	return n
}

// countParts returns how many documents of the scope have the word.
func (r *search) countParts(p *sharing) (docs int64, err error) {
	if r.away != nil {
		return r.frequency(wordTerm(p.word))
	}
	for i := range r.parts {
		if p.entries[i].count == 0 {
			continue
		}
		n, err := r.countIn(&r.parts[i], p.entries[i])
		if err != nil {
			return 0, err
		}
		docs += n
	}
	return docs, r.steps(len(r.parts))
}

// weighParts computes the scores from the weight of the word.
func (w *word) weighParts() {
	for i := range w.parts {
		p := &w.parts[i]
		p.value = units(w.weight * partWeight * float64(p.shared) / float64(w.grams) * saturated(1))
		w.partMost = max(w.partMost, p.value)
	}
}

// openParts reads the documents of a part of the snapshot with parts of the word.
func (w *word) openParts(p *searchedPart) {
	w.raised, w.runs, w.nextRaised = w.raised[:0], w.runs[:0], noDoc
	for i := range w.parts {
		of := &w.parts[i]
		e := of.entries[p.number]
		if e.count == 0 {
			continue
		}
		run := raised{next: len(w.raised), value: of.value}
		l := &w.run.list
		l.open(p.lists, e)
		for doc := l.seek(0); doc != noDoc; doc = l.next() {
			w.raised = append(w.raised, doc)
		}
		run.end = len(w.raised)
		w.runs = append(w.runs, run)
		w.nextRaised = min(w.nextRaised, w.raised[run.next])
	}
}

// seekRaised moves to the first document with parts at or after target, and returns it.
func (w *word) seekRaised(target uint32) uint32 {
	if w.nextRaised >= target {
		return w.nextRaised
	}
	w.nextRaised = noDoc
	for i := range w.runs {
		run := &w.runs[i]
		for run.next < run.end && w.raised[run.next] < target {
			run.next++
		}
		if run.next < run.end {
			w.nextRaised = min(w.nextRaised, w.raised[run.next])
		}
	}
	return w.nextRaised
}

// finds reports whether documents with a part of the word match, because none has the word.
func (w *word) finds() bool { return w.partCount > 0 }

// foundParts returns the words that are found in place of the word.
func (w *word) foundParts() (list []string) {
	if w.finds() {
		for i := range w.parts {
			list = append(list, w.parts[i].word)
		}
	}
	return list
}

// compareParts keeps the scores of the documents of the window with parts of the word, which are found.
func (w *word) compareParts(win *window) (n int) {
	return w.eachRaised(win, win.keep)
}

// addParts adds the best scores of parts to documents that can be among the best.
func (w *word) addParts(win *window) (n int) {
	n = w.eachRaised(win, func(slot uint32, value int32) {
		bit := uint64(1) << (slot % 64)
		if win.touched[slot/64]&bit == 0 && win.strong[slot/64]&bit != 0 {
			win.touched[slot/64] |= bit
			win.scores[slot] += value
		}
	})
	clear(win.touched[:])
	return n
}

// eachRaised calls do for the documents of the window with parts of the word, and returns how many it read. A document can have
// several, the best first.
func (w *word) eachRaised(win *window, do func(slot uint32, value int32)) (n int) {
	for i := range w.runs {
		run := &w.runs[i]
		for ; run.next < run.end && w.raised[run.next] < win.first+windowSize; run.next++ {
			if doc := w.raised[run.next]; doc >= win.first {
				do(doc-win.first, run.value)
			}
			n++
		}
	}
	return n
}

// partScore returns the best score of the parts of the word in a document. The documents of successive calls rise.
func (w *word) partScore(doc uint32) int32 {
	if w.seekRaised(doc) != doc {
		return 0
	}
	for i := range w.runs {
		if run := &w.runs[i]; run.next < run.end && w.raised[run.next] == doc {
			return run.value
		}
	}
	return 0
}
