package index

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"keepsake/internal/base/text"
)

// library draws documents of about 70 words whose frequencies fall as those of a language do. Their languages take turns; each
// document begins with stop words of its own.
func library(n int, stopwords ...string) []Change {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 200_000)
	changes := make([]Change, n)
	for i := range changes {
		words := make([]string, 40+r.IntN(60))
		for j := range words {
			words[j] = wordOf(zipf.Uint64())
		}
		if len(stopwords) > 0 {
			words[0] = stopwords[i%len(stopwords)]
		}
		changes[i] = Change{Number: int64(i + 1), ID: fmt.Sprintf("doc_%026d", i), Document: &Document{
			Title: strings.Join(words[:5], " "), Text: strings.Join(words, " "), Keys: []string{Collection("default")}, UpdatedAt: int64(i),
		}}
	}
	return changes
}

// wordOf returns a word, which is no stop word of any language.
func wordOf(n uint64) string {
	const letters = "etaoinshrdlu"
	var b strings.Builder
	b.WriteByte('x')
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
	b.Run("English", func(b *testing.B) { benchmarkFill(b, "the and with from") })
	b.Run("German", func(b *testing.B) { benchmarkFill(b, "der und nicht mit") })
	b.Run("TwoLanguages", func(b *testing.B) { benchmarkFill(b, "the and with from", "der und nicht mit") })
	b.Run("AllLanguages", func(b *testing.B) {
		var stopwords []string
		for l := range text.Languages {
			stopwords = append(stopwords, onlyIn(l))
		}
		benchmarkFill(b, stopwords...)
	})
}

// onlyIn returns two stop words of a language that are in no other.
func onlyIn(l text.Language) string {
	return [text.Languages]string{
		"the and", "التي الذي", "efter blev", "geen niet", "ovat mutta", "avec mais", "nicht und", "hogy nem", "agus bhfuil", "della sono",
		"ikkje hvordan", "não uma", "acesta pentru", "что как", "pero muy", "och inte", "için bir",
	}[l]
}

func benchmarkFill(b *testing.B, stopwords ...string) {
	changes := library(100_000, stopwords...)
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

func BenchmarkSearch100k(b *testing.B) { benchmarkSearch(b, 100_000, "the and") }

func BenchmarkSearch1M(b *testing.B) { benchmarkSearch(b, 1_000_000, "the and") }

func BenchmarkSearchTwoLanguages100k(b *testing.B) {
	benchmarkSearch(b, 100_000, "the and with from", "der und nicht mit")
}

func benchmarkSearch(b *testing.B, n int, stopwords ...string) {
	x, err := Open(b.TempDir(), Options{})
	noError(b, err)
	for begin := 0; begin < n; begin += 100_000 { // fewer texts in memory
		changes := library(100_000, stopwords...)
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
		{"Prefix", Query{Any: []Word{{Stem: "xta", Word: "xta", Form: Prefix}}}},
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
			_, err := s.Near(wordOf(2_000)+"x", 2, 1, "", nil)
			noError(b, err)
		}
	})
}

func BenchmarkFacets100k(b *testing.B) { benchmarkFacets(b, 100_000) }

func BenchmarkFacets1M(b *testing.B) { benchmarkFacets(b, 1_000_000) }

// benchmarkFacets searches for two words with two facets, of 10 and of 20 values, and with tags, of which documents have up to
// three.
func benchmarkFacets(b *testing.B, n int) {
	x, err := Open(b.TempDir(), Options{})
	noError(b, err)
	r := rand.New(rand.NewPCG(3, 4))
	for begin := 0; begin < n; begin += 100_000 {
		changes := library(100_000)
		for i := range changes {
			changes[i].Number += int64(begin)
			changes[i].ID = fmt.Sprintf("doc_%026d", begin+i)
			d := changes[i].Document
			d.Keys = append(d.Keys, Text("ten", fmt.Sprint("value ", r.IntN(10))), Text("twenty", fmt.Sprint("value ", r.IntN(20))))
			for range r.IntN(4) {
				d.Keys = append(d.Keys, Tag(fmt.Sprint("tag ", r.IntN(20))))
			}
		}
		fill(b, x, changes)
	}
	size := x.Size()
	s := x.Snapshot()
	defer s.Release()
	two := []Facet{Entries("ten"), Entries("twenty")}
	for _, c := range []struct {
		name   string
		words  [2]uint64
		facets []Facet
	}{
		{"RareWordsWithout", [2]uint64{700, 2_000}, nil},
		{"RareWords", [2]uint64{700, 2_000}, two},
		{"CommonWordsWithout", [2]uint64{3, 30}, nil},
		{"CommonWords", [2]uint64{3, 30}, two},
		{"CommonWordsWithTags", [2]uint64{3, 30}, []Facet{Tags()}},
	} {
		b.Run(c.name, func(b *testing.B) {
			q := Query{Limit: 10, Facets: c.facets}
			for _, n := range c.words {
				word, stem := text.Form(wordOf(n))
				q.Any = append(q.Any, Word{Stem: stem, Word: word})
			}
			total := int64(0)
			for b.Loop() {
				found, err := s.Search(&q, nil)
				noError(b, err)
				total = found.Total
			}
			b.ReportMetric(float64(total), "found")
			b.ReportMetric(float64(size.Files)/float64(size.Docs), "bytes/doc")
		})
	}
	noError(b, x.Close())
}
