package index

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf8"

	"keepsake/internal/base/text"
)

// This file is for documents whose index is in another engine. The rules of a search are the same there: Plan asks how many documents
// have what, as Search reads it from a snapshot, and says what the engine has to find and how much each word counts.

// Elsewhere knows the documents of another engine. A scope is the term of a collection, or empty for all documents.
type Elsewhere interface {
	Statistics(scope string) Statistics
	Count(scope string, c *Condition) int64
	// Alike returns words that have at least so many of the grams, those with the most first.
	Alike(grams []uint32, least int) []string
	// Near returns words that become a word by at most so many edits, in which neighbours can change places, and that begin with as
	// many letters of it.
	Near(word string, edits, shared int) []string
}

// Condition selects documents that have a term or a phrase.
type Condition struct {
	Any     []Range
	Marked  []Range // what Vietnamese documents must have instead of Any; nil: Any
	Phrases []Words
	All     [][]string // lists of terms; a document with all terms of one is selected
}

// Words are stems at the given distances from the first.
type Words []PlacedTerm

// PlacedTerm is a stem in Words.
type PlacedTerm struct {
	Term   string
	Offset uint32
}

// Plan is a search for another engine. A document is found if it belongs to one of the groups and fulfils what the group says, and the
// filters and the scope of the query.
type Plan struct {
	Groups []PlannedGroup
	Found  *Found // without hits, total and facets
}

// PlannedGroup says what to find in the documents of a group. Scores are whole units.
type PlannedGroup struct {
	*Group
	Only bool // there are no other groups
	Scale
	Any []PlannedWord
	All []PlannedClause
	Not []PlannedClause
}

// Scale is what the score of a word depends on, in addition to its frequencies in a title and in a text and the lengths of both. A frequency
// is multiplied with its weight and divided by Fixed + Share · length / average. Of the sum f, f · (K1+1) / (K1+f) · the weight of the
// word is the score, which Unit multiplies, rounded.
type Scale struct {
	Title, Text               float64 // weights
	AverageTitle, AverageText float64
}

// The parameters of Scale.
const (
	ScaleK1    = k1
	ScaleFixed = 1 - b
	ScaleShare = b
	ScaleUnit  = scoreUnit
)

// PlannedWord is a word. The score of a document is the best that it has of its own stems; else that of a form; or that of another
// spelling, if it is better. If Found is false, it has the best of the parts in addition.
type PlannedWord struct {
	Own, Others []PlannedList
	Form        *Condition
	FormScore   int32
	Apart       []PlannedPhrase
	Entries     []PlannedEntry // words next to each other in entries of metadata
	Parts       []PlannedPart
	Found       bool // the parts find documents
}

// PlannedList is a stem. Bonus is added to the score.
type PlannedList struct {
	Term   string
	Weight float64
	Flat   int32 // the score of every document; 0: it depends on frequencies
	Bonus  int32
}

// PlannedPhrase are stems next to each other.
type PlannedPhrase struct {
	Words     Words
	Weight    float64
	Bonus     int32
	Compounds []string // terms; a document with the words and with all of them scores Exact more
	Exact     int32
}

// PlannedEntry are terms. A document with all of them has the score.
type PlannedEntry struct {
	Terms []string
	Score int32
}

// PlannedPart is a word that shares parts with another.
type PlannedPart struct {
	Term  string
	Score int32
}

// PlannedClause is required or excluded: a word, or a phrase in one of several languages or in entries of metadata.
type PlannedClause struct {
	Word    *PlannedWord
	Phrases []PlannedPhrase
	Terms   [][]string // a document with all terms of a list has Flat
	Flat    int32
}

// NewPlan plans a search in documents elsewhere.
func NewPlan(q *Query, in Elsewhere) (*Plan, error) {
	run := &search{away: in, q: q}
	if err := run.open(); err != nil {
		return nil, err
	}
	p := &Plan{Found: run.found()}
	for _, g := range run.groups {
		p.Groups = append(p.Groups, run.plannedGroup(g))
	}
	return p, nil
}

func (r *search) plannedGroup(g *group) PlannedGroup {
	fields := defaultFields
	if g.Fields != nil {
		fields = g.Fields
	}
	s := &r.base.statistics
	planned := PlannedGroup{Group: g.Group, Only: len(r.groups) == 1, Scale: Scale{
		Title: fields.Title, Text: fields.Text, AverageTitle: r.base.average(s.Titles), AverageText: r.base.average(s.Texts),
	}}
	for _, w := range g.any {
		planned.Any = append(planned.Any, w.planned())
	}
	for _, c := range g.all {
		planned.All = append(planned.All, plannedClause(c))
	}
	for _, c := range g.not {
		planned.Not = append(planned.Not, plannedClause(c))
	}
	return planned
}

func (w *word) planned() PlannedWord {
	planned := PlannedWord{Form: w.asked, FormScore: w.flatScore + w.flatBonus, Found: w.finds()}
	for i := range w.terms {
		t := &w.terms[i]
		list := PlannedList{Term: t.term, Weight: t.weight, Flat: t.flat, Bonus: t.bonus}
		if t.other {
			planned.Others = append(planned.Others, list)
		} else {
			planned.Own = append(planned.Own, list)
		}
	}
	for _, a := range w.apart {
		for _, words := range a.phrases.terms() {
			planned.Apart = append(planned.Apart, PlannedPhrase{
				Words: words, Weight: a.scorer.weight, Bonus: w.apartBonus, Compounds: a.compounds, Exact: a.exact,
			})
		}
		for i, f := range a.fields {
			for _, terms := range a.entries[i] {
				planned.Entries = append(planned.Entries, PlannedEntry{Terms: terms, Score: a.scorer.inEntry(f.Weight) + w.apartBonus})
			}
		}
	}
	for i := range w.parts {
		planned.Parts = append(planned.Parts, PlannedPart{Term: wordTerm(w.parts[i].word), Score: w.parts[i].value})
	}
	return planned
}

func plannedClause(c clause) PlannedClause {
	switch c := c.(type) {
	case *inFields:
		planned := plannedClause(c.clause)
		planned.Terms, planned.Flat = c.terms, c.flat
		return planned
	case *word:
		w := c.planned()
		return PlannedClause{Word: &w}
	case *phrase:
		return plannedClause(phrases{c})
	case phrases:
		planned := PlannedClause{}
		for i, words := range c.terms() {
			planned.Phrases = append(planned.Phrases, PlannedPhrase{Words: words, Weight: c[i].weight})
		}
		return planned
	default:
		panic("an unknown clause")
	}
}

// terms returns the stems of each phrase, in the order of the words.
func (all phrases) terms() []Words {
	list := make([]Words, len(all))
	for i, p := range all {
		for _, w := range p.words {
			list[i] = append(list[i], PlacedTerm{w.term, w.offset})
		}
	}
	return list
}

// alikeElsewhere returns the words that share at least so many of the grams.
func alikeElsewhere(in Elsewhere, of []uint32, least int) (list []sharing) {
	var grams []uint32
	for _, word := range in.Alike(of, least) {
		grams = gramsOf(grams[:0], []byte(word))
		shared := 0
		for _, gram := range grams {
			if slices.Contains(of, gram) {
				shared++
			}
		}
		if shared >= least {
			list = append(list, sharing{word: word, shared: shared})
		}
	}
	slices.SortFunc(list, func(a, b sharing) int { return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(a.word, b.word)) })
	return list[:min(len(list), maxAlike)]
}

// Grams returns the grams of a folded word, by which Elsewhere.Alike finds it. Only words of letters have any.
func Grams(word string) []uint32 { return gramsOf(nil, []byte(word)) }

// Remote is what Near, Count and Begins of a Snapshot are for documents elsewhere.
type Remote struct {
	In     Elsewhere
	Fields []FieldWeight // entries of metadata in which words are looked for, too
}

func (r *Remote) run(scope string) *search {
	return &search{away: r.In, q: &Query{Scope: scope}, languages: r.In.Statistics("").Languages, fields: r.Fields}
}

// Count is described at Snapshot.
func (r *Remote) Count(stem, word, scope string) (int64, error) {
	run := r.run(scope)
	if _, docs, err := run.stems(stem, word, ""); docs > 0 || err != nil {
		return docs, err
	}
	return run.wordDocs(word)
}

// Begins is described at Snapshot.
func (r *Remote) Begins(word, scope string) bool {
	run := r.run(scope)
	var any []Range
	for _, field := range run.wordTerms() {
		any = append(any, prefixed(field+word))
	}
	return r.In.Count(scope, &Condition{Any: any}) > 0
}

// Near is described at Snapshot.
func (r *Remote) Near(word string, edits, shared int, scope string) (list []Neighbour, err error) {
	if word == "" || shared < 1 {
		return nil, nil
	}
	run := r.run(scope)
	candidates := slices.Clone(r.In.Near(word, edits, shared))
	if edits >= firstLetterEdits && shared == 1 {
		candidates = append(candidates, r.In.Near(word, 1, 0)...)
	}
	d := newDistances(word, edits)
	known := map[string]bool{}
	for _, other := range candidates {
		n := editsOf(d, word, other, shared)
		if n == 0 || n > edits || known[other] {
			continue
		}
		known[other] = true
		docs, err := run.wordDocs(other)
		if err != nil {
			return nil, err
		}
		if docs > 0 {
			list = append(list, Neighbour{other, n, docs})
		}
	}
	return list, nil
}

// editsOf returns by how many edits another word is a word, or 0 if it is not one that Near returns.
func editsOf(d *distances, word, other string, shared int) int {
	begin := 0
	for i := 0; i < shared && begin < len(word); i++ {
		_, size := utf8.DecodeRuneInString(word[begin:])
		begin += size
	}
	if len(other) >= begin && other[:begin] == word[:begin] {
		return d.of([]byte(other))
	}
	if shared > 1 {
		return 0
	}
	_, size := utf8.DecodeRuneInString(word)
	rest := word[size:]
	second, n := utf8.DecodeRuneInString(rest)
	first, otherSize := utf8.DecodeRuneInString(other)
	switch {
	case other == rest, n > 0 && other == string(second)+word[:size]+rest[n:],
		otherSize > 0 && (other == string(first)+rest || other == string(first)+word):
		return firstLetterEdits
	}
	return 0
}

// Term returns the only term of the range, if it is one of Only.
func (r Range) Term() (term string, ok bool) { return r.From, r.To == r.From+"\x00" }

// Prefix returns what all terms of the range begin with, if it has all such terms.
func (r Range) Prefix() (prefix string, ok bool) { return r.From, r.To == after(r.From) }

// Kind tells where a term comes from.
type Kind byte

// The kinds of terms.
const (
	KeyTerm   Kind = iota // a collection, a tag or a value of metadata
	StemTerm              // a stem of a title or a text
	WordTerm              // a word of a title or a text, as it stands
	FieldTerm             // a word, a stem or a pair of stems of a searched entry of metadata
)

// KindOf returns the kind of a term. A StemTerm is returned without its first byte, with its language if it is not English or the same
// in all languages; a WordTerm is the word.
func KindOf(term string) (k Kind, of text.Language, rest string) {
	switch kind(term[0]) {
	case stemKind:
		if len(term) > 1 && term[1] < byte(text.Languages) {
			return StemTerm, text.Language(term[1]), term[2:]
		}
		return StemTerm, text.English, term[1:]
	case wordKind:
		return WordTerm, text.English, term[1:]
	case fieldKind:
		return FieldTerm, text.English, term
	default:
		return KeyTerm, text.English, term
	}
}

// WordOfField returns the word of a FieldTerm, if it is a word as it stands.
func WordOfField(term string) (word string, ok bool) {
	size, n := binary.Uvarint([]byte(term[1:min(len(term), 1+binary.MaxVarintLen64)]))
	rest := term[1+n+int(size):]
	return strings.TrimPrefix(rest, wordTerm("")), strings.HasPrefix(rest, wordTerm(""))
}
