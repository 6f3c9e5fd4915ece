package index

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"keepsake/internal/base/text"
	"keepsake/internal/testing/testtier"
)

// read is a document as a search that walks over all documents reads it.
type read struct {
	id          string
	at          int64
	positions   map[string][]uint32
	titleEnd    uint32
	words       map[string]bool
	keys        map[string]bool
	title, text byte
	language    text.Language
}

func readDocument(id string, d *Document) *read {
	out := &read{id: id, at: d.UpdatedAt, positions: map[string][]uint32{}, words: map[string]bool{}, keys: map[string]bool{}}
	out.language = analyzer.LanguageOf(d.Title, d.Text)
	title, body, begin := 0, 0, uint32(0)
	scan := func(s string, n *int) {
		last := uint32(0)
		analyzer.Scan(s, func(t text.Token) bool {
			*n++
			last = begin + uint32(t.Pos)
			out.words[t.Word] = true
			if stem := stemFor(out.language, t.Term, t.Word); stem != "" {
				out.positions[stem] = append(out.positions[stem], last)
			}
			return true
		})
		if begin == 0 {
			out.titleEnd = last
		}
	}
	scan(d.Title, &title)
	begin = out.titleEnd + 1
	scan(d.Text, &body)
	out.title, out.text = codeOf(title), codeOf(body)
	for _, key := range d.Keys {
		out.keys[key] = true
	}
	return out
}

// split returns how many of positions are in the title and in the text.
func (d *read) split(positions []uint32) (title, text uint32) {
	for _, p := range positions {
		if p <= d.titleEnd {
			title++
		} else {
			text++
		}
	}
	return title, text
}

func (d *read) hasForm(w *Word) bool {
	switch w.Form {
	case AsIs:
		return d.words[w.Word]
	case Prefix:
		for word := range d.words {
			if strings.HasPrefix(word, w.Word) {
				return true
			}
		}
	}
	return false
}

// stem returns the positions of a word.
func (d *read) stem(english, word string) []uint32 {
	return d.positions[stemFor(d.language, english, word)]
}

// walk is a search over all documents.
type walk struct {
	q         *Query
	documents []*read // of the scope
	ranking   *ranking
	languages text.LanguageSet
	language  text.Language // of the query
	others    bool          // there are other spellings
	strict    bool          // there are few words
	level     int           // of the document and the word that were judged last: 2 if it has it as it was asked for, 1 another spelling
}

func newWalk(m *model, q *Query) *walk {
	w := &walk{q: q}
	s := Statistics{}
	for id, d := range m.documents {
		if r := readDocument(id, d); q.Scope == "" || r.keys[q.Scope] {
			w.documents = append(w.documents, r)
			s.Docs++
			s.Titles += int64(lengths[r.title])
			s.Texts += int64(lengths[r.text])
			s.Languages.Add(r.language)
		}
	}
	w.ranking = newRanking(s, q.Statistics)
	w.languages = s.Languages
	w.language = languageOf(q.Any, w.languages)
	return w
}

func (w *walk) count(has func(*read) bool) int64 {
	n := int64(0)
	for _, d := range w.documents {
		if has(d) {
			n++
		}
	}
	return n
}

func (w *walk) countStem(stem, word string) int64 {
	return w.count(func(d *read) bool { return stem != "" && len(d.stem(stem, word)) > 0 })
}

// stopword reports whether a word hardly counts in documents of a language. Without inflections, it can be of any.
func (w *walk) stopword(l text.Language, word string) bool {
	if !text.Inflected(word) {
		return text.StopwordIn(word)&w.languages != 0
	}
	return l.Stopword(word)
}

// judge scores a document.
type judge func(*read) (int32, bool)

func (w *walk) word(q *Word) judge {
	count := max(w.countStem(q.Stem, q.Word), w.count(func(d *read) bool { return d.hasForm(q) }))
	var single []string
	others := make([]func(*read) (title, text uint32), 0, len(q.Others))
	if len(q.Others) > 0 {
		own := w.ranking.count(count)
		for _, p := range q.Others {
			rarest := w.countStem(p[0].Stem, p[0].Word.Word)
			for i := range p {
				rarest = min(rarest, w.countStem(p[i].Stem, p[i].Word.Word))
			}
			if rarest = w.ranking.count(rarest); rarest == 0 || len(p) > 1 && own > 0 && rarest > max(apartDocs, apartFactor*own) {
				continue
			}
			find := func(d *read) (title, text uint32) { return d.split(d.begins(p)) }
			others = append(others, find)
			single = append(single, "")
			if len(p) == 1 {
				single[len(single)-1] = p[0].Word.Word
			}
			count += w.count(func(d *read) bool { title, text := find(d); return title+text > 0 })
		}
		w.others = w.others || len(others) > 0
	}
	idf := w.ranking.idf(count)
	similar := make([]float64, len(q.Similar))
	for i, s := range q.Similar {
		similar[i] = w.ranking.idf(w.countStem(s.Stem, s.Word)) * s.Weight
	}
	return func(d *read) (int32, bool) {
		best, ok := int32(0), false
		try := func(stem, word string, weight float64) {
			if title, text := d.split(d.stem(stem, word)); stem != "" && title+text > 0 {
				best, ok = max(best, (&scorer{ranking: w.ranking, weight: weight}).compute(title, text, d.title, d.text)), true
			}
		}
		of := d.language
		try(q.Stem, q.Word, weightOf(idf, w.stopword(of, q.Word)))
		for i, s := range q.Similar {
			try(s.Stem, s.Word, similar[i])
		}
		if q.Form != Stemmed {
			if of = w.language; !ok && d.hasForm(q) {
				best, ok = units(weightOf(idf, w.stopword(w.language, q.Word))*saturated(1)), true
			}
		}
		bonus := w.strict && !w.stopword(w.language, q.Word) && len(q.Similar) == 0
		if w.level = 0; ok && bonus && !w.stopword(of, q.Word) {
			w.level = 2
		}
		for i, find := range others {
			title, text := find(d)
			if title+text == 0 {
				continue
			}
			weight := idf * otherWeight
			if single[i] != "" {
				weight = weightOf(weight, w.stopword(d.language, single[i]))
			} else {
				weight = weightOf(idf, w.isStopword(q)) * otherWeight
			}
			score := (&scorer{ranking: w.ranking, weight: weight}).compute(title, text, d.title, d.text)
			switch {
			case bonus && w.level == 0:
				best, w.level = score, 1
			case w.level < 2:
				best = max(best, score)
			}
			ok = true
		}
		return best, ok
	}
}

// isStopword reports whether a word hardly counts in the query.
func (w *walk) isStopword(q *Word) bool { return w.stopword(w.language, q.Word) }

func (w *walk) phrase(q Phrase) judge {
	if len(q) == 1 {
		return w.word(&q[0].Word)
	}
	idfs := make([]float64, len(q))
	for i := range q {
		idfs[i] = w.ranking.idf(w.countStem(q[i].Stem, q[i].Word.Word))
	}
	return func(d *read) (int32, bool) {
		weight := 0.0
		for i := range q {
			weight += weightOf(idfs[i], w.stopword(d.language, q[i].Word.Word))
		}
		title, text := d.split(d.begins(q))
		return (&scorer{ranking: w.ranking, weight: weight}).compute(title, text, d.title, d.text), title+text > 0
	}
}

// begins returns where a phrase begins.
func (d *read) begins(q Phrase) (begins []uint32) {
	for _, begin := range d.stem(q[0].Stem, q[0].Word.Word) {
		fits := true
		for i := range q {
			fits = fits && slices.Contains(d.stem(q[i].Stem, q[i].Word.Word), begin-q[0].Offset+q[i].Offset)
		}
		if fits {
			begins = append(begins, begin)
		}
	}
	return begins
}

// glued scores words next to each other.
func (w *walk) glued(q Phrase) judge {
	find := func(d *read) (title, text uint32) { return d.split(d.begins(q)) }
	rarest := int64(math.MaxInt64)
	for i := range q {
		rarest = min(rarest, w.countStem(q[i].Stem, q[i].Word.Word))
	}
	weight := 0.0
	for i := range q {
		weight += weightOf(w.ranking.idf(w.countStem(q[i].Stem, q[i].Word.Word)), text.StopwordIn(q[i].Word.Word)&w.languages != 0)
	}
	w.others = w.others || rarest > 0
	return func(d *read) (int32, bool) {
		title, text := find(d)
		return (&scorer{ranking: w.ranking, weight: weight}).compute(title, text, d.title, d.text), title+text > 0
	}
}

func (d *read) passes(filters []Filter) bool {
	for _, f := range filters {
		has := false
		for key := range d.keys {
			for _, r := range f.Any {
				has = has || key >= r.From && key < r.To
			}
		}
		if has == f.Not {
			return false
		}
	}
	return true
}

// search returns all hits in order, and the facets.
func (w *walk) search() (hits []Hit, facets []Counts) {
	var words, glued, all, not []judge
	telling := 0
	for i := range w.q.Any {
		words = append(words, w.word(&w.q.Any[i]))
	}
	for i := range w.q.Any {
		if !w.stopword(w.language, w.q.Any[i].Word) {
			telling++
		}
	}
	w.strict = telling <= strictWords
	for _, p := range w.q.Glued {
		glued = append(glued, w.glued(p.Phrase))
	}
	for _, p := range w.q.All {
		all = append(all, w.phrase(p))
	}
	for _, p := range w.q.Not {
		not = append(not, w.phrase(p))
	}
	facets = make([]Counts, len(w.q.Facets))
	for i := range facets {
		facets[i] = Counts{ByTerm: map[string]int64{}, Complete: true}
	}
	for _, d := range w.documents {
		if !d.passes(w.q.Filters) || slices.ContainsFunc(not, func(j judge) bool { _, ok := j(d); return ok }) {
			continue
		}
		sum, matching, strict, exact := int32(0), 0, int32(0), int32(0)
		for _, j := range words {
			if score, ok := j(d); ok {
				sum += score
				matching++
				strict += int32((w.level + 1) / 2)
				exact += int32(w.level / 2)
			}
		}
		for _, j := range glued {
			if score, ok := j(d); ok {
				sum += score
				exact++
			}
		}
		if len(all) > 0 {
			missing := false
			for _, j := range all {
				score, ok := j(d)
				missing = missing || !ok
				sum += score
			}
			if missing {
				continue
			}
		} else if matching == 0 && (len(words) > 0 || len(not) == 0 && !w.q.Everything) {
			continue
		}
		h := Hit{Place: Place{ID: d.id}, Score: float64(sum) / scoreUnit, Language: d.language}
		if telling <= strictWords {
			if h.Key = int64(strict); w.others { // times the bonus, which check adds
				h.Key = int64(strict)*int64(telling+2*len(glued)+1) + int64(exact)
			}
		}
		hits = append(hits, h)
		for i, facet := range w.q.Facets {
			for key := range d.keys {
				for _, r := range facet {
					if key >= r.From && key < r.To {
						facets[i].ByTerm[key]++
					}
				}
			}
		}
	}
	return hits, facets
}

func drawQuery(r *rand.Rand) *Query {
	stem := func() Word {
		raw := vocabulary[r.IntN(len(vocabulary))]
		w := Word{}
		analyzer.Scan(raw, func(t text.Token) bool {
			w.Stem, w.Word = t.Term, t.Word
			return r.IntN(2) == 0
		})
		if w.Stem == "" || r.IntN(8) == 0 {
			w.Form = AsIs
		}
		return w
	}
	phrase := func(most int) Phrase {
		if r.IntN(2) == 0 {
			return Phrase{{Word: stem()}}
		}
		var p Phrase
		for offset := range 2 + r.IntN(most) {
			w := stem()
			for w.Stem == "" {
				w = stem()
			}
			w.Form = Stemmed
			p = append(p, PhraseWord{Word: w, Offset: uint32(offset)})
		}
		return p
	}
	q := &Query{Limit: 1 + r.IntN(10), Sort: Sort(max(0, r.IntN(5)-2))}
	for range r.IntN(5) {
		w := stem()
		switch r.IntN(6) {
		case 0:
			w = Word{Word: []string{"f", "ru", "z", "黒"}[r.IntN(4)], Form: Prefix}
			w.Stem = w.Word
		case 1:
			w.Similar = []Similar{{"zebra", "zebras", 0.5}, {"run", "running", 0.25}, {"cancion", "cancion", 0.125}}
		}
		q.Any = append(q.Any, w)
	}
	for i := range q.Any {
		if w := &q.Any[i]; len(w.Similar) == 0 && r.IntN(3) == 0 {
			for range 1 + r.IntN(2) {
				other := phrase(1)
				for other[0].Stem == "" {
					other = phrase(1)
				}
				other[0].Form = Stemmed
				w.Others = append(w.Others, other)
			}
		}
	}
	if len(q.Any) > 1 && r.IntN(3) == 0 { // two words of the query
		first, second := q.Any[0], q.Any[1]
		if first.Form != Prefix && second.Form != Prefix && first.Stem != "" && second.Stem != "" {
			q.Glued = append(q.Glued, Glued{Phrase: Phrase{
				{Word: Word{Stem: first.Stem, Word: first.Word}}, {Word: Word{Stem: second.Stem, Word: second.Word}, Offset: 1},
			}})
		}
	}
	for range max(0, r.IntN(4)-2) {
		q.All = append(q.All, phrase(2))
	}
	for range max(0, r.IntN(4)-2) {
		q.Not = append(q.Not, phrase(1))
	}
	for range max(0, r.IntN(4)-2) {
		size := Number("size", float64(r.IntN(20)-10)/2)
		filters := []Filter{
			{Any: []Range{Only(Tag("x"))}},
			{Any: []Range{Only(Tag("y"))}, Not: true},
			{Any: []Range{Below(size, r.IntN(2) == 0)}},
			{Any: []Range{Above(size, r.IntN(2) == 0)}},
			{Any: []Range{Only(Text("color", "red")), Only(Bool("color", true))}},
			{Any: []Range{Above(Text("color", "green"), true)}, Not: true},
		}
		q.Filters = append(q.Filters, filters[r.IntN(len(filters))])
	}
	if r.IntN(3) == 0 {
		q.Scope = Collection([]string{"default", "notes", "rare", "nowhere"}[r.IntN(4)])
	}
	if r.IntN(3) == 0 {
		q.Facets = []Facet{Collections(), Tags(), Entries("color"), Entries("size"), Entries("none")}
	}
	return q
}

// Whatever was written, a search finds the same as a walk over all documents, with the same scores, page by page.
func TestSearchAgreesWithWalkOverDocuments(t *testing.T) {
	t.Parallel()
	l := NewLexicon()
	for round := range testtier.Rounds(10, 200) {
		r := rand.New(rand.NewPCG(10, uint64(round)))
		x, err := Open(t.TempDir(), tiny(l, nil))
		noError(t, err)
		m := &model{documents: map[string]*Document{}}
		for range 1 + r.IntN(12) {
			changes := m.drawChanges(r, 80)
			m.apply(changes)
			noError(t, x.Apply(changes))
			if r.IntN(3) == 0 {
				noError(t, x.Flush())
			}
			if r.IntN(3) == 0 {
				_, err := x.Merge()
				noError(t, err)
			}
		}
		s := x.Snapshot()
		for range 30 {
			q := drawQuery(r)
			if len(q.Any)+len(q.All)+len(q.Not) > 0 {
				compareWithWalk(t, s, m, q)
			}
		}
		s.Release()
		noError(t, x.Close())
	}
}

func compareWithWalk(t *testing.T, s *Snapshot, m *model, q *Query) {
	t.Helper()
	w := newWalk(m, q)
	want, facets := w.search()
	bonus := int64(0)
	var got []Hit
	for q.After, q.Statistics = nil, nil; ; {
		found, err := s.Search(q, nil)
		noError(t, err)
		if found.Total != int64(len(want)) {
			t.Fatalf("%+v: total is %d, want %d", q, found.Total, len(want))
		}
		if diff := gocmp.Diff(facets, found.Facets); len(q.Facets) > 0 && diff != "" {
			t.Fatalf("%+v: facets (-want +got):\n%s", q, diff)
		}
		got = append(got, found.Hits...)
		if len(found.Hits) < q.Limit {
			break
		}
		q.After, q.Statistics = &got[len(got)-1].Place, &found.Statistics
	}
	run := &search{snapshot: s, q: q}
	noError(t, run.open())
	for _, w := range run.groups[0].any {
		bonus += int64(w.most())
	}
	at := map[string]int64{}
	for _, d := range w.documents {
		at[d.id] = d.at
	}
	for i := range want {
		h := &want[i]
		h.Score += float64(h.Key*bonus) / scoreUnit
		switch q.Sort {
		case ByScore:
			h.Key = int64(math.Round(h.Score * scoreUnit))
		case NewestFirst:
			h.Key = at[h.ID]
		case OldestFirst:
			h.Key = -at[h.ID]
		}
	}
	slices.SortFunc(want, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Key, a.Key), cmp.Compare(a.ID, b.ID)) })
	if len(want) == 0 && len(got) == 0 {
		return
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("%+v (-want +got):\n%s", q, diff)
	}
}

func TestScoreIsThatOfTheFormula(t *testing.T) {
	t.Parallel()
	x, err := Open("", Options{})
	noError(t, err)
	for i, body := range []string{"fox fox fox dog", "fox", "dog dog dog dog dog dog dog"} {
		noError(t, x.Apply([]Change{{Number: int64(i + 1), ID: fmt.Sprint(i), Document: &Document{Text: body}}}))
	}
	s := x.Snapshot()
	defer s.Release()
	found, err := s.Search(&Query{Any: []Word{{Stem: "fox"}, {Stem: "a"}, {Stem: "b"}, {Stem: "c"}}, Limit: 9}, nil)
	noError(t, err)
	idf, average := math.Log(1+1.5/2.5), 12.0/3
	if len(found.Hits) != 2 {
		t.Fatalf("found %+v", found.Hits)
	}
	for _, h := range found.Hits {
		count := map[string][2]float64{"0": {3, 4}, "1": {1, 1}}[h.ID]
		want := idf * count[0] * 2.5 / (count[0] + 1.5*(0.35+0.65*count[1]/average))
		if math.Abs(h.Score-want) > 0.3 { // the frequency is divided by the length before it is limited
			t.Errorf("score of %s is %v, want %v", h.ID, h.Score, want)
		}
	}
}

// A word in all of many documents says nearly nothing. Still the document with fewer other words ranks first.
func TestShorterDocumentRanksFirst(t *testing.T) {
	t.Parallel()
	x, err := Open("", Options{})
	noError(t, err)
	for i := range 1_000 {
		body := "fox" + strings.Repeat(" dog", 12-i%10)
		noError(t, x.Apply([]Change{{Number: int64(i + 1), ID: fmt.Sprintf("%04d", i), Document: &Document{Text: body}}}))
	}
	s := x.Snapshot()
	defer s.Release()
	found, err := s.Search(&Query{Any: []Word{{Stem: "fox"}}, Limit: 3}, nil)
	noError(t, err)
	var ids []string
	for _, h := range found.Hits {
		ids = append(ids, h.ID)
	}
	if want := []string{"0009", "0019", "0029"}; !slices.Equal(ids, want) {
		t.Errorf("found %v, want %v", ids, want)
	}
}

// A list of several windows and blocks, with words in all of them.
func TestSearchAgreesOnManyDocuments(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 11))
	x, err := Open("", Options{})
	noError(t, err)
	m := &model{documents: map[string]*Document{}}
	var changes []Change
	for i := range 9_000 {
		changes = append(changes, Change{Number: int64(i + 1), ID: fmt.Sprint("id", i), Document: drawDocument(r)})
	}
	m.apply(changes)
	noError(t, x.Apply(changes))
	changes = nil
	for i := range 200 {
		changes = append(changes, Change{Number: int64(9_001 + i), ID: fmt.Sprint("id", r.IntN(9_000))})
	}
	m.apply(changes)
	noError(t, x.Apply(changes))
	s := x.Snapshot()
	defer s.Release()
	for range testtier.Rounds(8, 60) {
		q := drawQuery(r)
		q.Limit = 20_000
		if len(q.Any)+len(q.All)+len(q.Not) > 0 {
			compareWithWalk(t, s, m, q)
		}
	}
}

func TestSearchEndsWithItsStep(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(12, 12))
	x, err := Open("", Options{})
	noError(t, err)
	var changes []Change
	for i := range 20_000 {
		changes = append(changes, Change{Number: int64(i + 1), ID: fmt.Sprint("id", i), Document: drawDocument(r)})
	}
	noError(t, x.Apply(changes))
	s := x.Snapshot()
	defer s.Release()
	stop := errors.New("stop")
	for name, q := range map[string]*Query{
		"any":     {Any: []Word{{Stem: "fox"}, {Stem: "run"}}, Limit: 10},
		"all":     {All: []Phrase{{{Word: Word{Stem: "the"}}, {Word: Word{Stem: "the"}, Offset: 1}}}, Limit: 10},
		"not":     {Not: []Phrase{{{Word: Word{Stem: "zebra"}}}}, Limit: 10},
		"prefix":  {Any: []Word{{Stem: "f", Word: "f", Form: Prefix}}, Limit: 10},
		"filters": {Any: []Word{{Stem: "3.14"}}, Filters: []Filter{{Any: []Range{Only(Tag("x"))}}}, Facets: []Facet{Tags()}, Limit: 10},
	} {
		steps, sum := 0, 0
		_, err := s.Search(q, func(n int) error { steps++; sum += n; return nil })
		noError(t, err)
		if steps < 2 || sum < 2_000 {
			t.Errorf("%s: %d steps were reported in %d calls", name, sum, steps)
		}
		for end := 1; end <= steps; end += max(1, steps/10) {
			calls := 0
			_, err := s.Search(q, func(int) error {
				if calls++; calls == end {
					return stop
				}
				return nil
			})
			if !errors.Is(err, stop) || calls != end {
				t.Errorf("%s: stopped at call %d of %d: %v after %d", name, end, steps, err, calls)
			}
		}
	}
}

// edits is the distance of two words, by the definition.
func edits(a, b []rune) int {
	d := map[[2]int]int{}
	for i := range len(a) + 1 {
		for j := range len(b) + 1 {
			switch {
			case i == 0 || j == 0:
				d[[2]int{i, j}] = i + j
			default:
				cost := 1
				if a[i-1] == b[j-1] {
					cost = 0
				}
				n := min(d[[2]int{i - 1, j}]+1, d[[2]int{i, j - 1}]+1, d[[2]int{i - 1, j - 1}]+cost)
				if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
					n = min(n, d[[2]int{i - 2, j - 2}]+1)
				}
				d[[2]int{i, j}] = n
			}
		}
	}
	return d[[2]int{len(a), len(b)}]
}

func TestNearFindsEveryWordWithFewEdits(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(13, 13))
	draw := func() string {
		letters := []rune("abcé")
		word := make([]rune, 1+r.IntN(7))
		for i := range word {
			word[i] = letters[r.IntN(len(letters))]
		}
		return text.Fold(string(word))
	}
	x, err := Open("", Options{})
	noError(t, err)
	docs := map[string]int64{}
	for n := range 30 {
		words := map[string]bool{}
		for range 20 {
			words[draw()] = true
		}
		for word := range words {
			docs[word]++
		}
		noError(t, x.Apply([]Change{{Number: int64(n + 1), ID: fmt.Sprint(n), Document: &Document{Text: strings.Join(slices.Collect(maps.Keys(words)), " ")}}}))
	}
	s := x.Snapshot()
	defer s.Release()
	for range testtier.Rounds(100, 1000) {
		word, most := draw(), 1+r.IntN(2)
		want := map[string]Neighbour{}
		for other, n := range docs {
			same := []rune(word)[0] == []rune(other)[0]
			switch d := edits([]rune(word), []rune(other)); {
			case same && d > 0 && d <= most:
				want[other] = Neighbour{other, d, n}
			case !same && d == 1 && most == 2:
				want[other] = Neighbour{other, 2, n}
			}
		}
		list, err := s.Near(word, most, 1, "", nil)
		noError(t, err)
		got := map[string]Neighbour{}
		for _, n := range list {
			got[n.Word] = n
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("near %q with %d edits (-want +got):\n%s", word, most, diff)
		}
	}
}
