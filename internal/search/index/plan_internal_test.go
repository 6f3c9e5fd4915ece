package index

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// beside answers from a snapshot what a plan asks of another engine.
type beside struct {
	t *rapid.T
	s *Snapshot
}

func (b beside) run(scope string) *search {
	run := &search{snapshot: b.s, q: &Query{Scope: scope}}
	if err := run.openScope(); err != nil {
		b.t.Fatal(err)
	}
	return run
}

func (b beside) Statistics(scope string) Statistics { return b.run(scope).statistics() }

func (b beside) Count(scope string, c *Condition) int64 {
	run := b.run(scope)
	sum := int64(0)
	for i := range run.parts {
		p := &run.parts[i]
		docs, err := run.withAny(p, c.Any)
		if err != nil {
			b.t.Fatal(err)
		}
		for _, words := range c.Phrases {
			phrase := &phrase{ranking: newRanking(run.statistics(), nil)}
			for _, w := range words {
				phrase.words = append(phrase.words, phraseWord{term: w.Term, offset: w.Offset, list: &list{}})
			}
			phrase.open(p)
			for doc := phrase.seek(0); doc != noDoc; doc = phrase.seek(doc + 1) {
				if title, text := phrase.occurrences(); title+text > 0 {
					docs.add(doc)
				}
			}
		}
		sum += int64(docs.countAnd(p.scope))
	}
	return sum
}

func (b beside) words() (list []string) {
	for i := range b.s.parts {
		b.s.parts[i].dictionary.each(prefixed(wordTerm("")), func(term []byte, _ entry) bool {
			list = append(list, string(term[1:]))
			return true
		})
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (b beside) Alike([]uint32, int) []string   { return b.words() }
func (b beside) Near(string, int, int) []string { return b.words() }

// A plan knows of documents elsewhere what a search knows of those here.
func TestAPlanKnowsWhatASearchKnows(t *testing.T) {
	t.Parallel()
	words := []string{"red", "redder", "fox", "foxes", "bluebird", "bluebirds", "blue", "bird", "the", "der"}
	some := rapid.SliceOfN(rapid.SampledFrom(words), 1, 6)
	rapid.Check(t, func(r *rapid.T) {
		x, err := Open("", Options{})
		if err != nil {
			r.Fatal(err)
		}
		defer x.Close()
		for i := range rapid.IntRange(1, 12).Draw(r, "documents") {
			d := &Document{Keys: []string{Collection(rapid.SampledFrom([]string{"a", "b"}).Draw(r, "collection"))}}
			for _, word := range some.Draw(r, "text") {
				d.Text += word + " "
			}
			if err := x.Apply([]Change{{Number: int64(i + 1), ID: fmt.Sprint(rapid.IntRange(0, 8).Draw(r, "id")), Document: d}}); err != nil {
				r.Fatal(err)
			}
		}
		s := x.Snapshot()
		defer s.Release()
		q := &Query{Limit: 10, Scope: rapid.SampledFrom([]string{"", Collection("a")}).Draw(r, "scope")}
		for _, word := range some.Draw(r, "query") {
			w := Word{Stem: word, Word: word, Parts: true, Form: rapid.SampledFrom([]Form{Stemmed, AsIs, Prefix}).Draw(r, "form")}
			if word == "bluebird" {
				w.Others = []Phrase{{{Word: Word{Stem: "blue", Word: "blue"}}, {Word: Word{Stem: "bird", Word: "bird"}, Offset: 1}}}
			}
			q.Any = append(q.Any, w)
		}
		in := beside{r, s}
		found, err := s.Search(q, nil)
		if err != nil {
			r.Fatal(err)
		}
		plan, err := NewPlan(q, in)
		if err != nil {
			r.Fatal(err)
		}
		found.Hits, found.Total, found.Facets = nil, 0, nil
		if diff := cmp.Diff(found, plan.Found); diff != "" {
			r.Fatalf("-search +plan:\n%s", diff)
		}
		remote := &Remote{In: in}
		word := rapid.SampledFrom([]string{"red", "fix", "oxes", "bluebrid", "xred", "bleubirds", "birdblue"}).Draw(r, "near")
		near, err1 := s.Near(word, 2, 1, q.Scope, nil)
		far, err2 := remote.Near(word, 2, 1, q.Scope)
		byWord := func(a, b Neighbour) int {
			if a.Word < b.Word {
				return -1
			}
			return 1
		}
		slices.SortFunc(near, byWord)
		slices.SortFunc(far, byWord)
		if diff := cmp.Diff(near, far); diff != "" || err1 != nil || err2 != nil {
			r.Fatalf("near %s: %v, %v\n%s", word, err1, err2, diff)
		}
		begins, err1 := s.Begins(word[:2], q.Scope, nil)
		count, err2 := s.Count(word, word, q.Scope, nil)
		if n, err := remote.Count(word, word, q.Scope); err != nil || err1 != nil || err2 != nil || n != count || begins != remote.Begins(word[:2], q.Scope) {
			r.Fatalf("%s: %d and %d documents, begins: %v", word, count, n, begins)
		}
	})
}
