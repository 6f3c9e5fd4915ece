package memory_test

import (
	"fmt"
	"testing"

	"keepsake/internal/memory"
)

// The changes of a subject of many memories are read page by page. Every memory is found once, in its newest revision.
func TestAnIndexOfManyPagesHasEveryMemory(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		var first string
		for i := range 3 {
			list := make([]memory.Memory, 800)
			for j := range list {
				list[j] = say(fmt.Sprintf("\"Straße\"\t%d, bottle%d\n", i, j))
			}
			list[7].Text = fmt.Sprintf("The lighthouse of page%d", i)
			results, err := b.batch(t.Context(), anna, true, list...)
			noError(t, err)
			if first == "" {
				first = results[7].Memory.ID
			}
			b.create(t, say(fmt.Sprintf("A lighthouse alone%d", i)))
		}
		_, err := b.Changer.Change(t.Context(), anna, first, memory.Change{Text: memory.SetTo("The lighthouse that moved")}, nil)
		noError(t, err)
		b = recalling(b)
		found := map[string]bool{}
		for _, text := range texts(b.recall(t, anna, about("lighthouse"))) {
			if found[text] {
				t.Errorf("%q is found twice", text)
			}
			found[text] = true
		}
		for _, text := range []string{
			"The lighthouse that moved", "The lighthouse of page1", "The lighthouse of page2",
			"A lighthouse alone0", "A lighthouse alone1", "A lighthouse alone2",
		} {
			if !found[text] {
				t.Errorf("%q is not found", text)
			}
		}
		if len(found) != 6 {
			t.Errorf("found %v", found)
		}
	})
}
