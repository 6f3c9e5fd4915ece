package recall_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
	"keepsake/internal/memory/recall"
)

// shared by all tests: making one costs more than most of what they do.
var analyzer = text.NewAnalyzer()

func build(items []recall.Item) *recall.Index {
	x := recall.New(analyzer, vectors.Builtin(), 0)
	for _, it := range items {
		x.Put(it)
	}
	return x
}

var someWords = []string{
	"camp", "camping", "campsite", "dog", "puppy", "pet", "beagle", "went", "go", "Ann", "Bob", "the", "what", "May", "2023", "yesterday", "猫", "黒猫", "кофе", "🎉",
	"photo", "photograph", "like", "red", "red", "?", "when", "7th", "thanks", "bought", "ich", "habe", "Hunde", "Hund",
}

func drawText(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(someWords), 0, 8).Draw(t, label), " ")
}

func drawTime(t *rapid.T, label string) *time.Time {
	n := rapid.IntRange(-1, 12).Draw(t, label)
	if n < 0 {
		return nil
	}
	when := time.Date(2023, time.May, 1+4*n, n, 0, 0, 0, time.UTC)
	return &when
}

func drawItem(t *rapid.T, id string) recall.Item {
	some := func(label string, list ...string) string { return rapid.SampledFrom(list).Draw(t, label) }
	it := recall.Item{
		ID: id, Text: drawText(t, "text"), Speaker: some("speaker", "", "Ann", "Bob", "Annabel Lee"), Kind: some("kind", "turn", "fact"),
		AgentID: some("agent", "", "a1", "a2"), SessionID: some("session", "", "s1", "s2", "s3"), Pinned: rapid.Bool().Draw(t, "pinned"),
		Tags:       rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y", "dog"}), 0, 2, rapid.ID).Draw(t, "tags"),
		OccurredAt: drawTime(t, "occurred"), ValidFrom: drawTime(t, "from"), ValidTo: drawTime(t, "to"), ExpiresAt: drawTime(t, "expires"),
		CreatedAt: time.Date(2023, time.May, rapid.IntRange(1, 40).Draw(t, "created"), 0, 0, 0, 0, time.UTC),
	}
	if rapid.Bool().Draw(t, "important") {
		it.Importance = new(float64)
	}
	return it
}

func drawItems(t *rapid.T) []recall.Item {
	items := make([]recall.Item, rapid.IntRange(0, 25).Draw(t, "n"))
	for i := range items {
		items[i] = drawItem(t, fmt.Sprintf("m%02d", i))
	}
	return items
}

func drawQuery(t *rapid.T) recall.Query {
	q := recall.Query{Text: drawText(t, "query"), Limit: 50, Now: *at("2023-05-01"), Explain: true}
	if when := drawTime(t, "asOf"); when != nil {
		q.AsOf = *when
	}
	return q
}

// found and newest ask without a task, which is the only one that fails.
func found(x *recall.Index, q recall.Query) []recall.Hit {
	hits, err := x.Search(nil, q)
	if err != nil {
		panic(err)
	}
	return hits
}

func newest(x *recall.Index, q recall.Query) []string {
	ids, _, err := x.Newest(nil, q)
	if err != nil {
		panic(err)
	}
	return ids
}

func TestTheOrderOfPutsAndWhatWasRemovedDoNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items, q := drawItems(t), drawQuery(t)
		want := found(build(items), q)

		x := recall.New(analyzer, vectors.Builtin(), 0)
		for _, it := range rapid.Permutation(items).Draw(t, "order") {
			for range rapid.IntRange(0, 3).Draw(t, "noise") {
				other := drawItem(t, rapid.SampledFrom([]string{it.ID, "other1", "other2"}).Draw(t, "id"))
				x.Put(other)
				if rapid.Bool().Draw(t, "looked") { // a search settles what a write left for later
					found(x, q)
				}
			}
			x.Put(it)
			x.Remove(rapid.SampledFrom([]string{"other1", "other2", "nobody"}).Draw(t, "gone"))
		}
		// Enough to have the index compacted.
		for i := range rapid.SampledFrom([]int{0, 120}).Draw(t, "churn") {
			x.Put(recall.Item{ID: fmt.Sprint("churn", i), Text: "camping with the dog in May, Zoe", SessionID: "s1", Speaker: "Zoe"})
		}
		for i := range 120 {
			x.Remove(fmt.Sprint("churn", i))
		}
		x.Remove("other1")
		x.Remove("other2")
		for _, it := range items { // the noise may have written over it
			x.Put(it)
		}
		if diff := cmp.Diff(want, found(x, q)); diff != "" {
			t.Fatalf("%q differs from a fresh index (-fresh +this):\n%s", q.Text, diff)
		}
		if x.Len() != len(items) {
			t.Fatalf("%d memories, want %d", x.Len(), len(items))
		}
	})
}

func TestASmallerLimitGivesTheBeginning(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x, q := build(drawItems(t)), drawQuery(t)
		all := found(x, q)
		q.Limit = rapid.IntRange(0, 12).Draw(t, "limit")
		if diff := cmp.Diff(ids(all[:min(len(all), q.Limit)]), ids(found(x, q))); diff != "" {
			t.Fatalf("limit %d of %q (-want +got):\n%s", q.Limit, q.Text, diff)
		}
	})
}

// A filter is as if nothing else were there: other agents' memories do not even show in a score.
func TestAFilterIsAsIfNothingElseWereThere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		items, q := drawItems(t), drawQuery(t)
		all := q
		q.AgentID = rapid.SampledFrom([]string{"", "a1", "a3"}).Draw(t, "agent")
		q.SessionID = rapid.SampledFrom([]string{"", "s1", "s9"}).Draw(t, "session")
		q.Kinds = rapid.SampledFrom([][]string{nil, {"turn"}, {"turn", "fact"}, {"note"}}).Draw(t, "kinds")
		q.Tags = rapid.SampledFrom([][]string{nil, {"x"}, {"x", "y"}, {"z"}}).Draw(t, "tags")
		q.From, q.To = drawTime(t, "since"), drawTime(t, "until")
		asOf := q.AsOf
		if asOf.IsZero() {
			asOf = q.Now
		}
		var left []recall.Item
		for _, it := range items {
			when := it.CreatedAt
			if it.OccurredAt != nil {
				when = *it.OccurredAt
			}
			if (q.AgentID == "" || it.AgentID == q.AgentID) && (q.SessionID == "" || it.SessionID == q.SessionID) &&
				(q.Kinds == nil || slices.Contains(q.Kinds, it.Kind)) &&
				!slices.ContainsFunc(q.Tags, func(tag string) bool { return !slices.Contains(it.Tags, tag) }) &&
				(q.From == nil || !when.Before(*q.From)) && (q.To == nil || when.Before(*q.To)) &&
				(q.AsOf.IsZero() || !it.CreatedAt.After(q.AsOf)) && (it.ValidFrom == nil || !it.ValidFrom.After(asOf)) &&
				(it.ValidTo == nil || it.ValidTo.After(asOf)) && (it.ExpiresAt == nil || it.ExpiresAt.After(q.Now)) {
				it.ValidFrom, it.ValidTo, it.ExpiresAt = nil, nil, nil
				left = append(left, it)
			}
		}
		all.Now, all.AsOf = asOf, time.Time{}
		if diff := cmp.Diff(found(build(left), all), found(build(items), q)); diff != "" {
			t.Fatalf("%q with filters (-brute force +filtered):\n%s", q.Text, diff)
		}
		ordered := newest(build(items), q)
		sort.Strings(ordered)
		want := []string{}
		for _, it := range left {
			want = append(want, it.ID)
		}
		if len(want) != len(ordered) || len(want) > 0 && !slices.Equal(want, ordered) {
			t.Fatalf("newest are %v, want %v in some order", ordered, want)
		}
	})
}

func TestScoresFallAndAreExplained(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x, q := build(drawItems(t)), drawQuery(t)
		q.MinScore = rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "least")
		before := math.Inf(1)
		for _, h := range found(x, q) {
			w := h.Why
			sum := w.Words + w.Related + w.Together + w.Neighbours + w.Session + w.Speaker + w.Date + w.Answer + w.Meaning + w.Worth
			if h.Score > before || h.Score <= 0 || h.Score < q.MinScore || math.Abs(sum-h.Score) > 1e-5 || math.IsNaN(sum) {
				t.Fatalf("%q: score %v after %v, whose parts are %+v", q.Text, h.Score, before, w)
			}
			if (len(h.Matched) > 0) != (w.Words > 0) {
				t.Fatalf("%q: %v matched, its words count %v", q.Text, h.Matched, w.Words)
			}
			before = h.Score
		}
	})
}

func TestNewestPutsThePinnedFirst(t *testing.T) {
	t.Parallel()
	x := build([]recall.Item{
		{ID: "a", OccurredAt: at("2023-01-01")},
		{ID: "b", OccurredAt: at("2024-01-01")},
		{ID: "c", Pinned: true, OccurredAt: at("2020-01-01")},
		{ID: "d", CreatedAt: *at("2023-06-01")},
		{ID: "e", OccurredAt: at("2024-01-01")},
	})
	if diff := cmp.Diff([]string{"c", "e", "b", "d"}, newest(x, recall.Query{Limit: 4, Now: now})); diff != "" {
		t.Errorf("newest (-want +got):\n%s", diff)
	}
}

// Any query at all is answered, the same way twice.
func FuzzSearch(f *testing.F) {
	for _, s := range []string{
		"", "When did Ann go camping in May 2023?", "a couple of weeks ago", "2023-05-07", "7th of May", "last", "next friday", "猫", "\xff", "2023-13-99",
		"the the the", "in may", "three years ago", "9999999999 ago", "0 days ago", "99 years ago", "may", "1900-02-31", "last night?",
	} {
		f.Add(s, int64(0))
	}
	x := build(append(talk("s", "2023-05-07", "Ann: Went camping with 黒猫 last week", "Bob: When? 7 May?"), recall.Item{ID: "z", Text: "photo 🎉"}))
	f.Fuzz(func(t *testing.T, query string, asOf int64) {
		q := recall.Query{Text: query, Limit: 5, Now: time.UnixMilli(asOf % (1 << 47)), Explain: true}
		if diff := cmp.Diff(found(x, q), found(x, q)); diff != "" {
			t.Errorf("%q twice:\n%s", query, diff)
		}
	})
}

func TestManySearchWhileOneWrites(t *testing.T) {
	t.Parallel()
	x := build(many(300))
	x.Put(recall.Item{ID: "steady", Text: "steady"})
	var searching sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		searching.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					if hits := found(x, recall.Query{Text: "steady", Limit: 5, Now: now}); len(hits) == 0 || hits[0].ID != "steady" {
						t.Errorf("found %v", ids(hits))
						return
					}
				}
			}
		})
	}
	for i, it := range many(400) {
		it.OccurredAt = nil
		x.Put(it)
		if i%3 == 0 {
			x.Remove(it.ID)
		}
	}
	close(stop)
	searching.Wait()
}

// many makes conversations of words whose frequencies fall as those of a language do.
func many(n int) []recall.Item {
	random := rand.New(rand.NewPCG(7, 11))
	common := strings.Fields(`the I you a to and it that is was of my we so in on for have with but really just me went like time today been
		going think good know about what how great your they some love new feel week work day see make get`)
	items := make([]recall.Item, n)
	start := *at("2023-01-01")
	for i := range items {
		var b strings.Builder
		for range 12 + random.IntN(25) {
			if random.IntN(10) < 6 {
				b.WriteString(common[random.IntN(len(common))])
			} else {
				r := random.Float64()
				b.WriteString(madeUp(int(12_000 * r * r * r)))
			}
			b.WriteByte(' ')
		}
		when := start.Add(time.Duration(i/25) * 24 * time.Hour)
		items[i] = recall.Item{
			ID: fmt.Sprintf("mem_%026d", i), Text: b.String(), Speaker: []string{"Melanie", "Caroline"}[i%2], Kind: "turn",
			SessionID: fmt.Sprint("session-", i/25), OccurredAt: &when, CreatedAt: start.Add(time.Duration(i) * time.Second),
		}
	}
	return items
}

// madeUp is the n-th of many words that look like some.
func madeUp(n int) string {
	syllables := []string{"ba", "con", "der", "fil", "gra", "hin", "jor", "kel", "lam", "mon", "nef", "pol", "quin", "ras", "sto", "tur", "vel", "wim", "yar", "zu"}
	var b strings.Builder
	for n += 20; n > 0; n /= len(syllables) {
		b.WriteString(syllables[n%len(syllables)])
	}
	return b.String()
}

var questions = []string{
	"When did Melanie go to the badercon with her dog?", "What does Caroline like about hinfilba?", "How many kelgraba did Melanie buy in May 2023?",
	"Where was the lamhinba last week?", "Who told Caroline about polba and monder?", "What kind of stovelba does Melanie want?",
}

// TestBytesAreWhatTheIndexTakes is not parallel, because it looks at the heap.
func TestBytesAreWhatTheIndexTakes(t *testing.T) {
	for _, n := range []int{1_000, 10_000} {
		items := many(n)
		build(items) // for the analyzer, which remembers stems
		var before, after runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&before)
		x := build(items)
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		seen, said := float64(after.HeapAlloc)-float64(before.HeapAlloc), float64(x.Bytes())
		t.Logf("%d memories take %.0f bytes each, said %.0f", n, seen/float64(n), said/float64(n))
		if said < 0.75*seen || said > 1.5*seen {
			t.Errorf("%d memories take %.0f bytes, Bytes says %.0f", n, seen, said)
		}
		for _, it := range items[:n/2] {
			x.Remove(it.ID)
		}
		if left := float64(x.Bytes()); left > 0.75*said || left < 0.3*said {
			t.Errorf("with half of %d removed Bytes says %.0f after %.0f", n, left, said)
		}
		runtime.KeepAlive(items)
	}
}

func BenchmarkBuild(b *testing.B) {
	items := many(10_000)
	build(items)
	b.ReportAllocs()
	for b.Loop() {
		build(items)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/10_000, "µs/item")
}

func BenchmarkSearch(b *testing.B) {
	x := build(many(10_000))
	took := make([]time.Duration, 0, 100_000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		found(x, recall.Query{Text: questions[i%len(questions)], Limit: 10, Now: now})
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func BenchmarkPutAndRemove(b *testing.B) {
	items := many(10_000)
	x := build(items)
	for i := 0; b.Loop(); i++ {
		it := items[i%len(items)]
		x.Remove(it.ID)
		x.Put(it)
	}
}

// BenchmarkLongQuery asks with as much text as a query may have, of different words and dates, among many speakers.
func BenchmarkLongQuery(b *testing.B) {
	items := many(10_000)
	for i := range items {
		items[i].Speaker = fmt.Sprint("Person", i%2000)
	}
	list, err := os.ReadFile("../../base/text/related/en.txt")
	if err != nil {
		b.Fatal(err)
	}
	related := strings.FieldsFunc(string(list), func(r rune) bool { return !unicode.IsLetter(r) })
	about := many(10_000)
	for i := range about {
		about[i].Text += " " + related[i%len(related)] + " " + related[i*7%len(related)]
	}
	for name, c := range map[string]struct {
		items []recall.Item
		nth   func(i int) string
	}{
		"unknown words": {items, func(i int) string { return fmt.Sprintf("w%co%cd%c ", 'a'+i%26, 'a'+i/26%26, 'a'+i/676%26) }},
		"known words":   {items, func(i int) string { return items[i%len(items)].Text + " " }},
		"dates":         {items, func(i int) string { return fmt.Sprintf("%d May %d ", 1+i%28, 2000+i/28%25) }},
		"related words": {about, func(i int) string { return related[i%len(related)] + " " }},
	} {
		var q strings.Builder
		for i := 0; q.Len() < 64_000; i++ {
			q.WriteString(c.nth(i))
		}
		x := build(c.items)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				found(x, recall.Query{Text: q.String(), Limit: 200, Now: now})
			}
		})
	}
}
