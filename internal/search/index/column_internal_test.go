package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"keepsake/internal/testing/testtier"
)

// facets are those of drawFaceted, with whether a segment of enough documents has a column for them.
var facets = []struct {
	name string
	of   Range
	has  bool
}{
	{"collection", Collections()[0], true},
	{"one value of ten", Entries("ten")[0], true},
	{"numbers", Entries("number")[1], true},
	{"several values of five", Tags()[0], true},
	{"a value of its own", Entries("unique")[0], false},
	{"any values of sixteen", Entries("any")[0], false},
	{"seldom a value", Entries("seldom")[0], false},
	{"no value", Entries("none")[0], false},
}

func drawFaceted(r *rand.Rand, begin, n int) []stored {
	all := make([]stored, n)
	for i := range all {
		d := &Document{Keys: []string{
			Collection([]string{"default", "notes"}[r.IntN(2)]), Text("ten", fmt.Sprint(r.IntN(10))), Text("unique", fmt.Sprint(begin+i)),
		}}
		if r.IntN(2) == 0 {
			d.Keys = append(d.Keys, Number("number", float64(r.IntN(7)-3)))
		}
		if r.IntN(10) == 0 {
			d.Keys = append(d.Keys, Bool("seldom", true))
		}
		for tag := range 5 {
			if r.IntN(3) == 0 {
				d.Keys = append(d.Keys, Tag(fmt.Sprint(tag)))
			}
		}
		for value := range 16 {
			if r.IntN(2) == 0 {
				d.Keys = append(d.Keys, Text("any", fmt.Sprint(value)))
			}
		}
		all[i] = stored{fmt.Sprintf("id-%d", begin+i), d}
	}
	return all
}

// A column counts as the lists of its values do, whichever documents match, also after a merge of segments with dead documents.
func TestColumnsCountAsListsDo(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	for round := range testtier.Rounds(10, 200) {
		r := rand.New(rand.NewPCG(30, uint64(round)))
		first := buildSegment(t, l, drawFaceted(r, 0, 100+r.IntN(500)))
		second := buildSegment(t, l, drawFaceted(r, 1000, 1+r.IntN(500)))
		dead := full(second.docs)
		for range r.IntN(100) {
			dead.remove(r.Uint32N(second.docs))
		}
		var out bytes.Buffer
		noError(t, merge(&out, testSeed, []*source{{segment: first}, {segment: second, live: dead}}, nil))
		merged, err := readSegment(out.Bytes())
		noError(t, err)
		for _, s := range []*segment{first, second, merged} {
			compareCounts(t, r, s)
		}
	}
}

func compareCounts(t *testing.T, r *rand.Rand, s *segment) {
	t.Helper()
	p := &searchedPart{part: &part{segment: s}, matches: newBitmap(s.docs)}
	for doc := range s.docs {
		if r.IntN(3) > 0 {
			p.matches.add(doc)
		}
	}
	run := &search{}
	for _, f := range facets {
		c, ok := s.column(f.of)
		if want := f.has && s.docs >= leastColumn; ok != want && (s.docs < leastColumn || s.docs >= 100) {
			t.Errorf("%d documents with %s: has a column: %v, want %v", s.docs, f.name, ok, want)
		}
		if !ok {
			continue
		}
		want, got := Counts{ByTerm: map[string]int64{}}, Counts{ByTerm: map[string]int64{}}
		noError(t, run.countLists(p, f.of, &want))
		noError(t, run.countColumn(p, f.of, &c, &got))
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("%d documents with %s (-lists +column):\n%s", s.docs, f.name, diff)
		}
	}
}

// The numbers of the sets begin again before they overflow.
func TestColumnsOfManyFacets(t *testing.T) {
	t.Parallel()
	var data bytes.Buffer
	w := &columnWriter{docs: leastColumn, before: 1<<32 - 1 - 2*mostSets - 1}
	out := &output{Writer: &data}
	for facet := range 4 {
		name := Range{From: nameOf(valueKind, fmt.Sprint(facet))}
		for value := range 2 {
			w.begin([]byte(name.From))
			for doc := range uint32(leastColumn) {
				if int(doc%2) == value || doc%3 == 0 {
					w.add(doc)
				}
			}
		}
		noError(t, w.end(out))
		s := &segment{columns: w.directory, lists: append(bytes.Clone(data.Bytes()), make([]byte, slack)...)}
		c, ok := s.column(name)
		if !ok {
			t.Fatal("there is no column")
		}
		var n columnCounts
		n.open(&c)
		n.add(&c, 0, 1<<leastColumn-1)
		n.sum()
		if want := []int64{43, 43}; !gocmp.Equal(n.byValue, want) {
			t.Errorf("facet %d: counted %v, want %v", facet, n.byValue, want)
		}
	}
}
