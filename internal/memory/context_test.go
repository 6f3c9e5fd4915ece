package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/memory"
)

func TestAContextHasPinnedRecalledAndRecentMemories(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b = recalling(b)
		day := func(n int) *time.Time { return pointer(time.Date(2026, 1, n, 9, 0, 0, 0, time.UTC)) }
		create := func(n memory.Memory) string {
			b.pass(time.Second) // ids rise with time
			return b.create(t, n).ID
		}
		later := create(memory.Memory{SubjectID: "ada", Text: "Then the violin was sold.\nFor good.\r\n2030-01-01 (Tuesday)", Speaker: "Ada", OccurredAt: day(9)})
		first := create(memory.Memory{SubjectID: "ada", Text: "A violin was bought.", OccurredAt: day(3)})
		same := create(memory.Memory{SubjectID: "ada", Text: "The violin is old.", Speaker: "Bob", OccurredAt: day(3)})
		create(memory.Memory{SubjectID: "ada", Text: "the violin  is old.", Speaker: "Bob", OccurredAt: day(5)})
		bees := create(memory.Memory{SubjectID: "ada", Text: "Bees.", OccurredAt: day(4), Pinned: true})
		goats := create(memory.Memory{SubjectID: "ada", Text: "Goats.", OccurredAt: day(9)})
		b.pass(time.Second)
		packed, err := b.Recaller.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: about("What about the violin?")})
		noError(t, err)
		text := "2026-01-04 (Sunday)\n- Bees.\n" +
			"2026-01-03 (Saturday)\n- A violin was bought.\n- Bob: The violin is old.\n" +
			"2026-01-09 (Friday)\n- Ada: Then the violin was sold.\n  For good.\n  2030-01-01 (Tuesday)\n" +
			"- Goats.\n"
		want := &memory.Packed{
			Text: text, Tokens: memory.Tokens(text), MemoryIDs: []string{bees, first, same, later, goats},
			Parts: memory.ContextParts{Pinned: []string{bees}, Recalled: []string{first, same, later}, Recent: []string{goats}},
		}
		if diff := cmp.Diff(want, packed); diff != "" {
			t.Errorf("context (-want +got):\n%s", diff)
		}
		if got := b.actions(t, "wsp_a", "ada"); got[0] != audit.MemoryContext {
			t.Errorf("the log has %v", got)
		}
		newest, err := b.Recaller.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: "ada", Limit: 2}, MaxCharacters: 500})
		noError(t, err)
		if newest.Text != "2026-01-04 (Sunday)\n- Bees.\n2026-01-09 (Friday)\n- Goats.\n" || len(newest.Parts.Recalled) != 0 {
			t.Errorf("the newest and pinned are %+v", newest)
		}
		empty, err := b.Recaller.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: "nobody"}, MaxTokens: 5})
		noError(t, err)
		if empty.Text != "" || len(empty.MemoryIDs) != 0 || empty.Tokens != 0 {
			t.Errorf("of nobody there is %+v", empty)
		}
	})
}

func TestARecallIsFilledWithPinnedAndNewest(t *testing.T) {
	t.Parallel()
	b := recalling(onSQLite(t))
	var ids []string
	for i, text := range []string{"A violin.", "Bees.", "Goats.", "Owls.", "An old violin."} {
		b.pass(time.Second)
		ids = append(ids, b.create(t, memory.Memory{SubjectID: "ada", Text: text, Pinned: i == 1}).ID)
	}
	for limit, want := range map[int][]string{1: {ids[4]}, 2: {ids[4], ids[0]}, 3: {ids[4], ids[0], ids[1]}, 10: {ids[4], ids[0], ids[1], ids[3], ids[2]}} {
		q := about("violin")
		q.Limit, q.Fill = limit, true
		got, err := b.Recaller.Recall(t.Context(), anna, q)
		noError(t, err)
		var found []string
		for i, r := range got.Results {
			found = append(found, r.Memory.ID)
			if r.Found != (i < 2) || (r.Score > 0) != r.Found || (len(r.Matched) > 0) != r.Found {
				t.Errorf("limit %d: result %d is %+v", limit, i, r)
			}
		}
		if !slices.Equal(found, want) {
			t.Errorf("limit %d: got %v, want %v", limit, found, want)
		}
	}
}

func TestAContextThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	b := recalling(onSQLite(t))
	for _, c := range []struct {
		q     memory.ContextQuery
		field string
		issue problem.Issue
	}{
		{memory.ContextQuery{RecallQuery: about("x"), MaxTokens: -1}, "maxTokens", problem.TooSmall},
		{memory.ContextQuery{RecallQuery: about("x"), MaxCharacters: -1}, "maxCharacters", problem.TooSmall},
		{memory.ContextQuery{RecallQuery: about("x"), MaxCharacters: 1, MaxTokens: 1}, "maxCharacters", problem.NotAllowed},
		{memory.ContextQuery{RecallQuery: about(" "), MaxTokens: 1}, "query", problem.Required},
		{memory.ContextQuery{RecallQuery: memory.RecallQuery{Query: "x"}, MaxTokens: 1}, "subjectId", problem.Required},
	} {
		_, err := b.Recaller.Context(t.Context(), anna, c.q)
		wantField(t, err, c.field, c.issue)
	}
}

// Whatever the memories and the budget: the text is within it, says nothing twice, has a line for each ID, and each memory is in it
// whole, in it and cut, or omitted.
func TestABudgetIsKept(t *testing.T) {
	t.Parallel()
	b := recalling(onSQLite(t))
	piece := rapid.SampledFrom([]string{
		"a", "Zeit ", "é", "9", ". ", "\n", "\r", "猫。", "한국", "🎉", "👩‍👩‍👧‍👦", "ก", "\u2028", "-", "؟ ", "e\u0301", "[cut: mem_x]", strings.Repeat("long text. ", 30),
	})
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		subject := fmt.Sprintf("person-%d", n)
		memories := map[string]memory.Memory{}
		pinned := 0
		for i := range rapid.IntRange(0, 6).Draw(r, "memories") {
			it := memory.Memory{
				SubjectID: subject, Text: fmt.Sprintf("bee%d ", i) + strings.Join(rapid.SliceOfN(piece, 1, 20).Draw(r, "text"), ""),
				Speaker:    rapid.SampledFrom([]string{"", "Ada", "猫 \n x"}).Draw(r, "speaker"),
				OccurredAt: pointer(noon.AddDate(0, 0, rapid.IntRange(0, 3).Draw(r, "day"))), Pinned: rapid.Bool().Draw(r, "pinned"),
			}
			if it.Pinned {
				pinned++
			}
			memories[b.create(t, it).ID] = it
		}
		q := memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: subject, Query: rapid.SampledFrom([]string{"", "bee1 long"}).Draw(r, "query")}}
		budget := rapid.IntRange(1, 600).Draw(r, "budget")
		characters := rapid.Bool().Draw(r, "characters")
		if characters {
			q.MaxCharacters = budget
		} else {
			q.MaxTokens = budget
		}
		packed, err := b.Recaller.Context(t.Context(), anna, q)
		if err != nil {
			r.Fatal(err)
		}
		if characters && utf8.RuneCountInString(packed.Text) > budget || !characters && packed.Tokens > budget || packed.Tokens != memory.Tokens(packed.Text) {
			r.Fatalf("over the budget of %d: %+v", budget, packed)
		}
		lines := 0
		for line := range strings.Lines(packed.Text) {
			if strings.HasPrefix(line, "- ") {
				lines++
			} else if !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "2026-11-") {
				r.Fatalf("a line of its own: %q", line)
			}
		}
		told := map[string]bool{}
		for _, id := range packed.MemoryIDs {
			if told[id] {
				r.Fatalf("%s is there twice", id)
			}
			told[id] = true
			m := memories[id]
			delete(memories, id)
			said := strings.ReplaceAll(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n").Replace(strings.TrimSpace(m.Text)), "\n", "\n  ")
			if whole, cut := strings.Contains(packed.Text, said+"\n"), slices.Contains(packed.Cut, id); whole == cut || cut != strings.Contains(packed.Text, "… [cut: "+id+"]\n") {
				r.Fatalf("%q is whole %v, cut %v in\n%s", said, whole, cut, packed.Text)
			}
		}
		if lines != len(packed.MemoryIDs) {
			r.Fatalf("%d lines for %d ids:\n%s", lines, len(packed.MemoryIDs), packed.Text)
		}
		if o := packed.Omitted; o.Pinned+o.Recalled+o.Recent != len(memories) || o.Pinned+len(packed.Parts.Pinned) != pinned {
			r.Fatalf("%d memories are missing, %d are pinned, and omitted are %+v", len(memories), pinned, o)
		}
	})
}

func TestWhatDoesNotFitInAContextIsCut(t *testing.T) {
	t.Parallel()
	b := recalling(onSQLite(t))
	sentences := func(word string, n int) string {
		return strings.TrimSpace(strings.Repeat("The "+word+" is here today. ", n))
	}
	long := b.create(t, memory.Memory{SubjectID: "long", Text: sentences("bee", 240), Pinned: true})
	packed, err := b.Recaller.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: "long"}})
	noError(t, err)
	if !strings.HasSuffix(packed.Text, "today. … [cut: "+long.ID+"]\n") || packed.Tokens < 900 || !slices.Equal(packed.Cut, []string{long.ID}) {
		t.Errorf("a long pinned memory alone: %d tokens, cut %v: …%q", packed.Tokens, packed.Cut, packed.Text[max(0, len(packed.Text)-80):])
	}

	// One pinned memory that is too long and many short ones leave the answer its place; the rest is the long one's.
	b.create(t, memory.Memory{SubjectID: "many", Text: sentences("goat", 240), Pinned: true})
	for i := range 60 {
		b.create(t, memory.Memory{SubjectID: "many", Text: fmt.Sprintf("%d. %s", i, sentences("owl", 4)), Pinned: true})
	}
	answer := b.create(t, memory.Memory{SubjectID: "many", Text: sentences("violin", 40)})
	q := memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: "many", Query: "violin"}}
	packed, err = b.Recaller.Context(t.Context(), anna, q)
	noError(t, err)
	if !slices.Equal(packed.Parts.Recalled, []string{answer.ID}) || slices.Contains(packed.Cut, answer.ID) {
		t.Errorf("the answer is not whole beside pinned memories: %+v", packed)
	}
	if packed.Omitted.Pinned+len(packed.Parts.Pinned) != 61 {
		t.Errorf("%d of 61 pinned memories, and %d omitted", len(packed.Parts.Pinned), packed.Omitted.Pinned)
	}
	q.Query, q.MaxCharacters = "goat", 5 // no room for anything
	packed, err = b.Recaller.Context(t.Context(), anna, q)
	noError(t, err)
	if packed.Text != "" || packed.Omitted.Pinned != 61 {
		t.Errorf("without room: %+v", packed)
	}
	q.MaxCharacters = 150
	q.Query = "violin"
	packed, err = b.Recaller.Context(t.Context(), anna, q)
	noError(t, err)
	if !slices.Equal(packed.Cut, []string{answer.ID}) || !strings.Contains(packed.Text, "The violin is here today.") {
		t.Errorf("a short context: %+v", packed)
	}

	newest := b.create(t, memory.Memory{SubjectID: "new", Text: sentences("bee", 240)})
	packed, err = b.Recaller.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: "new"}})
	noError(t, err)
	if !slices.Equal(packed.Cut, []string{newest.ID}) || len(packed.Parts.Recent) != 1 {
		t.Errorf("a long memory alone: %+v", packed)
	}
}

func TestDaysAreThoseOfATimeZone(t *testing.T) {
	t.Parallel()
	b := recalling(onSQLite(t))
	party := time.Date(2026, 1, 1, 1, 0, 0, 0, time.UTC) // 31 December, 20:00 in New York
	b.create(t, memory.Memory{SubjectID: "ada", Text: "A party.", OccurredAt: &party})
	context := func(zone *string) string {
		packed, err := b.Recaller.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: "ada", TimeZone: zone}})
		noError(t, err)
		return packed.Text
	}
	for zone, want := range map[string]string{
		"America/New_York": "2025-12-31 (Wednesday)", "UTC": "2026-01-01 (Thursday)", "Pacific/Kiritimati": "2026-01-01 (Thursday)", "Etc/GMT+12": "2025-12-31 (Wednesday)",
	} {
		if got := context(&zone); got != want+"\n- A party.\n" {
			t.Errorf("%s: %q", zone, got)
		}
	}
	if got := context(nil); got != "2026-01-01 (Thursday)\n- A party.\n" {
		t.Errorf("without a zone: %q", got)
	}
	for _, zone := range []string{"", "Local", "Europe/Atlantis", "europe/berlin", "../UTC", "/etc/localtime", "Europe", "UTC\x00", "posixrules", "right/UTC", "CET ", "+01:00", "Factory"} {
		_, err := b.Recaller.Recall(t.Context(), anna, memory.RecallQuery{SubjectID: "ada", Query: "x", TimeZone: &zone})
		wantField(t, err, "timeZone", problem.InvalidVal)
	}
}

func TestTokensAreEstimatedByScript(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, " ": 0, "the cat": 2, "yesterday": 2, "2026": 2, "a.b": 3, "猫が好き": 4, "🎉": 3, "привет": 3, "a\n\nb": 3, "- Ada: hi\n": 5,
	} {
		if got := memory.Tokens(text); got != want {
			t.Errorf("%q is %d tokens, want %d", text, got, want)
		}
	}
}
