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
}

// raised is a document with parts of a word, and the score of the best of them: the document in the upper half.
type raised uint64

func (r raised) doc() uint32  { return uint32(r >> 32) }
func (r raised) value() int32 { return int32(uint32(r)) }

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
	found, err := r.alike(of, w.Word)
	if err != nil {
		return err
	}
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
		hash := partHash(p.word)
		if r.ranking.frozen {
			if !hasHash(kept, hash) {
				continue
			}
		} else {
			n, err := r.countParts(p)
			if err != nil {
				return err
			}
			if n == 0 || docs+n > budget {
				continue
			}
			docs += n
			kept = append(kept, hash[:]...)
		}
		if w.parts = append(w.parts, *p); len(w.parts) == maxParts {
			break
		}
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

// alike returns the words of all parts of the snapshot that share at least half of the grams of a word, the closest first. Other forms
// of the word are not among them.
func (r *search) alike(of []uint32, w *Word) (list []sharing, err error) {
	least := (len(of) + 1) / 2
	if r.away != nil {
		list = alikeElsewhere(r.away, of, least)
	}
	numbers := map[string]int{}
	more := make([]bool, len(r.parts))
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
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b sharing) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(a.word, b.word)) // as a segment sorts them
	})
	kept := list[:0]
	for i := range list {
		if !r.isForm(list[i].word, w) {
			kept = append(kept, list[i])
		}
		if len(kept) == 2*maxParts {
			break
		}
	}
	for i := range kept {
		for part, entry := range kept[i].entries {
			if entry.count == 0 && more[part] {
				kept[i].entries[part], _ = r.parts[part].dictionary.find(wordTerm(kept[i].word))
			}
		}
	}
	return kept, nil
}

// isForm reports whether a word is another form of a word of the query, in one of the languages.
func (r *search) isForm(word string, w *Word) bool {
	if word == w.Word {
		return true
	}
	for l := range r.languages.All {
		stem := w.Stem
		if l != text.English {
			stem = text.StemIn(l, w.Word)
		}
		if text.StemIn(l, word) == stem {
			return true
		}
	}
	return false
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
	w.raised, w.nextRaised = w.raised[:0], 0
	for i := range w.parts {
		of := &w.parts[i]
		if e := of.entries[p.number]; e.count > 0 {
			l := &w.run.list
			l.open(p.lists, e)
			for doc := l.seek(0); doc != noDoc; doc = l.next() {
				w.raised = append(w.raised, raised(doc)<<32|raised(uint32(of.value)))
			}
		}
	}
	slices.Sort(w.raised)
}

// seekRaised moves to the best score of the first document with parts at or after target.
func (w *word) seekRaised(target uint32) uint32 {
	for ; w.nextRaised < len(w.raised); w.nextRaised++ {
		doc := w.raised[w.nextRaised].doc()
		last := w.nextRaised+1 == len(w.raised) || w.raised[w.nextRaised+1].doc() != doc
		if last && doc >= target {
			return doc
		}
	}
	return noDoc
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
	for doc := w.seekRaised(win.first); doc < win.first+windowSize; doc = w.seekRaised(doc + 1) {
		win.keep(doc-win.first, w.raised[w.nextRaised].value())
		n++
	}
	return n
}

// addParts adds the scores of parts to documents that can be among the best.
func (w *word) addParts(win *window) (n int) {
	for doc := w.seekRaised(win.first); doc < win.first+windowSize; doc = w.seekRaised(doc + 1) {
		if slot := doc - win.first; win.strong[slot/64]&(1<<(slot%64)) != 0 {
			win.scores[slot] += w.raised[w.nextRaised].value()
		}
		n++
	}
	return n
}

// partScore returns the best score of the parts of the word in a document. The documents of successive calls rise.
func (w *word) partScore(doc uint32) int32 {
	if w.seekRaised(doc) == doc {
		return w.raised[w.nextRaised].value()
	}
	return 0
}
