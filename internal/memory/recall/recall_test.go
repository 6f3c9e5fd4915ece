package recall_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/text"
	"keepsake/internal/base/vectors"
	"keepsake/internal/memory/recall"
)

// now is a Wednesday.
var now = time.Date(2025, 6, 18, 15, 0, 0, 0, time.UTC)

func at(day string) *time.Time {
	t, err := time.Parse("2006-01-02", day)
	if err != nil {
		panic(err)
	}
	return &t
}

// index makes one of items; those without an id are m1, m2, … and were created a minute after each other.
func index(items ...recall.Item) *recall.Index {
	x := recall.New(text.NewAnalyzer(), vectors.Builtin(), 0)
	for i, it := range items {
		if it.ID == "" {
			it.ID = fmt.Sprintf("m%d", i+1)
		}
		if it.CreatedAt.IsZero() {
			it.CreatedAt = now.Add(time.Duration(i-1000) * time.Minute)
		}
		x.Put(it)
	}
	return x
}

func facts(texts ...string) *recall.Index {
	items := make([]recall.Item, len(texts))
	for i, s := range texts {
		items[i].Text = s
	}
	return index(items...)
}

// talk makes the turns of one session, "speaker: text" each.
func talk(session, day string, turns ...string) []recall.Item {
	items := make([]recall.Item, len(turns))
	for i, turn := range turns {
		speaker, text, _ := strings.Cut(turn, ": ")
		items[i] = recall.Item{ID: fmt.Sprintf("%s.%d", session, i+1), Kind: "turn", SessionID: session, Speaker: speaker, Text: text, OccurredAt: at(day), CreatedAt: now.Add(time.Duration(i-1000) * time.Minute)}
	}
	return items
}

func search(x *recall.Index, query string) []recall.Hit {
	return found(x, recall.Query{Text: query, Limit: 10, Now: now})
}

func ids(hits []recall.Hit) []string {
	list := []string{}
	for _, h := range hits {
		list = append(list, h.ID)
	}
	return list
}

func TestSearchFindsAnyScript(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64<<10)
	texts := []string{
		"Takes metformin twice a day.", "我对青霉素过敏", "毎朝コーヒーを飲みます", "أخذت الدواء في الصباح", "मुझे दूध से एलर्जी है", "passed the exam 🎉",
		"יש לי כאב ראש", long, "to be or not to be", "e\u0301le\u0301phant",
	}
	x := facts(texts...)
	for _, c := range []struct{ query, want string }{
		{"metformin", "m1"},
		{"青霉素", "m2"},
		{"对什么过敏", "m2"},
		{"素", "m2"},
		{"コーヒー", "m3"},
		{"الدواء", "m4"},
		{"एलर्जी", "m5"},
		{"🎉", "m6"},
		{"ראש", "m7"},
		{long, "m8"},
		{"to be or not to be", "m9"},
		{"what is to be", "m9"},
		{"éléphants", "m10"},
	} {
		hits := search(x, c.query)
		if len(hits) == 0 || hits[0].ID != c.want {
			t.Errorf("%.40q finds %v first, want %s", c.query, ids(hits), c.want)
			continue
		}
		if c.query != "éléphants" && len(hits[0].Matched) == 0 {
			t.Errorf("%.40q matched no word of %s", c.query, c.want)
		}
	}
}

func TestNothingIsFoundWhereNothingMatches(t *testing.T) {
	t.Parallel()
	x := index(talk("s", "2023-05-07", "Ann: I went camping", "Bob: Nice!")...)
	for _, query := range []string{"zeppelin", "", " \n", "?!", "\x00", "\xff\xfe", "yesterday zeppelin"} {
		if hits := search(x, query); len(hits) != 0 {
			t.Errorf("%q finds %v", query, ids(hits))
		}
	}
	if hits := found(recall.New(text.NewAnalyzer(), vectors.Builtin(), 0), recall.Query{Text: "x", Limit: 5, Now: now}); len(hits) != 0 {
		t.Errorf("an empty index finds %v", ids(hits))
	}
}

func TestMatchedAreTheWordsOfTheQuery(t *testing.T) {
	t.Parallel()
	x := facts("She went running in the Café Olé, and bought shoes.")
	hits := search(x, "Where did she RUN and buy the shoe near cafe?")
	if len(hits) != 1 {
		t.Fatalf("found %v", ids(hits))
	}
	if diff := cmp.Diff([]string{"run", "buy", "shoe", "cafe"}, hits[0].Matched); diff != "" {
		t.Errorf("matched (-want +got):\n%s", diff)
	}
}

func TestPairsOfCharactersAreMatchedAsPairs(t *testing.T) {
	t.Parallel()
	hits := search(facts("我对青霉素过敏", "茶"), "青霉素和茶")
	if len(hits) != 2 || fmt.Sprint(hits[0].Matched) != "[青霉 霉素]" || fmt.Sprint(hits[1].Matched) != "[茶]" {
		t.Errorf("found %+v", hits)
	}
}

func TestNeighboursBringInAnswersThatRepeatNoWord(t *testing.T) {
	t.Parallel()
	items := talk("s1", "2023-05-07", "Ann: How did you find your new flat?", "Bob: Through my cousin Jo, she had a spare key.", "Ann: Ha!", "Bob: Yes.")
	items = append(items, talk("s2", "2023-06-07", "Ann: It rains.", "Bob: So it does.")...)
	hits := search(index(items...), "how was the flat found")
	if len(hits) < 3 || hits[0].ID != "s1.2" || hits[1].ID != "s1.1" || len(hits[0].Matched) != 0 {
		t.Fatalf("found %+v", hits)
	}
	if slices.ContainsFunc(hits, func(h recall.Hit) bool { return strings.HasPrefix(h.ID, "s2") }) {
		t.Errorf("a session without a word of the query is found: %v", ids(hits))
	}
}

func TestTheSpeakerNamedIsPreferred(t *testing.T) {
	t.Parallel()
	x := index(
		recall.Item{Text: "I adopted a greyhound", Speaker: "Bob", SessionID: "a"},
		recall.Item{Text: "I adopted a greyhound", Speaker: "Melanie", SessionID: "b"},
	)
	for _, c := range []struct{ query, want string }{
		{"What did Melanie adopt?", "m2"}, {"What did Bob adopt?", "m1"}, {"When was Mel's greyhound adopted?", "m2"}, {"melanie", "m2"},
	} {
		if hits := search(x, c.query); len(hits) == 0 || hits[0].ID != c.want {
			t.Errorf("%q finds %v, want %s first", c.query, ids(hits), c.want)
		}
	}
}

func TestDatesOfTheQueryAreMetByWhatHappenedThen(t *testing.T) {
	t.Parallel()
	x := index(
		recall.Item{ID: "may7", Text: "Went climbing", OccurredAt: at("2023-05-07")},
		recall.Item{ID: "may20", Text: "Went climbing", OccurredAt: at("2023-05-20")},
		recall.Item{ID: "dec", Text: "Went climbing", OccurredAt: at("2024-12-24")},
		recall.Item{ID: "lastweek", Text: "Went climbing", OccurredAt: at("2025-06-11")},
		recall.Item{ID: "yesterday", Text: "Went climbing", OccurredAt: at("2025-06-17")},
		recall.Item{ID: "year22", Text: "Went climbing", OccurredAt: at("2022-03-03")},
	)
	for _, c := range []struct{ query, want string }{
		{"climbing on 7 May 2023", "may7"},
		{"climbing on May 7th", "may7"},
		{"climbing on the 7th of May", "may7"},
		{"climbing 2023-05-20", "may20"},
		{"climbing in December", "dec"},
		{"climbing on dec 24", "dec"},
		{"when did I go climbing last week", "lastweek"},
		{"climbing yesterday", "yesterday"},
		{"climbing in 2022", "year22"},
		{"climbing in March", "year22"},
		{"climbing on Tuesday", "yesterday"},
		{"climbing last Wednesday", "lastweek"},
		{"climbing a week ago", "lastweek"},
		{"climbing one day ago", "yesterday"},
		{"three years ago climbing", "year22"},
	} {
		hits := search(x, c.query)
		if len(hits) == 0 || hits[0].ID != c.want {
			t.Errorf("%q finds %v, want %s first", c.query, ids(hits), c.want)
		}
	}
	if hits := search(x, "What happened in May 2023?"); len(hits) < 2 || !strings.HasPrefix(hits[0].ID, "may") || !strings.HasPrefix(hits[1].ID, "may") {
		t.Errorf("a month alone finds %v", ids(hits))
	}
	if hits := search(x, "May I march?"); len(hits) != 0 {
		t.Errorf("words that are months elsewhere find %v", ids(hits))
	}
}

func TestWhatIsNotThenIsNotFound(t *testing.T) {
	t.Parallel()
	x := index(
		recall.Item{ID: "plain", Text: "blue door"},
		recall.Item{ID: "expired", Text: "blue door", ExpiresAt: &now},
		recall.Item{ID: "superseded", Text: "blue door", ValidTo: at("2025-01-01")},
		recall.Item{ID: "future", Text: "blue door", ValidFrom: at("2026-01-01")},
		recall.Item{ID: "old", Text: "blue door", CreatedAt: *at("2020-01-01"), ValidTo: at("2024-01-01")},
	)
	for _, c := range []struct {
		asOf time.Time
		want []string
	}{
		{time.Time{}, []string{"plain"}},
		{now, []string{"plain"}},
		{*at("2024-06-01"), []string{}},
		{*at("2023-01-01"), []string{"old"}},
		{*at("2024-01-01"), []string{}},
		{*at("2026-01-01"), []string{"future", "plain"}},
	} {
		got := ids(found(x, recall.Query{Text: "blue door", Limit: 10, Now: now, AsOf: c.asOf}))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("as of %s (-want +got):\n%s", c.asOf, diff)
		}
	}
}

func TestPinnedAndImportantComeFirstAmongEquals(t *testing.T) {
	t.Parallel()
	high := 0.9
	x := index(
		recall.Item{ID: "a", Text: "red car"}, recall.Item{ID: "b", Text: "red car", Importance: &high},
		recall.Item{ID: "c", Text: "red car", Pinned: true}, recall.Item{ID: "d", Text: "red car red car", Importance: new(float64)},
	)
	if diff := cmp.Diff([]string{"d", "c", "b", "a"}, ids(search(x, "red car"))); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestWordsThatAreAlikeHelpAndOthersDoNot(t *testing.T) {
	t.Parallel()
	x := facts("She has a violin from the harbour", "у неё новая скрипка", "the code is zqbdfgkmcq", "the code is zqbdfgkmgq", "order A1000-7731", "a cat named Tom")
	for _, c := range []struct{ query, want string }{
		{"harbours", "[m1]"},
		{"скрипке", "[m2]"},
		{"zqbdfgkmcq", "[m3]"},
		{"zqbdfgkmtq", "[]"},
		{"A1000-7732", "[m5]"},
		{"A1001", "[]"},
		{"pet", "[m6]"},
		{"dog", "[]"},
		{"feline", "[]"},
	} {
		w := recall.Chosen()
		w.Meaning = 0
		if got := fmt.Sprint(ids(found(x, recall.Query{Text: c.query, Limit: 10, Now: now, Weights: &w}))); got != c.want {
			t.Errorf("%q finds %s, want %s", c.query, got, c.want)
		}
	}
}

// byRelated are weights that compare words and related words alone.
var byRelated = recall.Weights{K1: 0.9, Kin: 0.8, FarKin: 0.4, Spare: 1}

func TestWordsRelatedToARelatedWordCountLess(t *testing.T) {
	t.Parallel()
	x := facts("a dog named Tom", "a beagle named Tom", "a hat named Tom")
	hits := found(x, recall.Query{Text: "pet", Limit: 10, Now: now, Weights: &byRelated})
	if fmt.Sprint(ids(hits)) != "[m1 m2]" || math.Abs(hits[1].Score/hits[0].Score-byRelated.FarKin/byRelated.Kin) > 1e-4 {
		t.Errorf("found %+v", hits)
	}
	w := byRelated
	w.FarKin = 0
	if hits := found(x, recall.Query{Text: "pet", Limit: 10, Now: now, Weights: &w}); fmt.Sprint(ids(hits)) != "[m1]" {
		t.Errorf("without words related to related ones, found %+v", hits)
	}
}

func TestTwoKindsOfOneThingAreNotRelated(t *testing.T) {
	t.Parallel()
	x := facts("an apple", "a pear", "a dog", "a cat", "a kitten", "her husband", "his wife", "a novel")
	for _, c := range []struct{ query, want string }{
		{"apple", "[m1]"},
		{"pear", "[m2]"},
		{"dog", "[m3]"},
		{"kitten", "[m5 m4]"},
		{"fruit", "[m1 m2]"},
		{"pet", "[m3 m4 m5]"},
		{"spouse", "[m6 m7]"},
	} {
		if got := fmt.Sprint(ids(found(x, recall.Query{Text: c.query, Limit: 10, Now: now, Weights: &byRelated}))); got != c.want {
			t.Errorf("%q finds %s, want %s", c.query, got, c.want)
		}
	}
}

// What a session is about can be said in related words.
func TestRelatedWordsCountForTheSession(t *testing.T) {
	t.Parallel()
	items := talk("s1", "2023-05-07", "Ann: We adopted a dog", "Bob: So it goes", "Ann: Indeed")
	items = append(items, talk("s2", "2023-06-07", "Ann: It rains.", "Bob: So it goes")...)
	w := byRelated
	w.Session = 0.6
	hits := found(index(items...), recall.Query{Text: "pet", Limit: 10, Now: now, Weights: &w, Explain: true})
	if fmt.Sprint(ids(hits)) != "[s1.1 s1.2 s1.3]" || hits[0].Why.Related == 0 || hits[1].Why.Session == 0 || hits[1].Score != hits[2].Score {
		t.Errorf("found %+v", hits)
	}
	whole := found(index(items...), recall.Query{Text: "dog", Limit: 10, Now: now, Weights: &w})
	if len(whole) != 3 || math.Abs(hits[1].Score/whole[1].Score-w.Kin) > 1e-4 {
		t.Errorf("for the word itself, found %+v; for a related one %+v", whole, hits)
	}
}

func TestOtherWordsForTheSameAreFound(t *testing.T) {
	t.Parallel()
	x := facts("Prefers tea to coffee.", "Allergic to penicillin.", "We moved to Lisbon last spring.", "Plays the cello in an orchestra.", "Works at a bank.")
	for _, c := range []struct{ query, want string }{
		{"What does she like to drink?", "m1"},
		{"any medication problems?", "m2"},
		{"When did they relocate?", "m3"},
		{"Is she a musician?", "m4"},
	} {
		hits := found(x, recall.Query{Text: c.query, Limit: 10, Now: now, Explain: true})
		if len(hits) == 0 || hits[0].ID != c.want || len(hits[0].Matched) != 0 {
			t.Errorf("%q finds %+v, want %s first", c.query, hits, c.want)
		}
	}
	for _, query := range []string{"zebra quantum", "spaceship", "volcano eruption"} {
		if hits := search(x, query); len(hits) != 0 {
			t.Errorf("%q finds %v", query, ids(hits))
		}
	}
}

// A single memory has no average to be nearer than, but it is found.
func TestASingleMemoryIsFoundByItsMeaning(t *testing.T) {
	t.Parallel()
	if hits := search(facts("Prefers tea to coffee."), "What does she like to drink?"); len(hits) != 1 {
		t.Errorf("found %v", ids(hits))
	}
}

func TestWithoutVectorsOnlyWordsCount(t *testing.T) {
	t.Parallel()
	x := recall.New(analyzer, nil, 0)
	x.Put(recall.Item{ID: "m1", Text: "Prefers tea to coffee."})
	if hits := search(x, "What does she sip?"); len(hits) != 0 {
		t.Errorf("found %v", ids(hits))
	}
	hits := found(x, recall.Query{Text: "tea", Limit: 10, Now: now, Explain: true})
	if len(hits) != 1 || hits[0].Why.Meaning != 0 {
		t.Errorf("found %+v", hits)
	}
}

func TestTurnsBeforeCountByTheirDistance(t *testing.T) {
	t.Parallel()
	w := recall.Weights{K1: 0.9, Reply: 0.5, Same: 0.25}
	for _, c := range []struct {
		turns string
		zebra int       // which of them contains the word
		want  []float64 // what each turn has of that one's score
	}{
		{"Ann: one|Bob: two|Ann: a zebra|Bob: four|Ann: five|Bob: six", 2, []float64{0, 0, 1, 0, 0.25, 0}},
		{"Ann: one|Bob: two|Ann: a zebra?|Bob: four|Ann: five|Bob: six", 2, []float64{0, 0, 1, 0.5, 0.25, 0}},
		{"Ann: one?|Bob: two|Ann: three|Bob: a zebra", 3, []float64{0, 0, 0, 1}},
		{"Ann: a zebra|Bob: two|Ann: three", 0, []float64{1, 0, 0.25}},
	} {
		items := talk("s", "2023-05-07", strings.Split(c.turns, "|")...)
		// Their IDs fall while the times rise: the times order them.
		for i := range items {
			items[i].ID = fmt.Sprint(9 - i)
		}
		got := make([]float64, 10)
		for _, h := range found(index(items...), recall.Query{Text: "zebra", Limit: 10, Now: now, Weights: &w}) {
			got[9-int(h.ID[0]-'0')] = h.Score
		}
		got = got[:len(items)]
		own := got[c.zebra]
		for i := range got {
			got[i] = math.Round(got[i]/own*1e4) / 1e4
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.turns, diff)
		}
	}
}

// An agent that stores both sides of a conversation, and answers from what it recalls, fills its memory with its own answers. They come
// after what the person said, and each of them only once.
func TestAnAgentsOwnAnswersDoNotHideWhatThePersonSaid(t *testing.T) {
	t.Parallel()
	x := recall.New(text.NewAnalyzer(), vectors.Builtin(), 0)
	n := 0
	say := func(speaker, said string) {
		n++
		at := now.Add(time.Duration(n) * time.Hour)
		x.Put(recall.Item{
			ID: fmt.Sprintf("%s %03d", speaker, n), Text: said, Speaker: speaker, Kind: "turn",
			SessionID: fmt.Sprint(n / 10), OccurredAt: &at, CreatedAt: at,
		})
	}
	ask := func(limit int) []recall.Hit {
		hits, err := x.Search(nil, recall.Query{Text: "What do I like to drink in the morning?", Limit: limit, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return hits
	}
	texts := map[string]string{}
	for turn := range 50 {
		switch {
		case turn == 2:
			say("Ada", "In the morning I like to drink black tea.")
		case turn == 25:
			say("Ada", "I have changed my mind: in the morning I like to drink coffee, and no tea.")
		case turn%3 == 0:
			hits := ask(1)
			say("Ada", "What do I like to drink in the morning?")
			answer := "I do not know what you like to drink in the morning."
			if len(hits) > 0 {
				answer = "You told me what you like to drink in the morning: " + texts[hits[0].ID]
			}
			say("assistant", answer)
			texts[fmt.Sprintf("assistant %03d", n)] = answer
			continue
		default:
			say("Ada", fmt.Sprintf("The train was %d minutes late again.", turn))
			say("assistant", "I am sorry to hear that.")
			continue
		}
		texts[fmt.Sprintf("Ada %03d", n)] = fmt.Sprint("statement ", turn)
	}
	hits := ask(8)
	var order []string
	seen := map[string]bool{}
	for _, h := range hits {
		order = append(order, h.ID)
		if said := texts[h.ID]; strings.HasPrefix(h.ID, "assistant") {
			if seen[said] {
				t.Errorf("%q was found twice", said)
			}
			seen[said] = true
		}
	}
	told := map[string]bool{}
	for _, id := range order[:min(2, len(order))] {
		told[texts[id]] = true
	}
	if !told["statement 2"] || !told["statement 25"] {
		t.Errorf("what the person said does not come first: %v", order)
	}
}

// Among memories with the same words, those that tell something come first, and small talk and questions come last.
func TestWhatTellsMoreIsPreferred(t *testing.T) {
	t.Parallel()
	for _, texts := range [][2]string{
		{"We bought the kettle in Lisbon", "Haha, nice kettle, thanks"},
		{"The kettle cost 40 pounds", "The kettle cost some pounds"},
		{"The kettle is broken.", "The kettle is broken?"},
		{"The kettle that Teresa repaired", "The kettle that neighbours repaired"},
		{"The kettle boils milk, water and soup", "The kettle"},
	} {
		w := recall.Chosen()
		w.K1, w.B, w.Meaning = 0, 0, 0 // all have the word once, and length does not count
		hits := found(facts(texts[1], texts[0]), recall.Query{Text: "kettle", Limit: 10, Now: now, Weights: &w, Explain: true})
		if len(hits) != 2 || hits[0].ID != "m2" || hits[0].Why.Worth <= hits[1].Why.Worth {
			t.Errorf("%q and %q: found %v", texts[0], texts[1], ids(hits))
		}
	}
}

// The kind of a text alone is no reason to find it.
func TestWorthAloneFindsNothing(t *testing.T) {
	t.Parallel()
	x := facts("We bought a house in Lisbon in May 2021 because Teresa works there")
	for _, query := range []string{"zeppelin", "when?", "how many zeppelins did Rosa see?"} {
		if hits := search(x, query); len(hits) != 0 {
			t.Errorf("%q finds %v", query, ids(hits))
		}
	}
}

func TestEqualOnesAreCutOffByTheirID(t *testing.T) {
	t.Parallel()
	var items []recall.Item
	for i := range 30 {
		items = append(items, recall.Item{ID: fmt.Sprintf("m%02d", 29-i), Text: "a yellow door", SessionID: fmt.Sprint(i)})
	}
	hits := found(index(items...), recall.Query{Text: "yellow door", Limit: 3, Now: now})
	if diff := cmp.Diff([]string{"m00", "m01", "m02"}, ids(hits)); diff != "" {
		t.Errorf("first of equals (-want +got):\n%s", diff)
	}
}

func TestAnAnswerOfTheKindAskedForIsPreferred(t *testing.T) {
	t.Parallel()
	x := index(
		recall.Item{ID: "a", Text: "Ann visited the museum with glee"}, recall.Item{ID: "b", Text: "Ann visited the museum last week"},
		recall.Item{ID: "c", Text: "Ann visited the museum with 14"},
	)
	for _, c := range []struct{ query, want string }{
		{"When was the museum visited?", "b"}, {"How many visited the museum?", "c"}, {"Who visited the museum?", "a"},
	} {
		w := recall.Chosen()
		w.Tells, w.Names, w.Number, w.Content, w.Meaning = 0, 0, 0, 0, 0
		if hits := found(x, recall.Query{Text: c.query, Limit: 10, Now: now, Weights: &w}); len(hits) != 3 || hits[0].ID != c.want {
			t.Errorf("%q finds %v, want %s first", c.query, ids(hits), c.want)
		}
	}
}

// What one agent stored has no part in what another one's recall finds, nor in its scores.
func TestOtherAgentsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	mine := []recall.Item{
		{ID: "m1", AgentID: "mine", Text: "Rosa saw a campfire", Speaker: "Bob"}, {ID: "m2", AgentID: "mine", Text: "the campsite was full"},
	}
	theirs := slices.Clone(mine)
	for i, word := range strings.Fields("camps camper campers campus campy camping campaign campari campo camped campion") {
		theirs = append(theirs, recall.Item{ID: fmt.Sprint("t", i), AgentID: "theirs", Text: word + " " + word + "a", Speaker: "Rosa"})
	}
	q := recall.Query{Text: "Did Rosa see the camp?", Limit: 10, Now: now, AgentID: "mine", Explain: true}
	if diff := cmp.Diff(found(index(mine...), q), found(index(theirs...), q)); diff != "" {
		t.Errorf("found alone and beside others (-alone +beside):\n%s", diff)
	}
}

func TestRelativeDatesAreSeenFromTheDayAsked(t *testing.T) {
	t.Parallel()
	days := []string{"2024-05-09", "2024-08-01", "2025-05-15", "2025-06-04", "2025-06-13", "2025-06-14", "2025-06-16", "2025-06-18", "2025-06-27", "2025-07-02"}
	var items []recall.Item
	for _, day := range days {
		items = append(items, recall.Item{ID: day, Text: "Went climbing", OccurredAt: at(day)})
	}
	x := index(items...)
	for _, c := range []struct{ query, want string }{
		{"climbing last month", "2025-05-15"},
		{"climbing last weekend", "2025-06-14"},
		{"climbing in the past year", "2024-05-09"},
		{"climbing last May", "2025-05-15"},
		{"climbing in may 2024", "2024-05-09"},
		{"climbing 2024-08", "2024-08-01"},
		{"last Friday, climbing", "2025-06-13"},
		{"climbing on friday", "2025-06-13"},
		{"climbing on Monday", "2025-06-16"},
		{"climbing today", "2025-06-18"},
		{"climbing next week", "2025-06-27"},
		{"climbing next month", "2025-07-02"},
		{"a couple of weeks ago climbing", "2025-06-04"},
		{"climbing two weeks ago", "2025-06-04"},
		{"climbing five days ago", "2025-06-13"},
		{"climbing last night", "2025-06-18"}, // nothing then, and people tell of it the day after
	} {
		hits := search(x, c.query)
		if len(hits) == 0 || hits[0].ID != c.want {
			t.Errorf("%q finds %v, want %s first", c.query, ids(hits), c.want)
		}
	}
	// The same question on another day.
	q := recall.Query{Text: "climbing last month", Limit: 1, Now: now, AsOf: *at("2025-07-20")}
	for i := range items {
		items[i].CreatedAt = *at("2020-01-01")
	}
	if got := ids(found(index(items...), q)); len(got) != 1 || got[0] != "2025-06-04" {
		t.Errorf("asked in July, last month finds %v", got)
	}
}

func TestOtherLanguagesAreStemmedAndTheirDatesRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, right, wrong string }{
		{"Welche Katzen hat sie?", "Sie hat eine Katze, die auf dem Sofa liegt.", "Sie hat einen Hund, der auf dem Sofa liegt."},
		{"Quels médicaments prend-elle ?", "Elle prend un médicament avec son repas du soir.", "Elle prend un café avec son repas du soir."},
		{"¿Qué gatos tiene?", "Ella tiene un gato que duerme en la cama.", "Ella tiene un perro que duerme en la cama."},
		{"Quali gatti ha?", "Lei ha un gatto che dorme sul letto con lei.", "Lei ha un cane che dorme sul letto con lei."},
		{"Que gatos tem ela?", "Ela tem um gato que dorme na cama com ela.", "Ela tem um rato que dorme na cama com ela."},
		{"Welke katten heeft ze?", "Ze heeft een kat die op de bank ligt.", "Ze heeft een hond die op de bank ligt."},
	} {
		if hits := search(facts(c.wrong, c.right), c.query); len(hits) == 0 || hits[0].ID != "m2" {
			t.Errorf("%q finds %v", c.query, ids(hits))
		}
	}
	for _, c := range []struct{ query, text string }{
		{"Was war im März 2023?", "Wir waren mit der Familie in den Bergen."},
		{"Que s'est-il passé en mars 2023 ?", "Nous étions à la montagne avec la famille."},
		{"¿Qué pasó en marzo de 2023?", "Estuvimos en la sierra con la familia."},
		{"Che cosa è successo a marzo del 2023?", "Siamo stati in montagna con la famiglia."},
		{"O que aconteceu em março de 2023?", "Nós fomos para a serra com a família."},
		{"Wat gebeurde er in maart 2023?", "We waren met de familie in de bergen."},
	} {
		x := index(recall.Item{ID: "then", Text: c.text, OccurredAt: at("2023-03-09")}, recall.Item{ID: "later", Text: c.text, OccurredAt: at("2024-08-09")})
		if hits := search(x, c.query); len(hits) == 0 || hits[0].ID != "then" {
			t.Errorf("%q finds %v", c.query, ids(hits))
		}
	}
}

// The language of a memory is that of its own words, so what one agent stored affects no score of another agent's memories.
func TestOtherAgentsLanguagesLeaveNoTrace(t *testing.T) {
	t.Parallel()
	mine := []recall.Item{
		{ID: "m1", AgentID: "mine", Text: "Cats"}, {ID: "m2", AgentID: "mine", Text: "She has a cat and likes it"}, {ID: "m3", AgentID: "mine", Text: "Katze"},
	}
	both := slices.Clone(mine)
	for i := range 60 {
		both = append(both, recall.Item{ID: fmt.Sprint("t", i), AgentID: "theirs", Text: "Ich habe eine Katze und sie schläft auf dem Sofa."})
	}
	for _, query := range []string{"Which cats has she?", "Hat sie Katzen?"} {
		q := recall.Query{Text: query, Limit: 10, Now: now, AgentID: "mine", Explain: true}
		if diff := cmp.Diff(found(index(mine...), q), found(index(both...), q)); diff != "" {
			t.Errorf("%q finds (-alone +beside others):\n%s", query, diff)
		}
	}
}

// A word that no memory contains finds memories with a word that is near to it, if there are more than a few.
func TestWordsThatNoMemoryContainsAreReplaced(t *testing.T) {
	t.Parallel()
	texts := []string{"Rosa brought her cello"}
	for len(texts) < 60 {
		texts = append(texts, fmt.Sprintf("They painted fence number %d on a Sunday", len(texts)))
	}
	related := func(texts []string, query string) (sum float64) {
		for _, h := range found(facts(texts...), recall.Query{Text: query, Limit: 100, Now: now, Explain: true}) {
			if h.ID == "m1" {
				sum = h.Why.Related
			}
		}
		return sum
	}
	const query = "violin"
	if related(texts, query) == 0 {
		t.Error("a cello is not related to a violin")
	}
	if got := related(texts[:10], query); got != 0 {
		t.Errorf("among ten memories, a cello has %v of a violin", got)
	}
	if got := related(append(slices.Clone(texts), "The violin is out of tune"), query); got != 0 {
		t.Errorf("a cello has %v of a violin that another memory contains", got)
	}
	if related(texts, "Which xqzzy is it?") != 0 {
		t.Error("an unknown word is replaced")
	}
}

// Tones distinguish Vietnamese words. A query that is typed without marks still finds them.
func TestVietnameseIsFoundWithAndWithoutItsMarks(t *testing.T) {
	t.Parallel()
	x := facts(
		"Tôi bán dừa ở chợ mỗi buổi sáng.",
		"Chị mua một quả dưa hấu ở đường Lê Lợi.",
		"Mẹ đưa tôi đến trường bằng xe đạp.",
		"She keeps a dua melon in the fridge.",
	)
	for q, want := range map[string][]string{
		"dừa":         {"m1", "m4"}, // in another language, marks do not count
		"quả dưa":     {"m2", "m4"},
		"dua":         {"m1", "m2", "m3", "m4"},
		"xe dap":      {"m3"},
		"duong le lo": {"m2"},
	} {
		hits, _ := x.Search(nil, recall.Query{Text: q, Limit: 10, Now: now})
		var ids []string
		for _, h := range hits {
			ids = append(ids, h.ID)
		}
		slices.Sort(ids)
		if !slices.Equal(ids, want) {
			t.Errorf("%q finds %v, want %v", q, ids, want)
		}
	}
}
