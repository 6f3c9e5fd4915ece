package memory_test

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/audit"
	"keepsake/internal/memory"
	"keepsake/internal/problem"
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
		packed, err := b.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: about("What about the violin?")})
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
		newest, err := b.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: "ada", Limit: 2}, MaxCharacters: 500})
		noError(t, err)
		if newest.Text != "2026-01-04 (Sunday)\n- Bees.\n2026-01-09 (Friday)\n- Goats.\n" || len(newest.Parts.Recalled) != 0 {
			t.Errorf("the newest and pinned are %+v", newest)
		}
		empty, err := b.Context(t.Context(), anna, memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: "nobody"}, MaxTokens: 5})
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
		got, err := b.Recall(t.Context(), anna, q)
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
		_, err := b.Context(t.Context(), anna, c.q)
		wantField(t, err, c.field, c.issue)
	}
}

// Whatever the memories and the budget, the text is within it, says nothing twice and has a line for each id.
func TestABudgetIsKept(t *testing.T) {
	t.Parallel()
	b := recalling(onSQLite(t))
	text := rapid.StringOfN(rapid.RuneFrom([]rune("aZé9 .\n\r猫한🎉ก \u2028-")), 1, 60, -1)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		subject := "person-" + strings.Repeat("x", n%50) + string(rune('a'+n%26))
		for range rapid.IntRange(0, 6).Draw(r, "memories") {
			it := memory.Memory{
				SubjectID: subject, Text: "bee " + text.Draw(r, "text"), Speaker: rapid.SampledFrom([]string{"", "Ada", "猫 \n x"}).Draw(r, "speaker"),
				OccurredAt: pointer(noon.AddDate(0, 0, rapid.IntRange(0, 3).Draw(r, "day"))),
			}
			b.create(t, it)
		}
		q := memory.ContextQuery{RecallQuery: memory.RecallQuery{SubjectID: subject, Query: rapid.SampledFrom([]string{"", "bee"}).Draw(r, "query")}}
		budget := rapid.IntRange(1, 150).Draw(r, "budget")
		characters := rapid.Bool().Draw(r, "characters")
		if characters {
			q.MaxCharacters = budget
		} else {
			q.MaxTokens = budget
		}
		packed, err := b.Context(t.Context(), anna, q)
		if err != nil {
			r.Fatal(err)
		}
		if characters && utf8.RuneCountInString(packed.Text) > budget || !characters && packed.Tokens > budget || packed.Tokens != memory.Tokens(packed.Text) {
			r.Fatalf("over the budget of %d: %+v", budget, packed)
		}
		lines, told := 0, map[string]bool{}
		for line := range strings.Lines(packed.Text) {
			if strings.HasPrefix(line, "- ") {
				lines++
			} else if !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "2026-11-") {
				r.Fatalf("a line of its own: %q", line)
			}
		}
		for _, id := range packed.MemoryIDs {
			if told[id] {
				r.Fatalf("%s is there twice", id)
			}
			told[id] = true
		}
		if lines != len(packed.MemoryIDs) {
			r.Fatalf("%d lines for %d ids:\n%s", lines, len(packed.MemoryIDs), packed.Text)
		}
	})
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
