package search_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"keepsake/internal/govern/auth"
	"keepsake/internal/search"
	"keepsake/internal/search/collection"
	"keepsake/internal/search/document"
	"keepsake/internal/testing/await"
)

// house puts n documents whose language no word tells.
func (b *bundle) houses(n int, name string) {
	b.t.Helper()
	for i := range n {
		b.put(fmt.Sprintf("%s%04d", name, i), document.Fields{Collection: name, Text: fmt.Sprintf("Häuser %d", i)})
	}
}

// found is how many documents of a collection have a word.
func (b *bundle) found(name, q string) int64 {
	b.t.Helper()
	return b.find(search.Request{Query: q, Collection: name, Prefix: search.PrefixFalse}).Total
}

func TestTheLanguageOfACollectionIsThatOfItsDocuments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.houses(20, "homes")
	b.houses(20, "other")
	b.put("english", document.Fields{Collection: "homes", Text: "Häuser", Language: "en"})
	if got := b.found("homes", "Haus"); got != 0 {
		t.Errorf("without a language, %d documents are found", got)
	}
	b.tune("homes", collection.Settings{Language: "de"})
	if got := b.found("homes", "Haus"); got != 20 {
		t.Errorf("in German, %d documents are found", got)
	}
	if got := b.found("other", "Haus"); got != 0 {
		t.Errorf("of another collection, %d documents are found", got)
	}
	b.houses(21, "homes")
	if got := b.found("homes", "Haus"); got != 21 {
		t.Errorf("after a write, %d documents are found", got)
	}
	if err := b.settings.Delete(t.Context(), &auth.Principal{WorkspaceID: workspace}, "homes", collection.Condition{}); err != nil {
		t.Fatal(err)
	}
	if got := b.found("homes", "Haus"); got != 0 {
		t.Errorf("with the settings removed, %d documents are found", got)
	}
}

// The index answers while many documents are indexed again, and goes on with that after a start.
func TestManyDocumentsAreIndexedAgainInTheBackground(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := open(t, dir, withFiles)
	lines := make([]document.Line, 1_500)
	for i := range lines {
		lines[i] = document.Line{Number: i + 1, ID: fmt.Sprintf("d%04d", i), Fields: document.Fields{Collection: "homes", Text: "Häuser"}}
	}
	next := func() (line document.Line, ok bool, err error) {
		if len(lines) == 0 {
			return line, false, nil
		}
		line, lines = lines[0], lines[1:]
		return line, true, nil
	}
	if _, err := first.documents.Import(t.Context(), workspace, next, document.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	first.tune("homes", collection.Settings{Language: "de"})
	if got := first.found("homes", "Häuser"); got != 1_500 {
		t.Errorf("meanwhile %d documents are found", got)
	}
	first.stop()
	second := open(t, dir, withFiles)
	await.Until(t, "all documents are indexed again", func() bool { return second.found("homes", "Haus") == 1_500 })
	await.Until(t, "none is left", func() bool { return second.indexer.State().Renewing == 0 })
	second.stop()
	third := open(t, dir, withFiles)
	if got := third.found("homes", "Haus"); got != 1_500 {
		t.Errorf("after a start %d documents are found", got)
	}
	if got := third.indexer.State().Renewed; got != 0 {
		t.Errorf("after a start %d documents are indexed again", got)
	}
}

func TestANewCollectionIsIndexedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.houses(5, "other")
	b.tune("homes", collection.Settings{Language: "de"})
	b.houses(5, "homes")
	if got := b.found("homes", "Haus"); got != 5 {
		t.Errorf("%d documents are found", got)
	}
	if got := b.indexer.State().Renewed; got != 0 {
		t.Errorf("%d documents are indexed again", got)
	}
}

func TestSettingsOfOtherProcessesCountForTheNextSearch(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	first, second := onPostgres(t, url, time.Minute), onPostgres(t, url, time.Minute)
	first.houses(3, "homes")
	for range 5 {
		for _, b := range []*bundle{first, second} {
			b.tune("homes", collection.Settings{Language: "de"})
			counts := []int64{first.found("homes", "Haus"), second.found("homes", "Haus")}
			b.tune("homes", collection.Settings{Language: "en"})
			counts = append(counts, first.found("homes", "Haus"), second.found("homes", "Haus"))
			if !slices.Equal(counts, []int64{3, 3, 0, 0}) {
				t.Fatalf("found %v", counts)
			}
		}
	}
}
