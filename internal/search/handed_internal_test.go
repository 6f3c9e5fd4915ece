package search

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"keepsake/internal/search/document"
)

// Whatever is handed over, and however the index reads the rest, it takes each change at most once, in order and without a gap.
func TestHandedChangesFollowThePosition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		var h handed
		committed, position := int64(0), int64(0)
		marks := map[int64]int64{} // by change
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			switch rapid.IntRange(0, 4).Draw(r, "step") {
			case 0, 1: // a chunk, of which a document can be missing, as after two of the same
				var chunk []*document.Document
				missing := rapid.IntRange(0, 20).Draw(r, "missing")
				for i := range rapid.IntRange(1, 5).Draw(r, "documents") {
					if committed++; i != missing {
						chunk = append(chunk, &document.Document{ID: fmt.Sprint(committed), Text: strings.Repeat("x", 1<<rapid.IntRange(0, 20).Draw(r, "size")), Change: committed})
					}
				}
				if len(chunk) > 0 {
					mark := committed * 7
					for _, d := range chunk {
						marks[d.Change] = mark
					}
					h.add(chunk, mark)
				}
			case 2: // a change of another request
				committed++
			default:
				limit := rapid.IntRange(1, 9).Draw(r, "limit")
				taken, of := h.take(position, limit)
				if len(taken) > limit || position+int64(len(taken)) > committed {
					r.Fatalf("took %d changes after %d of %d, at most %d", len(taken), position, committed, limit)
				}
				for i := range taken {
					if position++; taken[i].Number != position || taken[i].ID != fmt.Sprint(position) || taken[i].Document == nil {
						r.Fatalf("after %d it took %+v", position-1, taken[i])
					}
				}
				if n := len(taken); n > 0 && of != (document.State{Change: position, Mark: marks[position]}) {
					r.Fatalf("what it took up to %d is of %+v, want the mark %d", position, of, marks[position])
				}
				if len(taken) == 0 {
					position = min(committed, position+int64(limit)) // read from the source
				}
			}
			if h.bytes < 0 || h.bytes > maxHanded {
				r.Fatalf("%d bytes wait", h.bytes)
			}
		}
		if h.take(committed, 1); h.bytes != 0 || h.changes != nil {
			r.Fatalf("%d bytes and %d changes are left", h.bytes, len(h.changes))
		}
	})
}
