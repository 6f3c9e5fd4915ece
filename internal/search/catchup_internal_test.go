package search

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
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

func TestOnlyManyChangesAreBackgroundWork(t *testing.T) {
	t.Parallel()
	pieces := 0
	x := &Indexer{o: IndexerOptions{Background: func(_ context.Context, piece func() error) error {
		pieces++
		return piece()
	}}}
	to, err := index.Open("", index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	number := int64(0)
	apply := func(n, bytes int) {
		changes := make([]document.Change, n)
		for i := range changes {
			number++
			changes[i] = document.Change{Number: number, ID: fmt.Sprint(number), Document: &document.Document{Text: strings.Repeat("a ", bytes/2)}}
		}
		if last, err := x.apply(t.Context(), to, noSettings, changes, document.State{Change: number, Mark: 1}); err != nil || last != number {
			t.Fatalf("applied up to %d, want %d, %v", last, number, err)
		}
	}
	if apply(10, 1000); pieces != 0 {
		t.Errorf("a few changes were %d pieces", pieces)
	}
	if apply(1000, 2000); pieces != 2 { // of at most 1 MiB
		t.Errorf("an import of 2 MB was %d pieces, want 2", pieces)
	}
	if size := to.Size(); size.Docs != 1010 {
		t.Errorf("the index has %d documents", size.Docs)
	}
	if err := to.Close(); err != nil {
		t.Error(err)
	}
}
