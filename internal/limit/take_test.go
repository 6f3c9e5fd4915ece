package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Between its look and its charge a goroutine may be overtaken: here by others who use up one budget, or who are in the
// next window of one already.
func TestOvertakenChargeTakesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		workspace, key := account(10, 10, 10), account(10, 10, 10)
		Charge(noon, rapid.Int64Range(0, 5).Draw(t, "before"), workspace, key)
		cost := rapid.Int64Range(1, 5).Draw(t, "cost")

		var b budgets
		b.look(noon.Unix(), &workspace, &key)
		overtaken := &b.list[rapid.IntRange(0, budgetCount-1).Draw(t, "budget")]
		if rapid.Bool().Draw(t, "used up") {
			overtaken.counter.set(overtaken.window, 10-cost+1)
		} else {
			overtaken.counter.set(next(overtaken.window), 0)
		}
		before := words(&b)
		if b.take(cost) {
			t.Fatal("it was admitted")
		}
		if after := words(&b); after != before {
			t.Fatalf("it changed the counters from %x to %x", before, after)
		}
	})
}

func TestChargeThatNobodyOvertakesTakesFromAll(t *testing.T) {
	t.Parallel()
	workspace, key := account(10, 10, 10), account(10, 10, 10)
	Charge(noon.Add(-31*24*time.Hour), 9, workspace, key) // windows that give way
	var b budgets
	b.look(noon.Unix(), &workspace, &key)
	if !b.take(4) {
		t.Fatal("it was refused")
	}
	for i := range b.list {
		if got := used(b.list[i].counter.word.Load(), b.list[i].window); got != 4 || b.list[i].left != 6 {
			t.Errorf("budget %d: got %d used and %d left, want 4 and 6", i, got, b.list[i].left)
		}
	}
}

// words are the counters; one that was never used and one whose units were given back show the same.
func words(b *budgets) (w [budgetCount]uint64) {
	for i := range b.list {
		if word := b.list[i].counter.word.Load(); word&maxCount != 0 {
			w[i] = word
		}
	}
	return w
}
