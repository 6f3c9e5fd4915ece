package search

import "math"

// The parameters of BM25, and the weight of a word in the title against one in the text.
const (
	k1          = 1.2
	b           = 0.75
	titleWeight = 2.0
)

// strictWords is the maximum number of words, without stopwords, of a short query. In a short query, a document with more
// matching words always ranks first. A longer query is usually a sentence with words that say little, so the sum of the
// scores decides.
const strictWords = 4

// statistics are the counts that scores depend on. A cursor contains those of its first page, so that writes between two
// pages do not change the order of results.
type statistics struct {
	Documents   int64   `json:"n"`
	TitleWords  int64   `json:"t"`
	TextWords   int64   `json:"x"`
	Frequencies []int64 `json:"f"` // documents with each word, in the order in which words are opened
}

// ranking computes weights from counts while a query is opened.
type ranking struct {
	statistics
	frozen bool // the statistics are from an earlier page
	next   int  // index of Frequencies
}

func newRanking(s state, earlier *statistics) *ranking {
	if earlier != nil {
		return &ranking{statistics: *earlier, frozen: true}
	}
	return &ranking{statistics: statistics{Documents: s.Documents, TitleWords: s.TitleWords, TextWords: s.TextWords}}
}

// idf returns the inverse document frequency of a word that count documents contain.
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

// average returns the average number of words in a field.
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

// weighted returns the weighted frequency in a field of that length. BM25F adds these over the fields.
func weighted(weight, times, length, average float64) float64 {
	return weight * times / (1 - b + b*length/average)
}

// saturated limits the effect of a word's frequency: the result is below k1+1.
func saturated(frequency float64) float64 { return frequency * (k1 + 1) / (k1 + frequency) }
