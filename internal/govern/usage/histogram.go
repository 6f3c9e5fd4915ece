package usage

import (
	"errors"
	"math"
	"strconv"
	"time"
)

// Histogram counts durations in buckets. Bucket n contains those of about 1.04^n microseconds, so that a quantile is wrong by at
// most 2 %. Bucket 0 also contains all that are shorter, and the last one all that are longer, than two hours. Histograms of any
// times and recorders can be merged. The zero value is empty.
type Histogram struct {
	counts []int64 // of the buckets from number first on
	first  int
}

const (
	growth      = 1.04
	bucketCount = 580 // 1.04^579 microseconds are 2 hours
)

var bucketsOfE = 1 / math.Log(growth) // how many buckets there are to the e-fold duration

// bucketOf returns the number of the bucket of d.
func bucketOf(d time.Duration) int {
	if d <= time.Microsecond {
		return 0
	}
	return min(int(math.Log(float64(d)/float64(time.Microsecond))*bucketsOfE+0.5), bucketCount-1)
}

// middleOf returns the duration in the middle of a bucket.
func middleOf(number int) time.Duration {
	return time.Duration(math.Round(math.Pow(growth, float64(number)) * float64(time.Microsecond)))
}

// Add counts d.
func (h *Histogram) Add(d time.Duration) { h.add(bucketOf(d), 1) }

// add adds a count to a bucket. It is fastest in ascending order.
func (h *Histogram) add(number int, count int64) {
	switch last := h.first + len(h.counts) - 1; {
	case len(h.counts) == 0:
		h.first, h.counts = number, append(h.counts, 0)
	case number < h.first:
		h.counts = append(make([]int64, h.first-number), h.counts...)
		h.first = number
	case number > last:
		h.counts = append(h.counts, make([]int64, number-last)...)
	}
	h.counts[number-h.first] += count
}

// Merge adds everything that o counted.
func (h *Histogram) Merge(o *Histogram) {
	if len(h.counts) == 0 {
		h.first, h.counts = o.first, append(h.counts, o.counts...)
		return
	}
	for i, count := range o.counts {
		if count > 0 {
			h.add(o.first+i, count)
		}
	}
}

// Reset removes all counts.
func (h *Histogram) Reset() { h.counts = h.counts[:0] }

// Size returns about how many bytes the buckets of h take.
func (h *Histogram) Size() int { return 8 * cap(h.counts) }

// Count returns how many durations were counted.
func (h *Histogram) Count() (n int64) {
	for _, count := range h.counts {
		n += count
	}
	return n
}

// Quantile returns the duration that the fraction q of all durations does not exceed: Quantile(0.5) is the median. It returns 0
// if h is empty.
func (h *Histogram) Quantile(q float64) time.Duration {
	total := h.Count()
	rank := min(max(int64(math.Ceil(q*float64(total))), 1), total)
	for i, count := range h.counts {
		if rank -= count; rank <= 0 {
			return middleOf(h.first + i)
		}
	}
	return 0
}

// AppendJSON appends h to text as a JSON object with the count of each bucket that is not empty, such as {"176":2,"177":5}.
func (h *Histogram) AppendJSON(text []byte) []byte {
	text = append(text, '{')
	for i, count := range h.counts {
		if count == 0 {
			continue
		}
		if text[len(text)-1] != '{' {
			text = append(text, ',')
		}
		text = append(text, '"')
		text = strconv.AppendInt(text, int64(h.first+i), 10)
		text = append(text, '"', ':')
		text = strconv.AppendInt(text, count, 10)
	}
	return append(text, '}')
}

var errDurations = errors.New("usage: damaged durations")

// MergeJSON adds what AppendJSON has written. After an error, h contains a part of it.
//
// A query reads 100,000 histograms, so there is no time for encoding/json.
func (h *Histogram) MergeJSON(text []byte) error {
	if len(text) < 2 || text[0] != '{' || text[len(text)-1] != '}' {
		return errDurations
	}
	for rest := text[1:]; len(rest) > 1; {
		if rest[0] != '"' {
			return errDurations
		}
		number, n := digits(rest[1:])
		if rest = rest[1+n:]; n == 0 || number >= bucketCount || len(rest) < 3 || rest[0] != '"' || rest[1] != ':' {
			return errDurations
		}
		count, n := digits(rest[2:])
		if rest = rest[2+n:]; count == 0 || rest[0] != ',' && len(rest) > 1 {
			return errDurations
		}
		h.add(int(number), count)
		if len(rest) > 1 {
			rest = rest[1:]
		}
	}
	return nil
}

// digits reads up to 18 digits, and returns how many there are. The last byte of text is none.
func digits(text []byte) (number int64, n int) {
	for n < 18 && text[n]-'0' <= 9 {
		number = 10*number + int64(text[n]-'0')
		n++
	}
	return number, n
}
