package index

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"keepsake/internal/base/text"
	"keepsake/internal/testing/testtier"
)

// compound returns a word, many of which have parts in common.
func compound(r *rand.Rand) string {
	parts := []string{"water", "fall", "key", "house", "lantern", "garden", "schlussel", "house"}
	word := ""
	for range 1 + r.IntN(3) {
		word += parts[r.IntN(len(parts))]
	}
	return word + []string{"", "", "s", "ing", "en"}[r.IntN(5)]
}

// partsOf returns the score of the parts of a word in each document, as a walk over all of them finds it. known are the documents of the
// scope, with their words.
func partsOf(known map[string]map[string]bool, w *Word, languages text.LanguageSet, own int64, weight float64) (scores map[string]int32) {
	docs := map[string]int64{}
	for _, words := range known {
		for word := range words {
			docs[word]++
		}
	}
	grams := Grams(w.Word)
	shared := map[string]int{}
	for word := range docs {
		form := false
		for l := range languages.All {
			form = form || text.StemIn(l, word) == text.StemIn(l, w.Word)
		}
		n := 0
		for _, gram := range Grams(word) {
			if slices.Contains(grams, gram) {
				n++
			}
		}
		if !form && n > 0 && n >= (len(grams)+1)/2 {
			shared[word] = n
		}
	}
	closest := make([]string, 0, len(shared))
	for word := range shared {
		closest = append(closest, word)
	}
	slices.SortFunc(closest, func(a, b string) int { return cmp.Or(cmp.Compare(shared[b], shared[a]), cmp.Compare(a, b)) })
	budget := max(partDocs, own/partShare)
	if own == 0 {
		budget = foundPartDocs
	}
	scores = map[string]int32{}
	taken := 0
	for _, word := range closest[:min(len(closest), lookedAt)] {
		if docs[word] > budget || taken == maxParts {
			continue
		}
		budget -= docs[word]
		taken++
		value := units(weight * partWeight * float64(shared[word]) / float64(len(grams)) * saturated(1))
		for id, words := range known {
			if words[word] {
				scores[id] = max(scores[id], value)
			}
		}
	}
	return scores
}

// A document scores as much more as the best of the words that share parts with each word of the query.
func TestPartsAgreeWithWalkOverDocuments(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	for round := range testtier.Rounds(8, 100) {
		r := rand.New(rand.NewPCG(11, uint64(round)))
		vocabulary := make([]string, 10+r.IntN(70))
		for i := range vocabulary {
			vocabulary[i] = compound(r)
		}
		x, err := Open(t.TempDir(), tiny(l, nil))
		noError(t, err)
		all, collected := map[string]map[string]bool{}, map[string]map[string]bool{}
		number := int64(0)
		for range 1 + r.IntN(3) {
			var changes []Change
			for range 20 + r.IntN(300) {
				number++
				c := Change{Number: number, ID: fmt.Sprint("d", r.IntN(500))}
				delete(all, c.ID)
				delete(collected, c.ID)
				if r.IntN(5) > 0 {
					words := []string{"the", "and", "with"}
					if round%2 == 1 && r.IntN(3) == 0 {
						words = []string{"der", "und", "nicht"}
					}
					known := map[string]bool{}
					for range 1 + r.IntN(20) {
						words = append(words, vocabulary[min(r.IntN(len(vocabulary)), r.IntN(len(vocabulary)))])
					}
					for _, word := range words {
						known[word] = true
					}
					name := []string{"default", "notes"}[r.IntN(2)]
					c.Document = &Document{Text: strings.Join(words, " "), Keys: []string{Collection(name)}}
					if all[c.ID] = known; name == "notes" {
						collected[c.ID] = known
					}
				}
				changes = append(changes, c)
			}
			noError(t, x.Apply(changes))
			if r.IntN(2) == 0 {
				noError(t, x.Flush())
			}
		}
		s := x.Snapshot()
		for range 20 {
			q := &Query{Limit: 1_000}
			known := all
			if r.IntN(2) == 0 {
				q.Scope, known = Collection("notes"), collected
			}
			for len(q.Any) <= strictWords || r.IntN(3) == 0 {
				word := vocabulary[r.IntN(len(vocabulary))]
				if r.IntN(4) == 0 {
					word = compound(r)
				}
				q.Any = append(q.Any, Word{Stem: text.Stem(word), Word: word})
			}
			if r.IntN(4) == 0 {
				word := vocabulary[r.IntN(len(vocabulary))]
				q.All = []Phrase{{{Word: Word{Stem: text.Stem(word), Word: word}}}}
			}
			checkParts(t, r, s, q, known)
		}
		s.Release()
		noError(t, x.Close())
	}
}

func checkParts(t *testing.T, r *rand.Rand, s *Snapshot, q *Query, known map[string]map[string]bool) {
	t.Helper()
	plain, err := s.Search(q, nil)
	noError(t, err)
	for i := range q.Any {
		q.Any[i].Parts = true
	}
	q.Limit = 1 + r.IntN(20)
	found, err := s.Search(q, nil)
	noError(t, err)
	want := map[string]int32{}
	for _, h := range plain.Hits {
		want[h.ID] = int32(math.Round(h.Score * scoreUnit))
	}
	var parts []map[string]int32
	for i := range q.Any[:min(len(q.Any), partWords)] {
		w := &q.Any[i]
		own, err := s.Count(w.Stem, w.Word, q.Scope, nil)
		noError(t, err)
		scores := partsOf(known, w, found.Statistics.Languages, own, found.Weights[i])
		if parts = append(parts, scores); own > 0 || len(q.All) > 0 {
			continue
		}
		for id := range scores { // they are found in its place
			want[id] += 0
		}
	}
	for id := range want {
		for _, scores := range parts {
			want[id] += scores[id]
		}
	}
	type scored struct {
		ID    string
		Score int32
	}
	var list, got []scored
	for id, score := range want {
		list = append(list, scored{id, score})
	}
	slices.SortFunc(list, func(a, b scored) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID)) })
	for _, h := range found.Hits {
		got = append(got, scored{h.ID, int32(math.Round(h.Score * scoreUnit))})
	}
	if diff := gocmp.Diff(list[:min(len(list), q.Limit)], got); diff != "" || found.Total != int64(len(list)) {
		t.Fatalf("%+v finds %d of %d (- want, + got)\n%s", q, found.Total, len(list), diff)
	}
}
