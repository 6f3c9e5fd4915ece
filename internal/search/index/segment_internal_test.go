package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/text"
	"keepsake/internal/testing/testtier"
)

const testSeed = 42

var analyzer = text.NewAnalyzer()

// vocabulary has stems of one word and of several, words without spaces, one that is in almost every document, and words of
// three languages, of which a document has that of most of its stop words.
var vocabulary = strings.Fields("the the the fox foxes fox's runs running ran 黒猫が好き 猫 黒 Ｆｏｘ 東京 café cafe 3.14 🎉 a-b zebra zebras pebble " +
	"der und nicht die Katze Katzen Füchse zebra los una pero y gato gatos canción canciones")

// stemFor returns the stem of a word in the documents of a language. Those of other languages differ from the English ones, and
// from what has no inflections.
func stemFor(l text.Language, english, word string) string {
	if l == text.English || english == "" || !text.Inflected(word) {
		return english
	}
	return text.StemIn(l, word) + " in " + fmt.Sprint(l)
}

// termFor returns the term of what stemFor returns.
func termFor(stem string) string {
	if stem, number, ok := strings.Cut(stem, " in "); ok {
		l := 0
		_, _ = fmt.Sscan(number, &l)
		return stemTerm(text.Language(l), stem)
	}
	return stemTerm(text.English, stem)
}

func drawText(r *rand.Rand, most int) string {
	words := make([]string, r.IntN(most+1))
	for i := range words {
		words[i] = vocabulary[r.IntN(len(vocabulary))]
	}
	return strings.Join(words, " ")
}

func drawDocument(r *rand.Rand) *Document {
	d := &Document{Title: drawText(r, 3), Text: drawText(r, 12), UpdatedAt: r.Int64N(20) - 5}
	d.Keys = append(d.Keys, Collection([]string{"default", "notes", "rare"}[min(2, r.IntN(40)/19)]))
	for _, tag := range []string{"x", "y", "z"} {
		if r.IntN(3) == 0 {
			d.Keys = append(d.Keys, Tag(tag))
		}
	}
	if r.IntN(2) == 0 {
		d.Keys = append(d.Keys, Number("size", float64(r.IntN(20)-10)/2))
	}
	switch r.IntN(4) {
	case 0:
		d.Keys = append(d.Keys, Text("color", []string{"red", "green", "\xff"}[r.IntN(3)]))
	case 1:
		d.Keys = append(d.Keys, Bool("color", r.IntN(2) == 0))
	}
	return d
}

// stored is a document with its ID.
type stored struct {
	id string
	*Document
}

// content is what a segment contains: each list and each row as a text.
type content struct {
	Lists map[string][]string
	Rows  []string
}

// contentOf returns what a segment of documents must contain.
func contentOf(documents []stored) content {
	c := content{Lists: map[string][]string{}}
	for doc, d := range documents {
		positions, words := map[string][]string{}, map[string]bool{}
		titles, texts := map[string]int{}, map[string]int{}
		title, body, end := 0, 0, 0
		language := analyzer.LanguageOf(d.Title, d.Text)
		analyzer.Scan(d.Title, func(t text.Token) bool {
			title++
			end = t.Pos
			words[t.Word] = true
			if stem := stemFor(language, t.Term, t.Word); stem != "" {
				titles[stem]++
				positions[stem] = append(positions[stem], fmt.Sprint(t.Pos))
			}
			return true
		})
		analyzer.Scan(d.Text, func(t text.Token) bool {
			body++
			words[t.Word] = true
			if stem := stemFor(language, t.Term, t.Word); stem != "" {
				texts[stem]++
				positions[stem] = append(positions[stem], fmt.Sprint(end+1+t.Pos))
			}
			return true
		})
		add := func(term, posting string) { c.Lists[term] = append(c.Lists[term], posting) }
		for stem, list := range positions {
			add(termFor(stem), fmt.Sprint(doc, " ", titles[stem], " ", texts[stem], " ", strings.Join(list, ",")))
		}
		for word := range words {
			add(wordTerm(word), fmt.Sprint(doc))
		}
		for _, key := range d.Keys {
			add(key, fmt.Sprint(doc))
		}
		if strings.Contains(d.Title+" "+d.Text, "a-b") { // the only compound of the vocabulary
			add(compoundTerm("ab"), fmt.Sprint(doc))
		}
		c.Rows = append(c.Rows, fmt.Sprint(d.id, " ", lengths[codeOf(title)], " ", lengths[codeOf(body)], " ", d.UpdatedAt, " ", language))
	}
	return c
}

// readContent reads a whole segment.
func readContent(t *testing.T, s *segment) content {
	t.Helper()
	c := content{Lists: map[string][]string{}}
	var l list
	var all terms
	last := ""
	for ok := s.dictionary.seek(&all, ""); ok; ok = all.advance() {
		term := string(all.term)
		if term <= last {
			t.Fatalf("term %q follows %q", term, last)
		}
		last = term
		if e, ok := s.dictionary.find(term); !ok || e != all.entry {
			t.Fatalf("found %+v, %v for term %q, want %+v", e, ok, term, all.entry)
		}
		postings := []string{}
		l.open(s.lists, all.entry)
		for doc := l.seek(0); doc != noDoc; doc = l.next() {
			posting := fmt.Sprint(doc)
			if kind(term[0]) == stemKind {
				title, text := l.frequencies()
				posting = fmt.Sprint(doc, " ", title, " ", text, " ", strings.Join(strings.Fields(strings.Trim(fmt.Sprint(l.positionsInto(nil)), "[]")), ","))
			}
			postings = append(postings, posting)
		}
		if len(postings) != int(all.entry.count) {
			t.Fatalf("term %q has %d documents, its entry says %d", term, len(postings), all.entry.count)
		}
		c.Lists[term] = postings
	}
	titles, texts, languages := int64(0), int64(0), languageCounts{}
	for doc := range s.docs {
		id := string(s.id(doc))
		title, text := lengths[s.lengths[2*doc]], lengths[s.lengths[2*doc+1]]
		titles += int64(title)
		texts += int64(text)
		c.Rows = append(c.Rows, fmt.Sprint(id, " ", title, " ", text, " ", s.time(doc), " ", s.language(doc)))
		languages[s.language(doc)]++
		if found, ok := s.find(id, hashOf(s.seed, id)); !ok || found != doc {
			t.Fatalf("document %q is %d, found %d, %v", id, doc, found, ok)
		}
	}
	if _, ok := s.find("nowhere", hashOf(s.seed, "nowhere")); ok {
		t.Fatal("found a document that is not there")
	}
	if titles != s.titles || texts != s.texts {
		t.Fatalf("sums are %d and %d, want %d and %d", s.titles, s.texts, titles, texts)
	}
	if languages != s.byLanguage {
		t.Fatalf("documents by language are %v, want %v", s.byLanguage, languages)
	}
	if err := s.verify(); err != nil {
		t.Fatal(err)
	}
	return c
}

func buildSegment(t testing.TB, l *Lexicon, documents []stored) *segment {
	t.Helper()
	var ids []string
	var list []*Document
	for _, d := range documents {
		ids, list = append(ids, d.id), append(list, d.Document)
	}
	s, err := l.build(testSeed, ids, list)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drawStored(r *rand.Rand, begin, n int) []stored {
	var all []stored
	for i := range n {
		all = append(all, stored{fmt.Sprintf("id-%d", begin+i), drawDocument(r)})
	}
	return all
}

func TestSegmentContainsItsDocuments(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	for round := range testtier.Rounds(10, 100) {
		r := rand.New(rand.NewPCG(1, uint64(round)))
		documents := drawStored(r, 0, []int{0, 1, 2, 127, 128, 129, 256, 700}[round%8])
		got := readContent(t, buildSegment(t, l, documents))
		if diff := cmp.Diff(contentOf(documents), got); diff != "" {
			t.Fatalf("segment of %d documents (-want +got):\n%s", len(documents), diff)
		}
	}
}

func TestMergeKeepsLiveDocuments(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	for round := range testtier.Rounds(10, 100) {
		r := rand.New(rand.NewPCG(2, uint64(round)))
		var sources []*source
		var kept []stored
		for range 1 + r.IntN(5) {
			documents := drawStored(r, 1000*len(sources), r.IntN(300))
			s := &source{segment: buildSegment(t, l, documents)}
			if share := r.IntN(3); share > 0 { // some or most are dead
				s.live = full(s.docs)
				documents = slices.Clone(documents)
				for doc := len(documents) - 1; doc >= 0; doc-- {
					if r.IntN(4) < share {
						s.live.remove(uint32(doc))
						documents = slices.Delete(documents, doc, doc+1)
					}
				}
			}
			sources, kept = append(sources, s), append(kept, documents...)
		}
		var out bytes.Buffer
		if err := merge(&out, testSeed, sources, nil); err != nil {
			t.Fatal(err)
		}
		merged, err := readSegment(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(contentOf(kept), readContent(t, merged)); diff != "" {
			t.Fatalf("merge of %d segments (-want +got):\n%s", len(sources), diff)
		}
	}
}

// A list finds the same document however far it is moved at once.
func TestListSeeksAnyDocument(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 3))
	for range testtier.Rounds(50, 500) {
		var docs []uint32
		for doc := uint32(r.IntN(5)); len(docs) < r.IntN(1000); doc += 1 + uint32(r.IntN(1+r.IntN(200))) {
			docs = append(docs, doc)
		}
		var w listWriter
		w.reset(r.IntN(2) == 0)
		for _, doc := range docs {
			if w.positional {
				w.appendPosition(doc+1, 0)
			}
			w.add(doc, 0, 1)
		}
		var out bytes.Buffer
		if err := w.writeTo(&out); err != nil {
			t.Fatal(err)
		}
		e := entry{count: uint32(len(docs))}
		if w.positional {
			e.form = fullList
		}
		var l list
		l.open(append(out.Bytes(), make([]byte, slack)...), e)
		seekAny(t, r, &l, docs)
	}
}

// seekAny moves a list to rising documents and compares where it stops with docs, which are all that it has. If it has positions,
// each document has one: its number plus one.
func seekAny(t *testing.T, r *rand.Rand, l *list, docs []uint32) {
	t.Helper()
	for target := uint32(0); ; target += uint32(r.IntN(1 + r.IntN(3000))) {
		want := uint32(noDoc)
		at, _ := slices.BinarySearch(docs, target)
		if at < len(docs) {
			want = docs[at]
		}
		if got := l.seek(target); got != want {
			t.Fatalf("seeking %d found %d, want %d in %v", target, got, want, docs)
		}
		if want == noDoc {
			return
		}
		if l.positional && !l.part && r.IntN(3) == 0 {
			if got := l.positionsInto(nil); !slices.Equal(got, []uint32{want + 1}) {
				t.Fatalf("positions in %d are %v", want, got)
			}
		}
		target = want
		if at+1 < len(docs) && r.IntN(3) == 0 {
			if target = l.next(); target != docs[at+1] {
				t.Fatalf("after %d comes %d, want %d", want, target, docs[at+1])
			}
		}
	}
}

func TestNumbersPackInAnyWidth(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(4, 4))
	for width := range 33 {
		var want, got block
		for i := range want {
			want[i] = uint32(r.Uint64() & (1<<width - 1))
		}
		data := want.pack(nil, width)
		if len(data) != packed(width) {
			t.Errorf("with %d bits the size is %d, want %d", width, len(data), packed(width))
		}
		got.unpack(append(data, make([]byte, slack)...), width)
		if got != want {
			t.Errorf("with %d bits got %v, want %v", width, got, want)
		}
	}
}

func TestLengthsAreCodedNearly(t *testing.T) {
	t.Parallel()
	for length := range 300_000 {
		got := int(lengths[codeOf(length)])
		if got > length || length < exactLengths && got != length || float64(got) < 0.88*float64(length) {
			t.Fatalf("length %d is coded as %d", length, got)
		}
	}
	if got := lengths[codeOf(1<<40)]; got != lengths[255] {
		t.Errorf("a huge length is coded as %d", got)
	}
}

func TestTermsOfNumbersSortLikeThem(t *testing.T) {
	t.Parallel()
	numbers := []float64{-1e300, -5, -0.25, 0, 1e-300, 3, 1e10, 1e300}
	for i, n := range numbers {
		if got := Value(Number("size", n)); got != n {
			t.Errorf("the term of %v stands for %v", n, got)
		}
		if i > 0 && Number("size", numbers[i-1]) >= Number("size", n) {
			t.Errorf("the term of %v does not sort before that of %v", numbers[i-1], n)
		}
	}
}
