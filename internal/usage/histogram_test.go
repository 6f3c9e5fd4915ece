package usage

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// durations draws durations of all sizes that a request can take.
func durations(t *rapid.T, label string) []time.Duration {
	longest := rapid.SampledFrom([]time.Duration{2 * time.Microsecond, 30 * time.Minute}).Draw(t, label+" at most")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(math.Exp(rapid.Float64Range(5, math.Log(float64(longest))).Draw(t, "log")))
	}), 0, 200).Draw(t, label)
}

func histogramOf(list ...time.Duration) Histogram {
	var h Histogram
	for _, d := range list {
		h.Add(d)
	}
	return h
}

// equalHistograms compares the buckets, dense or not.
func equalHistograms(a, b Histogram) bool { return slices.Equal(bucketsOf(a), bucketsOf(b)) }

func bucketsOf(h Histogram) (list []bucket) {
	for number, count := range h.all {
		list = append(list, newBucket(number, count))
	}
	return list
}

func encoded(list ...time.Duration) (d Durations) {
	for _, took := range list {
		d.Add(took)
	}
	return d
}

func decoded(d Durations) *Histogram {
	h := &Histogram{}
	if err := h.MergeEncoded(d); err != nil {
		panic(err)
	}
	return h
}

func equalDurations(a, b Durations) bool { return equalHistograms(*decoded(a), *decoded(b)) }

func cloned(h Histogram) Histogram {
	return Histogram{buckets: slices.Clone(h.buckets), dense: slices.Clone(h.dense), first: h.first}
}

func TestBucketsAreInOrderWithoutGaps(t *testing.T) {
	t.Parallel()
	for number := range bucketCount {
		middle := middleOf(number)
		if got := bucketOf(middle); got != number {
			t.Fatalf("the middle of bucket %d, %v, is in bucket %d", number, middle, got)
		}
		half := time.Duration(1) << max(number>>stepBits-1, 0) << unitBits / 2
		if got := bucketOf(middle - half); got != number {
			t.Fatalf("bucket %d starts after %v, which is in %d", number, middle-half, got)
		}
		if got := bucketOf(middle + half); got != min(number+1, bucketCount-1) {
			t.Fatalf("bucket %d does not end at %v, which is in %d", number, middle+half, got)
		}
	}
	if bucketOf(-time.Second) != 0 || bucketOf(math.MaxInt64) != bucketCount-1 {
		t.Error("a negative or very long duration is not in the first or last bucket")
	}
}

func TestQuantilesAreWithinTwoPercent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := durations(t, "durations")
		h := histogramOf(list...)
		if h.Count() != int64(len(list)) {
			t.Fatalf("count is %d, want %d", h.Count(), len(list))
		}
		slices.Sort(list)
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 1, rapid.Float64Range(0, 1).Draw(t, "q")} {
			got := h.Quantile(q)
			if len(list) == 0 {
				if got != 0 {
					t.Fatalf("the quantile of nothing is %v", got)
				}
				continue
			}
			want := list[max(int(math.Ceil(q*float64(len(list))))-1, 0)]
			if diff := (got - want).Abs(); float64(diff) > 0.02*float64(want) && diff > 16 {
				t.Fatalf("quantile %v of %v is %v, want %v", q, list, got, want)
			}
		}
	})
}

func TestMergedHistogramsEqualOneOfAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := durations(t, "a"), durations(t, "b")
		merged, other := histogramOf(a...), histogramOf(b...)
		kept := cloned(other)
		merged.Merge(other)
		if all := histogramOf(slices.Concat(a, b)...); !equalHistograms(merged, all) {
			t.Fatalf("got %v, want %v", merged, all)
		}
		if !equalHistograms(other, kept) {
			t.Fatal("the merged histogram changed")
		}
	})
}

func TestEncodedHistogramsCanBeAppended(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, before := durations(t, "a"), durations(t, "b"), durations(t, "before")
		one, other, got := histogramOf(a...), histogramOf(b...), histogramOf(before...)
		if err := got.MergeEncoded(other.Encode(one.Encode(nil))); err != nil {
			t.Fatal(err)
		}
		if all := histogramOf(slices.Concat(before, a, b)...); !equalHistograms(got, all) {
			t.Fatalf("got %v, want %v", got, all)
		}
		if !equalHistograms(*decoded(encoded(a...)), one) {
			t.Fatalf("durations one by one are not %v", one)
		}
	})
}

func TestCountOfBucketStopsAtItsMaximum(t *testing.T) {
	t.Parallel()
	full := Histogram{buckets: []bucket{newBucket(7, maxCount)}}
	h := cloned(full)
	h.add(7, 1)
	h.Merge(full)
	if !equalHistograms(h, full) {
		t.Errorf("got %v, want %v", h, full)
	}
	for number := range 100 {
		full.add(number, maxCount)
	}
	if full.dense == nil {
		t.Fatal("a histogram of 100 buckets is not dense")
	}
	h = cloned(full)
	h.Merge(full)
	if !equalHistograms(h, full) || h.Count() < 0 {
		t.Errorf("got %v, want %v", h, full)
	}
}

// Any bytes are refused or decode into a histogram that encodes and decodes to itself.
func FuzzHistogram(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for n := range 5 {
		var h Histogram
		for range n * n * 10 {
			h.Add(time.Duration(random.Int64N(int64(time.Second))))
		}
		f.Add([]byte(h.Encode(nil)))
	}
	f.Add([]byte{0, 1, 1, 0, 1, 1})
	f.Add([]byte{0, 0, 0x80})
	f.Add([]byte{0, 0x80, 0x08, 1, 1, 1})
	f.Add([]byte{1, 1})
	f.Add([]byte{0, 0x80, 0, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var h, again Histogram
		if h.MergeEncoded(data) != nil {
			return
		}
		list := bucketsOf(h)
		for i, b := range list {
			if b.count() == 0 || i > 0 && b.number() <= list[i-1].number() {
				t.Fatalf("decoded %v", h)
			}
		}
		if len(list) > bucketCount || h.Count() < 0 || h.Quantile(0.5) < 0 {
			t.Fatalf("decoded %v", h)
		}
		if err := again.MergeEncoded(h.Encode(nil)); err != nil || !equalHistograms(h, again) {
			t.Fatalf("decoded %v, then %v (%v)", h, again, err)
		}
	})
}

func BenchmarkHistogramMerge(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	var all, one Histogram
	for range 100_000 {
		all.Add(time.Duration(float64(5*time.Millisecond) * math.Exp(random.NormFloat64())))
	}
	for range 100 {
		one.Add(time.Duration(float64(5*time.Millisecond) * math.Exp(random.NormFloat64())))
	}
	data := one.Encode(nil)
	b.ReportMetric(float64(len(data)), "bytes")
	b.ReportMetric(float64(len(bucketsOf(one))), "buckets")
	b.ReportAllocs()
	for b.Loop() {
		if err := all.MergeEncoded(data); err != nil {
			b.Fatal(err)
		}
	}
}
