package search

import (
	"strings"
	"testing"

	"keepsake/internal/document"
)

func TestLongDocumentsAreIndexedAFewAtATime(t *testing.T) {
	t.Parallel()
	change := func(bytes int) document.Change {
		return document.Change{Document: &document.Document{Text: strings.Repeat("a", bytes)}}
	}
	all := []document.Change{change(3), change(3), {}, change(5), change(20), change(1), change(9)}
	var sizes []int
	for rest := all; len(rest) > 0; {
		var some []document.Change
		some, rest = cut(rest, 10)
		sizes = append(sizes, len(some))
	}
	want := []int{3, 1, 1, 2} // 6 bytes and a deletion; 5; 20, which is more than may be; 10
	if len(sizes) != len(want) {
		t.Fatalf("got %v, want %v", sizes, want)
	}
	for i := range want {
		if sizes[i] != want[i] {
			t.Errorf("got %v, want %v", sizes, want)
		}
	}
}
