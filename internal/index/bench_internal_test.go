package index

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"keepsake/internal/text"
)

// library draws documents of about 70 words whose frequencies fall as those of a language do.
func library(n int) []Change {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 200_000)
	changes := make([]Change, n)
	for i := range changes {
		words := make([]string, 40+r.IntN(60))
		for j := range words {
			words[j] = wordOf(zipf.Uint64())
		}
		changes[i] = Change{Number: int64(i + 1), ID: fmt.Sprintf("doc_%026d", i), Document: &Document{
			Title: strings.Join(words[:5], " "), Text: strings.Join(words, " "), Keys: []string{Collection("default")}, UpdatedAt: int64(i),
		}}
	}
	return changes
}

func wordOf(n uint64) string {
	const letters = "etaoinshrdlu"
	var b strings.Builder
	for n += 12; n > 0; n /= 12 {
		b.WriteByte(letters[n%12])
	}
	return b.String()
}

// fill applies changes in batches, and flushes and merges as the background does.
func fill(b *testing.B, x *Index, changes []Change) {
	for begin := 0; begin < len(changes); begin += 4096 {
		noError(b, x.Apply(changes[begin:min(len(changes), begin+4096)]))
		if x.Size().Memory >= x.o.FlushBytes {
			noError(b, x.Flush())
			for merged := true; merged; {
				var err error
				merged, err = x.Merge()
				noError(b, err)
			}
		}
	}
	noError(b, x.Flush())
}

// BenchmarkFill includes flushes and merges.
func BenchmarkFill(b *testing.B) {
	changes := library(100_000)
	size := Size{}
	for b.Loop() {
		x, err := Open(b.TempDir(), Options{})
		noError(b, err)
		fill(b, x, changes)
		size = x.Size()
		noError(b, x.Close())
	}
	b.ReportMetric(float64(b.N*len(changes))/b.Elapsed().Seconds(), "docs/s")
	b.ReportMetric(float64(size.Files)/float64(size.Docs), "bytes/doc")
}

func BenchmarkSearch100k(b *testing.B) { benchmarkSearch(b, 100_000) }

func BenchmarkSearch1M(b *testing.B) { benchmarkSearch(b, 1_000_000) }

func benchmarkSearch(b *testing.B, n int) {
	x, err := Open(b.TempDir(), Options{})
	noError(b, err)
	for begin := 0; begin < n; begin += 100_000 { // fewer texts in memory
		changes := library(100_000)
		for i := range changes {
			changes[i].Number += int64(begin)
			changes[i].ID = fmt.Sprintf("doc_%026d", begin+i)
		}
		fill(b, x, changes)
	}
	searches(b, x)
	noError(b, x.Close())
}

func searches(b *testing.B, x *Index) {
	word := func(n uint64) Word {
		word, stem := text.Form(wordOf(n))
		return Word{Stem: stem, Word: word}
	}
	s := x.Snapshot()
	defer s.Release()
	for _, c := range []struct {
		name string
		q    Query
	}{
		{"TwoWords", Query{Any: []Word{word(700), word(2_000)}}},
		{"FiveWords", Query{Any: []Word{word(30), word(200), word(700), word(2_000), word(9_000)}}},
		{"FiveCommonWords", Query{Any: []Word{word(1), word(2), word(3), word(4), word(5)}}},
		{"Phrase", Query{All: []Phrase{{{Word: word(20)}, {Word: word(25), Offset: 1}}}}},
		{"Prefix", Query{Any: []Word{{Stem: "tao", Word: "tao", Form: Prefix}}}},
		{"Excluded", Query{Any: []Word{word(700)}, Not: []Phrase{{{Word: word(3)}}}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			c.q.Limit = 10
			total := int64(0)
			for b.Loop() {
				found, err := s.Search(&c.q, nil)
				noError(b, err)
				total = found.Total
			}
			b.ReportMetric(float64(total), "found")
		})
	}
	b.Run("Near", func(b *testing.B) {
		for b.Loop() {
			_, err := s.Near(wordOf(2_000)+"x", 2, "", nil)
			noError(b, err)
		}
	})
}
