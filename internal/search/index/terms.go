package index

import (
	"cmp"
	"maps"
	"slices"

	"keepsake/internal/base/text"
)

// Terms are the terms of a document for another engine, as an index here has them.
type Terms struct {
	Language    text.Language
	Title, Text int // coded lengths
	TitleCode   byte
	TextCode    byte
	UpdatedAt   int64
	Keys        []string // of its collection, tags and metadata, and of searched entries of metadata
	Stems       []Frequency
	Words       []string // as they stand, without their kind
	InTitle     []Occurrence
	InText      []Occurrence
}

// Frequency tells how often a stem occurs in the title and in the text.
type Frequency struct {
	Term        string
	Title, Text int
}

// Occurrence is a stem at a position, from 1. Several can be at one.
type Occurrence struct {
	Term     string
	Position int
}

// Terms returns the terms of a document.
func (l *Lexicon) Terms(d *Document) *Terms {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin()
	b := &l.scratch
	*b = batch{lexicon: l, terms: append(b.terms[:0], batchTerm{}), log: b.log[:0], sorted: b.sorted, ranks: b.ranks, keys: map[string][]uint32{}, rows: b.rows[:0]}
	b.add("", d)
	row := &b.rows[0]
	t := &Terms{
		Language: row.language, TitleCode: codeOf(row.title), TextCode: codeOf(row.text), UpdatedAt: d.UpdatedAt,
		Keys: slices.Sorted(maps.Keys(b.keys)),
	}
	t.Title, t.Text = int(lengths[t.TitleCode]), int(lengths[t.TextCode])
	stems, words := map[uint32]int{}, map[uint32]bool{}
	slices.SortStableFunc(b.log, func(x, y occurrence) int { return cmp.Compare(x.position, y.position) })
	for i := range b.log {
		o := &b.log[i]
		if !words[o.word] {
			words[o.word] = true
			t.Words = append(t.Words, b.terms[o.word].term[1:])
		}
		if o.stem == 0 {
			continue
		}
		n, known := stems[o.stem]
		if !known {
			n = len(t.Stems)
			stems[o.stem] = n
			t.Stems = append(t.Stems, Frequency{Term: b.terms[o.stem].term})
		}
		at := Occurrence{Term: b.terms[o.stem].term, Position: int(o.position)}
		if o.position <= row.titleEnd {
			t.Stems[n].Title++
			t.InTitle = append(t.InTitle, at)
		} else {
			t.Stems[n].Text++
			at.Position -= int(row.titleEnd) + 1
			t.InText = append(t.InText, at)
		}
	}
	clear(b.terms)
	clear(b.rows)
	if b.keys = nil; cap(b.log) > maxScratch {
		l.scratch = batch{}
	}
	return t
}
