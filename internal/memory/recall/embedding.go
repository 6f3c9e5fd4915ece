package recall

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// Embeddings are vectors of one subject's memories that an embeddings endpoint returned, all by one model. They are separate from
// the Index, because a memory is indexed before it has one. It is safe for concurrent use.
type Embeddings struct {
	mu      sync.RWMutex
	size    int              // of a vector
	numbers map[string]int32 // by ID of the memory: the place of its vector
	ids     []string         // by number
	values  []int8           // by number: size values
	lengths []float64        // by number: 1 divided by the length of the vector
}

// NewEmbeddings returns Embeddings without vectors.
func NewEmbeddings() *Embeddings { return &Embeddings{numbers: map[string]int32{}} }

// Put adds the vector of a memory, or replaces it. The first vector decides the size of all; others have no effect.
func (e *Embeddings) Put(id string, v []int8) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.ids) == 0 {
		e.size = len(v)
	}
	length := lengthOf(v)
	if len(v) != e.size || length == 0 {
		return
	}
	n, ok := e.numbers[id]
	if !ok {
		n = int32(len(e.ids))
		id = string([]byte(id))
		e.numbers[id] = n
		e.ids = append(e.ids, id)
		e.values = append(e.values, v...)
		e.lengths = append(e.lengths, 1/length)
		return
	}
	copy(e.values[int(n)*e.size:], v)
	e.lengths[n] = 1 / length
}

// Remove removes the vector of a memory, if it has one.
func (e *Embeddings) Remove(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, ok := e.numbers[id]
	if !ok {
		return
	}
	last := len(e.ids) - 1 // takes its place
	e.numbers[e.ids[last]] = n
	delete(e.numbers, id)
	e.ids[n], e.lengths[n] = e.ids[last], e.lengths[last]
	copy(e.values[int(n)*e.size:], e.values[last*e.size:])
	clear(e.values[last*e.size:])
	e.ids[last] = ""
	e.ids, e.lengths, e.values = e.ids[:last], e.lengths[:last], e.values[:last*e.size]
}

// Len returns the number of vectors.
func (e *Embeddings) Len() int {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return len(e.ids)
}

// Bytes returns the memory that the vectors use.
func (e *Embeddings) Bytes() int64 {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return int64(cap(e.values)) + int64(cap(e.ids))*(16+8+mapEntry+32)
}

func lengthOf(v []int8) float64 { return math.Sqrt(float64(product(v, v))) }

// product returns the inner product of two vectors of the same size.
func product(a, b []int8) (sum int64) {
	var even, odd int32 // of at most 384 products of 2¹⁴
	b = b[:len(a)]
	for len(a) >= 8 {
		x, y := a[:8], b[:8]
		even += int32(x[0])*int32(y[0]) + int32(x[2])*int32(y[2]) + int32(x[4])*int32(y[4]) + int32(x[6])*int32(y[6])
		odd += int32(x[1])*int32(y[1]) + int32(x[3])*int32(y[3]) + int32(x[5])*int32(y[5]) + int32(x[7])*int32(y[7])
		a, b = a[8:], b[8:]
	}
	for i := range a {
		even += int32(a[i]) * int32(b[i])
	}
	return int64(even) + int64(odd)
}

const (
	// embeddingWeight takes the place of Weights.Meaning for memories with a vector. There is no floor: a memory that is less like the
	// query than the average one loses. embeddingBeside is the share that the turns before and after it have.
	embeddingWeight = 2
	embeddingBeside = 0.2
	// noCosine stands for a memory without a vector.
	noCosine = math.MinInt32
	// cosineUnit is a cosine of 1 in whole numbers, whose sums are exact in any order.
	cosineUnit = 1 << 20
	// surprise is by how many standard deviations more than the nearest of so many unrelated memories would be, a memory is near
	// enough to be found without a word of the query.
	surprise = 0.5
)

// compareEmbeddings compares the vectors of admitted memories with that of the query. They take the place of the vectors of words;
// a memory without one keeps its likeness by words.
func (s *search) compareEmbeddings(q *Query) {
	s.like.near = nil
	e := q.Embeddings
	if e == nil || len(q.Embedding) == 0 || s.w.Meaning == 0 {
		return
	}
	e.mu.RLock()
	defer e.mu.RUnlock()
	length := lengthOf(q.Embedding)
	if len(q.Embedding) != e.size || length == 0 || !s.step(16*len(s.admitted)) {
		return
	}
	cosines := make([]int32, len(s.admitted))
	var total, squares, count int64
	for slot, admitted := range s.admitted {
		cosines[slot] = noCosine
		if !admitted {
			continue
		}
		n, ok := e.numbers[s.x.idOf(int32(slot))]
		if !ok {
			continue
		}
		cosine := float64(product(q.Embedding, e.values[int(n)*e.size:int(n+1)*e.size])) * e.lengths[n] / length
		c := int64(math.Round(cosine * cosineUnit))
		cosines[slot] = int32(c)
		total, squares, count = total+c, squares+c*c, count+1
	}
	if count == 0 {
		return
	}
	mean, scale := float64(total)/float64(count), 0.0
	if variance := float64(squares)/float64(count) - mean*mean; variance >= 1 {
		scale = 1 / math.Sqrt(variance)
	}
	if b := q.Baseline; b != nil && count < fewMemories { // too few to know what is usual
		mean, scale = b.Mean*cosineUnit, 1/(b.deviation()*cosineUnit)
	}
	near, found := make([]float64, len(cosines)), make([]bool, len(cosines))
	factor := embeddingWeight / s.w.Meaning
	floor := math.Inf(1)
	if count >= fewMemories {
		floor = math.Sqrt(2*math.Log(float64(count))) + surprise
	}
	alone := aloneFrom(cosines, q.Baseline)
	for slot, c := range cosines {
		near[slot] = math.NaN()
		if c == noCosine {
			continue
		}
		deviations := (float64(c) - mean) * scale
		near[slot] = deviations * factor
		if found[slot] = deviations >= floor || float64(c) >= alone*cosineUnit; found[slot] {
			near[slot] = max(near[slot], leastFound*factor)
		}
	}
	if len(s.like.dots) == 0 { // vectors of words say nothing
		s.like = likeness{dots: make([]int32, len(near)), floor: math.Inf(1)}
	}
	s.like.near, s.like.nearFound = near, found
}

// Baseline is the mean and the standard deviation of the cosines of texts that have nothing to do with each other, by one model.
type Baseline struct{ Mean, Deviation float64 }

const (
	// unusual is by how many deviations of the baseline a memory is nearer than unrelated texts if it is found in any store.
	unusual = 3.5
	// clearGap is by how many deviations the nearest memories are nearer than all others if they are found although they do not
	// pass that bound, and atLeast by how many they exceed the baseline then.
	clearGap, atLeast = 4, 1.5
	// leastDeviation is the smallest deviation of a baseline that is believed, and usualDeviation that of an unknown one.
	leastDeviation, usualDeviation = 0.02, 0.1
	// leastFound is the likeness of a memory that is found by its vector alone.
	leastFound = 0.25
)

func (b *Baseline) deviation() float64 { return max(b.Deviation, leastDeviation) }

// aloneFrom returns the cosine from which a memory is found by its vector alone: one that is unusual for the model, or that of the
// last of the nearest memories, if a clear gap separates them from the others.
func aloneFrom(cosines []int32, b *Baseline) float64 {
	var list []float64
	for _, c := range cosines {
		if c != noCosine {
			list = append(list, float64(c)/cosineUnit)
		}
	}
	bound, deviation, low := math.Inf(1), usualDeviation, math.Inf(-1)
	if b != nil {
		bound, deviation, low = b.Mean+unusual*b.deviation(), b.deviation(), b.Mean+atLeast*b.deviation()
	}
	slices.SortFunc(list, func(x, y float64) int { return cmp.Compare(y, x) })
	for k := 1; k <= 1+len(list)/8 && k+2 <= len(list); k++ {
		mean, spread := meanOf(list[k:])
		if last, scale := list[k-1], max(spread, deviation); last >= low && last >= mean+clearGap*scale && last-list[k] >= clearGap/2*scale {
			bound = min(bound, last)
		}
	}
	return bound
}

// meanOf returns the mean and the standard deviation of numbers.
func meanOf(list []float64) (mean, deviation float64) {
	var sum, squares float64
	for _, x := range list {
		sum, squares = sum+x, squares+x*x
	}
	n := float64(len(list))
	mean = sum / n
	return mean, math.Sqrt(max(0, squares/n-mean*mean))
}
