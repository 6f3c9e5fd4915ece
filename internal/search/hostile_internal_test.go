package search

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/text"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
	"keepsake/internal/testing/testtier"
)

// history is an index of documents in files, and what was written to it.
type history struct {
	t      *testing.T
	index  *index.Index
	number int64
}

func newHistory(t *testing.T) *history {
	t.Helper()
	x, err := index.Open(t.TempDir()+"/index", index.Options{SmallBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return &history{t: t, index: x}
}

// put writes documents by their IDs; nil deletes one.
func (h *history) put(changes ...document.Change) {
	h.t.Helper()
	for i := range changes {
		h.number++
		changes[i].Number = h.number
	}
	if err := h.index.Apply(changesOf(changes, noSettings)); err != nil {
		h.t.Fatal(err)
	}
}

// settle flushes, and merges once.
func (h *history) settle() {
	h.t.Helper()
	if err := h.index.Flush(); err != nil {
		h.t.Fatal(err)
	}
	if _, err := h.index.Merge(); err != nil {
		h.t.Fatal(err)
	}
}

// ask returns what is found, and the cursor of the page after it.
func (h *history) ask(r Request, from *cursor) (*index.Found, *cursor) {
	h.t.Helper()
	s := h.index.Snapshot()
	defer s.Release()
	a := text.NewAnalyzer()
	l := &lookup{analyzer: a, query: parse(a, r.Query), request: &r, from: from}
	found, err := l.find(nil, &local{s})
	if err != nil {
		h.t.Fatal(err)
	}
	var last index.Place
	if n := min(len(found.Hits), r.Limit); n > 0 {
		last = found.Hits[n-1].Place
	}
	next := l.next(found, last)
	return found, &next
}

// The same documents are found in the same order with the same scores, however they were written: at once, one by one, over
// others, with flushes and merges between.
func TestHistoryDoesNotChangeResults(t *testing.T) {
	t.Parallel()
	vocabulary := strings.Fields("red redder redden fox foxes stone harbour harbor lantern the of pebble sand 猫 黒猫 ไทย größe 7 3.5 " +
		"und der nicht Katze Katzen les une chevaux cheval die war")
	for round := range testtier.Rounds(15, 200) {
		r := rand.New(rand.NewPCG(11, uint64(round)))
		words := func(most int) string {
			var list []string
			for range 1 + r.IntN(most) {
				list = append(list, vocabulary[r.IntN(len(vocabulary))])
			}
			return strings.Join(list, " ")
		}
		var final []document.Change
		for i := range 20 + r.IntN(200) {
			final = append(final, document.Change{ID: fmt.Sprintf("d%d", i), Document: &document.Document{
				Title: words(3), Text: words(40), Collection: []string{"a", "b"}[r.IntN(2)], Metadata: map[string]any{"n": float64(r.IntN(3))},
			}})
		}
		together, apart := newHistory(t), newHistory(t)
		together.put(slices.Clone(final)...)
		for _, i := range r.Perm(len(final)) {
			if r.IntN(3) == 0 {
				apart.put(document.Change{ID: final[i].ID, Document: &document.Document{Text: words(9)}})
			}
			if r.IntN(4) == 0 {
				gone := fmt.Sprint("gone", i)
				apart.put(document.Change{ID: gone, Document: &document.Document{Text: words(9)}})
				apart.put(document.Change{ID: gone})
			}
		}
		order := r.Perm(len(final))
		for len(order) > 0 {
			n := min(len(order), 1+r.IntN(20))
			var some []document.Change
			for _, i := range order[:n] {
				some = append(some, final[i])
			}
			order = order[n:]
			if apart.put(some...); r.IntN(3) == 0 {
				apart.settle()
			}
		}
		for range 10 {
			q := Request{Query: words(5), Limit: 1 + r.IntN(20), Repair: r.IntN(2) == 0, Prefix: []Prefix{PrefixAuto, PrefixTrue, PrefixFalse}[r.IntN(3)], Facets: []string{"collection", "n"}}
			if r.IntN(3) == 0 {
				q.Query = `"` + words(2) + `" ` + q.Query
			}
			if r.IntN(3) == 0 {
				q.Collection = "a"
			}
			want, _ := together.ask(q, nil)
			got, _ := apart.ask(q, nil)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%+v (-at once +in parts):\n%s", q, diff)
			}
		}
	}
}

// Ten thousand results deep, each document is seen once and in order, while others are written and files are merged.
func TestDeepPagesStayUnderWrites(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	const n = 10_500
	changes := make([]document.Change, n)
	for i := range changes {
		d := &document.Document{Text: "stone " + strings.Repeat("pebble ", i%5) + strings.Repeat("sand ", i%3)}
		changes[i] = document.Change{ID: fmt.Sprintf("d%05d", i), Document: d}
	}
	for some := range slices.Chunk(changes, 3_000) {
		h.put(some...)
		h.settle()
	}
	r := Request{Query: "stone pebble", Limit: 100}
	seen := map[string]int{}
	var from *cursor
	var last float64
	for page := 0; ; page++ {
		found, next := h.ask(r, from)
		hits := found.Hits[:min(len(found.Hits), r.Limit)]
		for _, hit := range hits {
			if seen[hit.ID]++; from != nil && hit.Score > last {
				t.Fatalf("page %d: the score rises from %v to %v", page, last, hit.Score)
			}
			last = hit.Score
		}
		if len(found.Hits) <= r.Limit {
			break
		}
		from = next
		var more []document.Change
		for i := range 40 {
			more = append(more, document.Change{ID: fmt.Sprintf("new%d-%d", page, i), Document: &document.Document{Text: "pebble pebble dust"}})
		}
		if h.put(more...); page%10 == 9 {
			h.settle()
		}
	}
	for i := range n {
		if id := fmt.Sprintf("d%05d", i); seen[id] != 1 {
			t.Fatalf("%s was seen %d times", id, seen[id])
		}
	}
}

// everyScript contains a few letters of each script, in runs.
func everyScript() string {
	var b strings.Builder
	names := make([]string, 0, len(unicode.Scripts))
	for name := range unicode.Scripts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		n := 0
		for c := rune(0x80); c <= unicode.MaxRune && n < 5; c++ {
			if unicode.Is(unicode.Scripts[name], c) && unicode.IsLetter(c) {
				b.WriteRune(c)
				n++
			}
		}
		b.WriteByte(' ')
	}
	return b.String()
}

func distinctWords(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "x%dq ", i)
	}
	return b.String()
}

func TestHostileDocumentsAreFound(t *testing.T) {
	t.Parallel()
	h := newHistory(t)
	long := strings.Repeat("a", 200_000)
	hostile := []struct{ text, query string }{
		{strings.Repeat("echo ", 50_000), "echo"},
		{distinctWords(100_000), "x99999q"},
		{long, long[:128]}, // what counts of a word
		{strings.Repeat("深", 60_000) + "海魚", "海魚"},
		{everyScript(), "ⴰⴱⴲⴳⴴ"},
		{"a" + strings.Repeat("\u0301", 50_000) + " needle1", "needle1"},
		{strings.Repeat("\u200d", 50_000) + "needle2", "needle2"},
		{strings.Repeat("🧑‍🚀", 10_000) + " needle3", "needle3"},
		{"\xff\xfe\x00 needle4 \xf0\x9f", "needle4"},
		{strings.Repeat("-\"(*)^~", 20_000) + " needle5", "needle5"},
	}
	for i, c := range hostile {
		h.put(document.Change{ID: fmt.Sprint("d", i), Document: &document.Document{Title: c.text[:min(len(c.text), 1000)], Text: c.text}})
	}
	check := func(when string) {
		for i, c := range hostile {
			found, _ := h.ask(Request{Query: c.query, Limit: 10}, nil)
			if ids := idsOfHits(found); !slices.Contains(ids, fmt.Sprint("d", i)) {
				t.Errorf("%s, document %d is not found: %v", when, i, ids)
			}
		}
	}
	check("in memory")
	h.settle()
	check("in a file")
	a := text.NewAnalyzer()
	for i, c := range hostile {
		w := text.Wanted{Terms: map[string]float64{}, Words: map[string]float64{}}
		a.Scan(c.query, func(token text.Token) bool {
			w.Terms[token.Term] = 1
			return true
		})
		snippet, spans := a.Excerpt(strings.ToValidUTF8(c.text, ""), &w, snippetSize)
		if n := utf8.RuneCountInString(snippet); n > snippetSize+2 || len(spans) == 0 && i != 2 {
			t.Errorf("the snippet of document %d has %d characters and %d highlights", i, n, len(spans))
		}
	}
}

// Whatever is typed, a search succeeds unless the query is refused, and finds at most all documents, each once, in order.
func FuzzSearch(f *testing.F) {
	for _, q := range []string{"stone", `"stone pebble" -sand`, "-", "\"", "stoen", "黒猫 -猫", "a\u0301", "🎉", "x:y*", "\x00", "-\"\" --"} {
		f.Add(q, true, true)
	}
	x, err := index.Open("", index.Options{})
	if err != nil {
		f.Fatal(err)
	}
	var changes []document.Change
	for i, s := range []string{"stone pebble", "sand and stone", "黒猫が好き", "e\u0301te\u0301", "🎉 party", "3.14 don't", everyScript()} {
		changes = append(changes, document.Change{Number: int64(i + 1), ID: fmt.Sprint("d", i), Document: &document.Document{Title: s, Text: s}})
	}
	if err := x.Apply(changesOf(changes, noSettings)); err != nil {
		f.Fatal(err)
	}
	a := text.NewAnalyzer()
	f.Fuzz(func(t *testing.T, q string, repair, prefix bool) {
		if checkQuery(q) != nil {
			return
		}
		s := x.Snapshot()
		defer s.Release()
		r := Request{Query: q, Repair: repair, Prefix: PrefixAuto, Limit: 10, Sort: ByRelevance}
		if prefix {
			r.Prefix = PrefixTrue
		}
		l := &lookup{analyzer: a, query: parse(a, q), request: &r}
		found, err := l.find(nil, &local{s})
		if err != nil {
			t.Fatalf("%q: %v", q, err)
		}
		seen := map[string]bool{}
		for i, hit := range found.Hits {
			if seen[hit.ID] || i > 0 && hit.Score > found.Hits[i-1].Score {
				t.Fatalf("%q: %+v", q, found.Hits)
			}
			seen[hit.ID] = true
		}
		if found.Total != int64(len(found.Hits)) || !utf8.ValidString(l.repair.suggestion) {
			t.Fatalf("%q: %d found, %d hits, suggestion %q", q, found.Total, len(found.Hits), l.repair.suggestion)
		}
	})
}

// A long query over documents of all languages, with stop words of all of them, finds each document once, and every step counts.
func TestLongQueriesOverAllLanguagesAreFound(t *testing.T) {
	t.Parallel()
	stopwords := []string{"được những người đường trước phở", "żółw łódka gęś źrebię ślimak ćma"}
	const each = 9
	var of [text.Languages][]string
	all := map[string]text.LanguageSet{}
	maps.Insert(all, text.Stopwords())
	for _, word := range slices.Sorted(maps.Keys(all)) {
		if set := all[word]; set&(set-1) == 0 {
			for l := range set.All {
				of[l] = append(of[l], word)
			}
		}
	}
	for _, list := range of {
		if len(list) > 0 {
			stopwords = append(stopwords, strings.Join(list[:each], " "))
		}
	}
	a := text.NewAnalyzer()
	found := map[text.Language]bool{}
	var words []string
	for i := range 250 {
		words = append(words, fmt.Sprintf("w%cz", 'a'+rune(i%26))+strings.Repeat("o", i/26))
	}
	var documents []*document.Document
	for _, of := range stopwords {
		d := &document.Document{Text: strings.Join(words, " ") + " " + of}
		found[a.LanguageOf("", d.Text)] = true
		documents = append(documents, d)
	}
	if len(found) != int(text.Languages) {
		t.Fatalf("the documents have %d languages", len(found))
	}
	s := snapshotOf(t, documents...)
	for _, q := range []string{
		strings.Join(words, " ")[:1_000], strings.Join(stopwords, " "), `"` + strings.Join(words[:30], " ") + `"`,
		"the -" + strings.Join(words[:100], " -"), words[0] + " " + strings.Join(stopwords, " "),
	} {
		q := parse(a, q)
		steps := 0
		got, err := s.Search(planOf(q, &Request{Limit: 100}, nil, spellingsOf(a, q)), func(n int) error { steps += n; return nil })
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for _, h := range got.Hits {
			seen[h.ID] = true
		}
		want := len(documents)
		if len(q.not) > 0 {
			want = 0
		}
		if len(seen) != want || got.Total != int64(want) || len(q.words)*len(documents) > 2*steps+1024 {
			t.Errorf("%d words: %d documents, total %d, want %d, after %d steps", len(q.words), len(seen), got.Total, want, steps)
		}
	}
}
