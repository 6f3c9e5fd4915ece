package usage

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// durations draws durations of all sizes that a request can take.
func durations(t *rapid.T, label string) []time.Duration {
	longest := rapid.SampledFrom([]time.Duration{5 * time.Microsecond, 2 * time.Hour}).Draw(t, label+" at most")
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(math.Exp(rapid.Float64Range(math.Log(1000), math.Log(float64(longest))).Draw(t, "log")))
	}), 0, 200).Draw(t, label)
}

func histogramOf(list ...time.Duration) (h Histogram) {
	for _, d := range list {
		h.Add(d)
	}
	return h
}

// text is the histogram in a comparable form.
func (h *Histogram) text() string { return string(h.AppendJSON(nil)) }

func equalHistograms(a, b Histogram) bool { return a.text() == b.text() }

func TestBucketsAreInOrderWithoutGaps(t *testing.T) {
	t.Parallel()
	for number := range bucketCount {
		middle := middleOf(number)
		if got := bucketOf(middle); got != number {
			t.Fatalf("the middle of bucket %d, %v, is in bucket %d", number, middle, got)
		}
		if want := math.Pow(1.04, float64(number)) * 1000; math.Abs(float64(middle)-want) > 1 {
			t.Fatalf("bucket %d is of about %v, want %v ns", number, middle, want)
		}
	}
	if bucketOf(-time.Second) != 0 || bucketOf(0) != 0 || bucketOf(math.MaxInt64) != bucketCount-1 || bucketOf(2*time.Hour-3*time.Minute) == bucketCount-1 {
		t.Error("a negative, a very long or a kept duration is in the wrong bucket")
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
			if diff := (got - want).Abs(); float64(diff) > 0.02*float64(want)+1 {
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
		kept := other.text()
		merged.Merge(&other)
		all := histogramOf(slices.Concat(a, b)...)
		if !equalHistograms(merged, all) {
			t.Fatalf("got %s, want %s", merged.text(), all.text())
		}
		merged.Add(time.Second)
		if other.text() != kept {
			t.Fatal("the merged histogram changed")
		}
		if err := other.MergeJSON([]byte(all.text())); err != nil {
			t.Fatal(err)
		}
		if want := histogramOf(slices.Concat(b, a, b)...); !equalHistograms(other, want) {
			t.Fatalf("merged as JSON: %s, want %s", other.text(), want.text())
		}
		other.Reset()
		if other.Count() != 0 || other.text() != "{}" {
			t.Fatalf("after the reset: %s", other.text())
		}
	})
}

// Any bytes are refused or are the counts that encoding/json reads.
func FuzzHistogram(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 1))
	for n := range 5 {
		var h Histogram
		for range n * n * 10 {
			h.Add(time.Duration(random.Int64N(int64(time.Second))))
		}
		f.Add([]byte(h.text()))
	}
	for _, text := range []string{`{`, `{"`, `{"1"`, `{"1":`, `{"1":2`, `{"1":}`, `{"1":2,}`, `{"1":2,"1":3}`, `{"1":0}`, `{"580":1}`, `{"1":2,"3":4}`, `{"1":2"3":4}`, `{"1":9999999999999999999}`, `{"1":2}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var h, again Histogram
		if h.MergeJSON(text) != nil {
			return
		}
		counts := map[string]int64{}
		if err := json.Unmarshal([]byte(h.text()), &counts); err != nil {
			t.Fatalf("read %q as %q: %v", text, h.text(), err)
		}
		for name, count := range counts {
			if n, err := strconv.Atoi(name); err != nil || n < 0 || n >= bucketCount || count == 0 {
				t.Fatalf("read %q as %q", text, h.text())
			}
		}
		if err := again.MergeJSON([]byte(h.text())); err != nil || !equalHistograms(h, again) {
			t.Fatalf("read %q, then %q (%v)", h.text(), again.text(), err)
		}
	})
}

func BenchmarkHistogramMergeJSON(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	var all, one Histogram
	for range 100_000 {
		all.Add(time.Duration(float64(5*time.Millisecond) * math.Exp(random.NormFloat64())))
	}
	for range 100 {
		one.Add(time.Duration(float64(5*time.Millisecond) * math.Exp(random.NormFloat64())))
	}
	text := []byte(one.text())
	b.ReportMetric(float64(len(text)), "bytes")
	b.ReportAllocs()
	for b.Loop() {
		if err := all.MergeJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}
