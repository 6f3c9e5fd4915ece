package search

import "math"

// The numbers of BM25, and how much more a word in the title tells than one in the text.
const (
	k1          = 1.2
	b           = 0.75
	titleWeight = 2.0
)

// strictWords is up to how many telling words a query may have for the number of those that match to decide before
// anything else. In a longer one, a sentence mostly, some words say so little that all of them having to count alike
// would push good answers down; there the sum decides, in which more words weigh more.
const strictWords = 4

// statistics are the counts that scores depend on. A cursor carries those of its first page, so that writes between two
// pages do not move what has been seen and what has not against each other.
type statistics struct {
	Documents   int64   `json:"n"`
	TitleWords  int64   `json:"t"`
	TextWords   int64   `json:"x"`
	Frequencies []int64 `json:"f"` // documents that have a word, in the order in which words are opened
}

// ranking turns counts into weights while a query is opened.
type ranking struct {
	statistics
	frozen bool // the statistics are those of an earlier page
	next   int  // of Frequencies
}

func newRanking(s state, earlier *statistics) *ranking {
	if earlier != nil {
		return &ranking{statistics: *earlier, frozen: true}
	}
	return &ranking{statistics: statistics{Documents: s.Documents, TitleWords: s.TitleWords, TextWords: s.TextWords}}
}

// idf is how much a word tells that count documents have.
func (r *ranking) idf(count int64) float64 {
	if r.frozen && r.next < len(r.Frequencies) {
		count = r.Frequencies[r.next]
	} else {
		r.Frequencies = append(r.Frequencies, count)
	}
	r.next++
	n, df := float64(r.Documents), float64(min(count, r.Documents))
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

// average is how many words a field has on average.
func (r *ranking) average(field string) float64 {
	words := r.TextWords
	if field == titleField {
		words = r.TitleWords
	}
	if words <= 0 || r.Documents <= 0 {
		return 1
	}
	return float64(words) / float64(r.Documents)
}

// weighted is a frequency in a field of that length, as BM25F adds them over the fields.
func weighted(weight, times, length, average float64) float64 {
	return weight * times / (1 - b + b*length/average)
}

// saturated bounds what the frequency of one word can do: it stays under k1+1.
func saturated(frequency float64) float64 { return frequency * (k1 + 1) / (k1 + frequency) }
