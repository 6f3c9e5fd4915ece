package index

import "keepsake/internal/base/text"

// Query describes a search. A document matches if it has every phrase of All, none of Not, and, if All is empty, at least one
// word of Any. If both are empty but Not is not, or if Everything is true, all other documents match.
type Query struct {
	Any        []Word
	All        []Phrase
	Not        []Phrase
	Glued      []Glued  // words of Any that were typed without a blank; documents with the phrase score higher
	Blank      []string // compounds of words of Any that were typed with a blank; documents without them come first if scores are equal
	Everything bool     // Any and All are empty

	Groups  []Group  // each document belongs to one; nil: all are searched alike
	Filters []Filter // all must hold
	Scope   string   // term of a collection: only its documents match and count for the statistics; empty: all

	Sort       Sort
	After      *Place      // the last hit of the page before; nil: the first page
	Statistics *Statistics // of the first page; nil: the current ones
	Limit      int
	Facets     []Facet
}

// Word is a word to find. A document has it if it has a word with the same stem in the language of the document.
type Word struct {
	Stem     string // the English one; empty: only Word is found
	Word     string // as it stands, folded
	Marked   string // with its marks, which Vietnamese documents must have; empty if it has none
	Form     Form
	Similar  []Similar // words that are found, too, because Word is perhaps misspelled
	Parts    bool      // words that share parts with it rank documents higher, and are found if no document has it
	synonyms []Phrase  // of a group
	Others   []Phrase  // other spellings of the word, or of it and its neighbours in the query; they count nearly as much
}

// Form tells which words as they stand are found in addition to those with the stem.
type Form byte

// The forms.
const (
	Stemmed  Form = iota
	AsIs          // the word itself, for a single character of a script without spaces
	Prefix        // every word that begins with it
	Compound      // several words as one; the word is a phrase of its own in Others
)

// Similar is a word in place of a misspelled one.
type Similar struct {
	Stem   string  // the English one; no document has the empty stem
	Word   string  // folded
	Weight float64 // of its score
}

// Phrase are words that must be at the given distances from each other. A phrase of one word is that word.
type Phrase []PhraseWord

// Glued are words that were typed without a blank. Documents that have all compounds, too, have the words as they were typed.
type Glued struct {
	Phrase    Phrase
	Compounds []string
}

// PhraseWord is a word of a phrase. A word without a stem can only be in a phrase of its own.
type PhraseWord struct {
	Word
	Offset uint32 // distance from the first word
}

// Filter holds for documents with any of the terms, or with none of them if Not is true.
type Filter struct {
	Any []Range
	Not bool
}

// Facet counts the matching documents of each term.
type Facet []Range

// Sort is the order of hits. Equal hits are sorted by ID.
type Sort byte

// The orders.
const (
	ByScore Sort = iota
	NewestFirst
	OldestFirst
)

// Place is the position of a hit: larger keys come first, then smaller IDs.
type Place struct {
	Key int64  `json:"k"`
	ID  string `json:"i"`
}

// Found is the result of a search.
type Found struct {
	Hits       []Hit
	Total      int64
	Statistics Statistics
	Weights    []float64  // of the words of Any
	Parts      [][]string // of the words of Any that no document has: the words with parts of them that are found in their place
	Others     [][]int    // of the words of Any: the numbers of the other spellings that documents can have
	Facets     []Counts
}

// Hit is a document that was found.
type Hit struct {
	Place
	Score    float64
	Language text.Language // of the document
}

// Counts contains the number of matching documents by terms. Complete is false if there are more terms.
type Counts struct {
	ByTerm   map[string]int64
	Complete bool
}

// maxFacet is how many terms of a facet are counted.
const maxFacet = 10_000
