package index

import (
	"bytes"
	"unicode/utf8"
)

// Neighbour is a word that is spelled nearly like another one.
type Neighbour struct {
	Word  string
	Edits int
	Docs  int64 // that have it
}

// Near returns the words of documents of a collection, or of all documents if scope is empty, that become a folded word by at most
// so many edits: a letter is added, removed or replaced, or two neighbours change places. An edit of the first letter counts as two.
// If shared is more than 1, only words that begin with as many letters of the word are returned. The word itself is not among them.
func (s *Snapshot) Near(word string, edits, shared int, scope string, step Step) (list []Neighbour, err error) {
	defer recoverCorrupt(&err)
	begin := 0
	for i := 0; i < shared && begin < len(word); i++ {
		_, size := utf8.DecodeRuneInString(word[begin:])
		begin += size
	}
	if begin == 0 {
		return nil, nil
	}
	run := &search{snapshot: s, q: &Query{Scope: scope}, step: step, fields: s.fields}
	if err := run.openScope(); err != nil {
		return nil, err
	}
	found := map[string]int{}
	for i := range run.parts {
		for _, field := range run.wordTerms() {
			d := newDistances(word, edits)
			run.parts[i].dictionary.each(prefixed(field+word[:begin]), func(term []byte, _ entry) bool {
				if n := d.of(term[len(field):]); n > 0 && n <= edits {
					found[string(term[len(field):])] = n
				}
				err = run.steps(1)
				return err == nil
			})
			if err != nil {
				return nil, err
			}
		}
		if edits >= firstLetterEdits && shared <= 1 {
			if err := run.otherFirstLetters(&run.parts[i].dictionary, word, found); err != nil {
				return nil, err
			}
		}
	}
	for word, edits := range found {
		docs, err := run.wordDocs(word)
		if err != nil {
			return nil, err
		}
		if docs > 0 {
			list = append(list, Neighbour{word, edits, docs})
		}
	}
	return list, nil
}

// wordTerms returns what the terms of words begin with, in titles and texts and in the searched entries of metadata.
func (r *search) wordTerms() []string {
	list := []string{wordTerm("")}
	for _, f := range r.fields {
		list = append(list, fieldTerm(f.Name, wordTerm("")))
	}
	return list
}

// wordDocs returns how many documents of the scope have a word as it stands, in each field.
func (r *search) wordDocs(word string) (docs int64, err error) {
	for _, field := range r.wordTerms() {
		n, err := r.frequency(field + word)
		if err != nil {
			return 0, err
		}
		docs += n
	}
	return docs, nil
}

// firstLetterEdits is how many edits one of the first letter counts as.
const firstLetterEdits = 2

// otherFirstLetters adds the words that differ from a word by an edit of the first letter only.
func (r *search) otherFirstLetters(d *dictionary, word string, found map[string]int) error {
	first, size := utf8.DecodeRuneInString(word)
	rest := word[size:]
	add := func(other string) {
		if _, known := found[other]; known || other == word {
			return
		}
		if _, ok := d.find(wordTerm(other)); ok {
			found[other] = firstLetterEdits
		}
	}
	if second, n := utf8.DecodeRuneInString(rest); n > 0 {
		add(rest)
		add(string(second) + string(first) + rest[n:])
	}
	var t terms
	for ok := d.seek(&t, wordTerm("")); ok && kind(t.term[0]) == wordKind && len(t.term) > 1; {
		letter, _ := utf8.DecodeRune(t.term[1:])
		if letter != first {
			add(string(letter) + rest)
			add(string(letter) + word)
		}
		if err := r.steps(2); err != nil {
			return err
		}
		ok = d.seek(&t, after(wordTerm(string(letter))))
	}
	return nil
}

// Count returns how many documents of a collection, or of all documents if scope is empty, have a word with the same stem, or the
// word as it stands if none has. stem is the English one.
func (s *Snapshot) Count(stem, word, scope string, step Step) (docs int64, err error) {
	defer recoverCorrupt(&err)
	run := &search{snapshot: s, q: &Query{Scope: scope}, step: step, languages: s.Languages(), fields: s.fields}
	if err := run.openScope(); err != nil {
		return 0, err
	}
	if _, docs, err = run.stems(stem, word, ""); docs > 0 || err != nil {
		return docs, err
	}
	return run.wordDocs(word)
}

// Begins reports whether a document of a collection, or any document if scope is empty, has a word that begins with a folded word.
func (s *Snapshot) Begins(word, scope string, step Step) (found bool, err error) {
	defer recoverCorrupt(&err)
	run := &search{snapshot: s, q: &Query{Scope: scope}, step: step, fields: s.fields}
	if err := run.openScope(); err != nil {
		return false, err
	}
	for i := range run.parts {
		p := &run.parts[i]
		for _, field := range run.wordTerms() {
			p.dictionary.each(prefixed(field+word), func(_ []byte, e entry) bool {
				n := int64(0)
				if n, err = run.countIn(p, e); err == nil {
					err = run.steps(1)
				}
				found = n > 0
				return !found && err == nil
			})
			if found || err != nil {
				return found, err
			}
		}
	}
	return false, nil
}

// distances computes the edits between a word and candidates in their order. Rows of the beginning that a candidate shares
// with the one before are computed once.
type distances struct {
	word  []rune
	most  int
	last  []byte // candidate
	runes []rune // of last
	ends  []int  // of runes in last
	rows  [][]int
	dead  int // a beginning of last of so many bytes has too many edits already; 0: none
}

func newDistances(word string, most int) *distances {
	d := &distances{word: []rune(word), most: most}
	row := make([]int, len(d.word)+1)
	for i := range row {
		row[i] = i
	}
	d.rows = append(d.rows, row)
	return d
}

// of returns the number of edits, or a larger number than the most.
func (d *distances) of(candidate []byte) int {
	if d.dead > 0 && bytes.HasPrefix(candidate, d.last[:d.dead]) {
		return d.most + 1
	}
	shared := sharedPrefix(d.last, candidate)
	n := len(d.ends)
	for n > 0 && d.ends[n-1] > shared {
		n--
	}
	d.last = append(d.last[:0], candidate...)
	d.runes, d.ends, d.dead = d.runes[:n], d.ends[:n], 0
	end := 0
	if n > 0 {
		end = d.ends[n-1]
	}
	for end < len(candidate) {
		r, size := utf8.DecodeRune(candidate[end:])
		end += size
		d.runes, d.ends = append(d.runes, r), append(d.ends, end)
		if d.addRow() > d.most {
			d.dead = end
			return d.most + 1
		}
	}
	return d.rows[len(d.runes)][len(d.word)]
}

// addRow computes the row of the last rune, and returns its smallest number. Numbers far from the diagonal are too large
// anyway and not computed.
func (d *distances) addRow() int {
	i := len(d.runes)
	if len(d.rows) == i {
		d.rows = append(d.rows, make([]int, len(d.word)+1))
	}
	row, before := d.rows[i], d.rows[i-1]
	for j := range row {
		row[j] = d.most + 1
	}
	least := d.most + 1
	for j := max(0, i-d.most); j <= min(len(d.word), i+d.most); j++ {
		if j == 0 {
			row[0] = i
		} else {
			replaced := before[j-1]
			if d.runes[i-1] != d.word[j-1] {
				replaced++
			}
			row[j] = min(replaced, before[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && d.runes[i-1] == d.word[j-2] && d.runes[i-2] == d.word[j-1] {
				row[j] = min(row[j], d.rows[i-2][j-2]+1)
			}
		}
		least = min(least, row[j])
	}
	return least
}
