package usage

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Histogram counts durations in buckets whose width is at most 1/32 of their start, so that a quantile is wrong by at most 1/64
// of its value. Histograms of any times and recorders can be merged. The zero value is empty.
//
// There are 32 buckets between each power of two and the next, in units of 32 ns. A duration below 1 µs is wrong by at most
// 16 ns. The last bucket contains durations of 36 minutes and more.
type Histogram struct {
	buckets []bucket // in ascending order of their numbers, without empty ones; nil if dense is used

	// dense contains the counts of the buckets from number first on. A histogram with many buckets next to each other uses it
	// instead, because adding to it is faster.
	dense []int64
	first int
}

// bucket contains the number of a bucket in its upper bits, and its count in the others.
type bucket uint64

const (
	bucketCount = 1024 // numbers of buckets
	unitBits    = 5    // a unit is 32 ns
	stepBits    = 5    // 32 buckets for each power of two
	countBits   = 54
	maxCount    = 1<<52 - 1 // so that the sum of all buckets fits an int64
)

func newBucket(number int, count int64) bucket { return bucket(number)<<countBits | bucket(count) }

func (b bucket) number() int  { return int(b >> countBits) }
func (b bucket) count() int64 { return int64(b & (1<<countBits - 1)) }

// plus adds a count, which stays at its maximum.
func (b bucket) plus(count int64) bucket {
	return newBucket(b.number(), min(b.count()+count, maxCount))
}

// bucketOf returns the number of the bucket of d.
func bucketOf(d time.Duration) int {
	units := uint64(max(d, 0)) >> unitBits
	if units < 1<<stepBits {
		return int(units)
	}
	exponent := bits.Len64(units) - stepBits - 1
	return min(exponent<<stepBits+int(units>>exponent), bucketCount-1)
}

// middleOf returns the duration in the middle of a bucket.
func middleOf(number int) time.Duration {
	exponent := max(number>>stepBits-1, 0)
	start := time.Duration(number-exponent<<stepBits) << exponent << unitBits
	return start + 1<<exponent<<unitBits/2
}

// Add counts d.
func (h *Histogram) Add(d time.Duration) { h.add(bucketOf(d), 1) }

func (h *Histogram) add(number int, count int64) {
	if h.dense != nil {
		h.addDense(number, count)
		return
	}
	at, found := slices.BinarySearchFunc(h.buckets, number, func(b bucket, number int) int { return b.number() - number })
	if found {
		h.buckets[at] = h.buckets[at].plus(count)
		return
	}
	h.buckets = slices.Insert(h.buckets, at, newBucket(number, min(count, maxCount)))
	h.condense()
}

func (h *Histogram) addDense(number int, count int64) {
	if uint(number-h.first) >= uint(len(h.dense)) {
		h.widen(number)
	}
	at := &h.dense[number-h.first]
	*at = min(*at+count, maxCount)
}

// widen makes room for a number, and for some more.
func (h *Histogram) widen(number int) {
	const more = 16
	first, last := h.first, h.first+len(h.dense)
	if number < first {
		first = max(number-more, 0)
	} else {
		last = min(number+more, bucketCount)
	}
	dense := make([]int64, last-first)
	copy(dense[h.first-first:], h.dense)
	h.dense, h.first = dense, first
}

// condense makes h dense if it has many buckets, and that takes at most three times their memory.
func (h *Histogram) condense() {
	const many = 32
	n := len(h.buckets)
	if n < many {
		return
	}
	first, last := h.buckets[0].number(), h.buckets[n-1].number()
	if last-first >= 3*n {
		return
	}
	h.dense, h.first = make([]int64, last-first+1), first
	for _, b := range h.buckets {
		h.dense[b.number()-first] = b.count()
	}
	h.buckets = nil
}

// all iterates over the buckets that are not empty, in ascending order.
func (h *Histogram) all(yield func(number int, count int64) bool) {
	for _, b := range h.buckets {
		if !yield(b.number(), b.count()) {
			return
		}
	}
	for i, count := range h.dense {
		if count > 0 && !yield(h.first+i, count) {
			return
		}
	}
}

// Merge adds everything that o counted.
func (h *Histogram) Merge(o Histogram) {
	if h.dense == nil && o.dense == nil {
		h.mergeSparse(o.buckets)
		h.condense()
		return
	}
	for _, b := range o.buckets { // h is dense
		h.addDense(b.number(), b.count())
	}
	for i, count := range o.dense {
		if count > 0 {
			h.add(o.first+i, count)
		}
	}
}

func (h *Histogram) mergeSparse(buckets []bucket) {
	missing, at := 0, 0
	for _, b := range buckets {
		for at < len(h.buckets) && h.buckets[at].number() < b.number() {
			at++
		}
		if at == len(h.buckets) || h.buckets[at].number() > b.number() {
			missing++
		}
	}
	// From the end, so that each bucket moves at most once.
	from, other := len(h.buckets)-1, len(buckets)-1
	h.buckets = slices.Grow(h.buckets, missing)[:len(h.buckets)+missing]
	for to := len(h.buckets) - 1; other >= 0; to-- {
		b := buckets[other]
		switch {
		case from < 0 || h.buckets[from].number() < b.number():
			h.buckets[to] = b
			other--
		case h.buckets[from].number() == b.number():
			h.buckets[to] = h.buckets[from].plus(b.count())
			from, other = from-1, other-1
		default:
			h.buckets[to] = h.buckets[from]
			from--
		}
	}
}

// Clone returns a copy that shares no memory with h.
func (h *Histogram) Clone() Histogram {
	return Histogram{buckets: slices.Clone(h.buckets), dense: slices.Clone(h.dense), first: h.first}
}

// Reset empties h and keeps the memory of its buckets.
func (h *Histogram) Reset() { *h = Histogram{buckets: h.buckets[:0]} }

// Count returns how many durations were counted.
func (h *Histogram) Count() (n int64) {
	for _, count := range h.all {
		n += count
	}
	return n
}

// Quantile returns the duration that the fraction q of all durations does not exceed: Quantile(0.5) is the median. It returns 0
// if h is empty.
func (h *Histogram) Quantile(q float64) time.Duration {
	total := h.Count()
	rank := min(max(int64(math.Ceil(q*float64(total))), 1), total)
	for number, count := range h.all {
		if rank -= count; rank <= 0 {
			return middleOf(number)
		}
	}
	return 0
}

// An encoded histogram is a list of pairs: the distance to the number of the previous bucket, plus 1, and the count. A distance
// of 0 begins again at number 0, and each encoding begins with one. So the encodings of two histograms, one after another, are
// an encoding of both merged, and a database can append to one.

// AppendBinary appends an encoding of h to b. That of an empty histogram has no bytes.
func (h *Histogram) AppendBinary(b []byte) ([]byte, error) { return h.encode(b), nil }

func (h *Histogram) encode(to []byte) []byte {
	previous := -1
	for number, count := range h.all {
		if previous < 0 {
			to, previous = append(to, 0), 0
		}
		to = binary.AppendUvarint(to, uint64(number-previous+1))
		to = binary.AppendUvarint(to, uint64(count))
		previous = number
	}
	return to
}

var errHistogram = errors.New("usage: damaged histogram")

// UnmarshalBinary replaces h by the histograms that data encodes, one after another. It reuses the memory of h.
func (h *Histogram) UnmarshalBinary(data []byte) error {
	h.Reset()
	if len(data) > 0 && data[0] != 0 {
		return errHistogram
	}
	// The first histogram is in order and needs no search.
	buckets, number, first := h.buckets, 0, true
	for i := 0; i < len(data); {
		distance, size := uvarint(data[i:])
		if size <= 0 || distance > bucketCount {
			return errHistogram
		}
		i += size
		if distance == 0 {
			number = 0
			if len(buckets) > 0 && first {
				h.buckets, first = buckets, false
			}
			continue
		}
		number += int(distance) - 1
		count, size := uvarint(data[i:])
		if size <= 0 || number >= bucketCount || count == 0 || count > maxCount {
			return errHistogram
		}
		i += size
		switch n := len(buckets); {
		case !first:
			h.add(number, int64(count))
		case n > 0 && buckets[n-1].number() == number: // a distance of 1
			buckets[n-1] = buckets[n-1].plus(int64(count))
		default:
			buckets = append(buckets, newBucket(number, int64(count)))
		}
	}
	if first {
		h.buckets = buckets
	}
	return nil
}

// uvarint is binary.Uvarint, faster for numbers of one byte.
func uvarint(data []byte) (uint64, int) {
	if len(data) > 0 && data[0] < 0x80 {
		return uint64(data[0]), 1
	}
	return binary.Uvarint(data)
}
