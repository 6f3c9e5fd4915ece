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

// add adds a count to a bucket. It is fastest in ascending order.
func (h *Histogram) add(number int, count int64) {
	if h.dense != nil {
		h.addDense(number, count)
		return
	}
	at, found := len(h.buckets), false
	if at > 0 && h.buckets[at-1].number() >= number {
		at, found = slices.BinarySearchFunc(h.buckets, number, func(b bucket, number int) int { return b.number() - number })
	}
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

// Size returns about how many bytes the buckets of h take.
func (h *Histogram) Size() int { return 8 * (cap(h.buckets) + cap(h.dense)) }

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

// Durations is an encoded Histogram, or several, one after another, which count as one. So a database can append to them. The
// zero value is empty.
//
// A histogram is a zero and a list of pairs: the distance to the number of the previous bucket, plus 1, and the count. The first
// distance is the one to bucket 0.
type Durations []byte

// Add counts took.
func (d *Durations) Add(took time.Duration) {
	one := Histogram{buckets: []bucket{newBucket(bucketOf(took), 1)}}
	*d = one.Encode(*d)
}

// Encode appends h to d. An empty histogram has no bytes.
func (h *Histogram) Encode(d Durations) Durations {
	previous := -1
	for number, count := range h.all {
		if previous < 0 {
			d, previous = append(d, 0), 0
		}
		d = binary.AppendUvarint(d, uint64(number-previous+1))
		d = binary.AppendUvarint(d, uint64(count))
		previous = number
	}
	return d
}

var errDurations = errors.New("usage: damaged durations")

// MergeEncoded adds everything that d counts. After an error, h contains a part of it.
func (h *Histogram) MergeEncoded(d Durations) error {
	for len(d) > 0 {
		if d[0] != 0 {
			return errDurations
		}
		n, err := h.mergeNext(d[1:])
		if err != nil {
			return err
		}
		d = d[1+n:]
	}
	return nil
}

// mergeNext adds the first histogram of data, behind its zero, and returns how many bytes it has.
func (h *Histogram) mergeNext(data []byte) (n int, err error) {
	number := 0
	dense, first := h.dense, h.first
	for n < len(data) && data[n] != 0 {
		if n+1 < len(data) && data[n]|data[n+1] < 0x80 { // the distance and the count have one byte each
			at, count := number+int(data[n])-1-first, int64(data[n+1])
			if uint(at) < uint(len(dense)) && count > 0 {
				dense[at] = min(dense[at]+count, maxCount)
				number = first + at
				n += 2
				continue
			}
		}
		distance, a := binary.Uvarint(data[n:])
		count, b := binary.Uvarint(data[n+max(a, 0):])
		number += int(distance) - 1
		if a <= 0 || b <= 0 || distance-1 >= bucketCount || number >= bucketCount || count-1 >= maxCount {
			return 0, errDurations
		}
		n += a + b
		h.add(number, int64(count))
		dense, first = h.dense, h.first
	}
	return n, nil
}
