package index

import "math"

// The parameters of BM25, the weight of a word in the title against one in the text, and the weight of a stop word.
const (
	k1             = 1.5
	b              = 0.65
	titleWeight    = 2.5
	stopwordWeight = 0.01
)

// strictWords is the maximum number of words, without stop words, of a short query. In a short query, a document with more
// matching words always ranks first. A longer query is usually a sentence with words that say little, so the sum of the
// scores decides.
const strictWords = 3

// scoreUnit is how many units of the whole numbers in which scores are added make up 1. So a sum does not depend on the order
// in which it is added. The scores of 1,024 of the rarest words among 10 million documents do not overflow an int32.
const scoreUnit = 16384

// leastIDF is the inverse document frequency of a word in nearly all documents, so that units still show their lengths.
const leastIDF = 0.01

// ranking computes scores from statistics, for documents of which some fields are searched.
type ranking struct {
	*counted
	titles [256]float64
	texts  [256]float64
	fields []FieldWeight // of metadata
}

// counted are the statistics of a search, which all rankings of it share.
type counted struct {
	statistics Statistics
	frozen     bool // the statistics are from an earlier page
	next       int  // index of Frequencies
	parts      int  // index of Parts
}

func newRanking(current Statistics, earlier *Statistics) *ranking {
	r := &ranking{counted: &counted{statistics: current}}
	if earlier != nil {
		r.statistics, r.frozen = *earlier, true
	}
	return r.with(defaultFields)
}

// with returns a ranking for other fields, with the same statistics.
func (r *ranking) with(f *Fields) *ranking {
	r = &ranking{counted: r.counted, fields: f.Metadata}
	title, text := r.average(r.statistics.Titles), r.average(r.statistics.Texts)
	for code, length := range lengths {
		r.titles[code] = f.Title / (1 - b + float64(b*float64(length)/title))
		r.texts[code] = f.Text / (1 - b + float64(b*float64(length)/text))
	}
	return r
}

func (r *ranking) average(words int64) float64 {
	if words <= 0 || r.statistics.Docs <= 0 {
		return 1
	}
	return float64(words) / float64(r.statistics.Docs)
}

// count returns the next frequency: of the first page, or that of now, which is then that of the first page.
func (r *ranking) count(now int64) int64 {
	if !r.frozen {
		r.statistics.Frequencies = append(r.statistics.Frequencies, now)
	} else if r.next < len(r.statistics.Frequencies) {
		now = r.statistics.Frequencies[r.next]
	}
	r.next++
	return now
}

// idf returns the inverse document frequency of the next word, which count documents have now.
func (r *ranking) idf(count int64) float64 { return r.idfOf(r.count(count)) }

// idfOf returns the inverse document frequency of a word that count documents have.
func (r *ranking) idfOf(count int64) float64 {
	n, df := float64(r.statistics.Docs), float64(max(0, min(count, r.statistics.Docs)))
	const precision = 1 << 20 // rounded, so that all processors agree
	idf := max(leastIDF, math.Log(1+(n-df+0.5)/(df+0.5)))
	return math.Round(idf*precision) / precision
}

// saturated limits the effect of a word's frequency: the result is below k1+1.
func saturated(frequency float64) float64 { return frequency * (k1 + 1) / (k1 + frequency) }

// units rounds a score to units.
func units(score float64) int32 { return int32(float64(score*scoreUnit) + 0.5) }

// scorer computes the scores of a word.
type scorer struct {
	*ranking
	weight float64
	table  [8][256]int32 // by frequency in the text and code of its length, if the word is not in the title; 0: not computed
}

// score returns the score of a word with these frequencies in a document with these coded lengths.
func (s *scorer) score(title, text uint32, titleCode, textCode byte) int32 {
	if title > 0 || text >= uint32(len(s.table)) {
		return s.compute(title, text, titleCode, textCode)
	}
	if v := s.table[text][textCode]; v > 0 {
		return v
	}
	v := s.compute(title, text, titleCode, textCode)
	s.table[text][textCode] = v
	return v
}

func (s *scorer) compute(title, text uint32, titleCode, textCode byte) int32 {
	return units(s.weight * saturated(float64(float64(title)*s.titles[titleCode])+float64(float64(text)*s.texts[textCode])))
}

// inEntry returns the score of a word in a searched entry of metadata, which has no frequencies.
func (s *scorer) inEntry(weight float64) int32 { return max(1, units(s.weight*saturated(weight))) }

// most is the score that no document reaches.
func (s *scorer) most() int32 { return mostOf(s.weight) }

func mostOf(weight float64) int32 { return units(weight*(k1+1)) + 1 }
