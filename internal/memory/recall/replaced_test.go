package recall_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"keepsake/internal/memory/recall"
)

// drinks are a memory that once said something else, and turns about it.
func drinks() []recall.Item {
	yesterday := now.Add(-24 * time.Hour)
	turn := func(id, speaker, text string, day int) recall.Item {
		said := yesterday.Add(time.Duration(day) * 24 * time.Hour)
		return recall.Item{ID: id, Kind: "turn", Speaker: speaker, Text: text, OccurredAt: &said, CreatedAt: said}
	}
	return []recall.Item{
		{
			ID: "fact", Kind: "preference", Text: "Prefers coffee since the summer.", CreatedAt: yesterday.Add(-time.Hour),
			UpdatedAt: yesterday, Replaced: []string{"Prefers tea."},
		},
		turn("repeats", "Ada", "As I said, I prefer tea, with milk.", -1),
		turn("assistant repeats", "assistant", "You told me that you prefer tea.", 0),
		turn("changed her mind", "Ada", "Now I prefer tea again.", 0),
		turn("both", "Ada", "I preferred tea before the summer, and prefer coffee since.", -1),
		turn("other", "Ada", "The tea shop is closed.", -1),
	}
}

func TestATurnThatRepeatsWhatWasReplacedIsDemoted(t *testing.T) {
	t.Parallel()
	demoted := []string{"repeats", "assistant repeats"}
	items := drinks()
	with := found(index(items...), recall.Query{Text: "does she prefer tea?", Limit: 10, Now: now, Explain: true})
	items[0].Replaced = nil
	scores := map[string]float64{}
	for _, h := range found(index(items...), recall.Query{Text: "does she prefer tea?", Limit: 10, Now: now, Explain: true}) {
		if scores[h.ID] = h.Score; slices.Contains(demoted, h.ID) {
			scores[h.ID] = (h.Score - h.Why.Worth) / 2
		}
	}
	if len(with) != len(items) {
		t.Fatalf("found %v", ids(with))
	}
	for _, h := range with {
		want, w := scores[h.ID], h.Why
		sum := w.Words + w.Related + w.Together + w.Neighbours + w.Session + w.Speaker + w.Date + w.Answer + w.Meaning + w.Worth
		if math.Abs(h.Score-want) > 1e-5 || math.Abs(sum-want) > 1e-5 {
			t.Errorf("%s has the score %v, whose parts add up to %v, want %v", h.ID, h.Score, sum, want)
		}
	}
}

// A memory that is not visible, or that did not yet say what it says now, demotes nothing.
func TestOnlyWhatIsVisibleDemotes(t *testing.T) {
	t.Parallel()
	score := func(x *recall.Index, q recall.Query) float64 {
		t.Helper()
		q.Text, q.Limit, q.Now = "does she prefer tea?", 10, now
		for _, h := range found(x, q) {
			if h.ID == "repeats" {
				return h.Score
			}
		}
		t.Fatal("the turn is not found")
		return 0
	}
	items := drinks()
	items[1].AgentID = "coach"
	x := index(items...)
	demoted, alone := score(x, recall.Query{}), score(x, recall.Query{AgentID: "coach"})
	if same := score(index(items[1]), recall.Query{}); alone != same {
		t.Errorf("with a memory of another agent, the score is %v, want %v", alone, same)
	}
	if then := score(x, recall.Query{AsOf: items[0].UpdatedAt.Add(-time.Minute)}); then <= demoted {
		t.Errorf("before the memory was replaced, the score is %v, and %v later", then, demoted)
	}
	x.Remove("fact")
	whole := score(x, recall.Query{})
	x.Put(items[0])
	for i := range 100 { // the index is compacted
		x.Put(recall.Item{ID: "gone", Text: fmt.Sprint("number ", i), CreatedAt: now})
	}
	x.Remove("gone")
	x.Compact()
	if again := score(x, recall.Query{}); whole <= again || math.Abs(again-demoted) > 1e-5 {
		t.Errorf("the score is %v without the memory, and %v when it is there again, want %v", whole, again, demoted)
	}
}

// A single word is in too many turns, and a revision that says the same and more replaces nothing.
func TestWhatStillHoldsIsNotDemoted(t *testing.T) {
	t.Parallel()
	for replaced, current := range map[string]string{
		"Tea": "Coffee", "Prefers tea.": "Prefers tea, and coffee on Sundays.", "She is.": "She was.",
	} {
		items := drinks()
		items[0].Text, items[0].Replaced = current, []string{replaced}
		with := found(index(items...), recall.Query{Text: "does she prefer tea?", Limit: 10, Now: now})
		items[0].Replaced = nil
		without := found(index(items...), recall.Query{Text: "does she prefer tea?", Limit: 10, Now: now})
		if fmt.Sprint(with) != fmt.Sprint(without) {
			t.Errorf("%q, now %q: found %v, without it %v", replaced, current, with, without)
		}
	}
}
