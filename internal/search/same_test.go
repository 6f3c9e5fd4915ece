package search_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/search"
	"keepsake/internal/search/document"
	"keepsake/internal/testing/testtier"
)

// elsewhere returns b's documents with a search of their own in OpenSearch, whose index has a number of shards.
func (b *bundle) elsewhere(shards int) *bundle {
	b.t.Helper()
	other := *b
	a := b.another(func(o *search.IndexerOptions) { o.Settings = b.store.Documents })
	a.SetElsewhere(newFollower(b.t, search.IndexerOptions{Source: b.store.Documents, Settings: b.store.Documents}, shards))
	other.search, other.indexer = a.Service, a.indexer
	return &other
}

// Whatever was written and deleted, a search in OpenSearch finds what one in an index of the program finds, with the same scores, in the
// same order, over all pages.
func TestOpenSearchFindsTheSame(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	testtier.Long(t, "starts OpenSearch")
	here := setup(t)
	there := []*bundle{here.elsewhere(1), here.elsewhere(3)}
	round := 0
	rapid.Check(t, func(r *rapid.T) {
		round++
		workspaceID := fmt.Sprintf("wsp_%d", round)
		writeInSomeOrder(t, r, here, workspaceID, drawDocuments(r), 0)
		for range 5 {
			q := drawRequest(r)
			want := pagesFrom(t, r, workspaceID, q, here)
			for _, there := range there {
				if diff := cmp.Diff(want, pagesFrom(t, r, workspaceID, q, there)); diff != "" {
					r.Fatalf("%+v (-here +OpenSearch):\n%s", q, diff)
				}
			}
		}
	})
}

// paragraphs returns the paragraphs of the guides and of the specification, which are about one thing each.
func paragraphs(t *testing.T) (list []string) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "node_modules" || d.Name() == "lib"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		for part := range strings.SplitSeq(string(text), "\n") {
			if len(wordsOf(part)) > 5 {
				list = append(list, part)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}

// typedQuery returns a query as people type it, about a text.
func typedQuery(r *rand.Rand, from string) search.Request {
	words := wordsOf(from)
	q := search.Request{Limit: 10, Repair: true, Prefix: search.PrefixAuto}
	var parts []string
	for range 1 + r.IntN(5) {
		word := words[r.IntN(len(words))]
		switch letters := []rune(word); {
		case r.IntN(8) == 0 && len(letters) > 4: // misspelled
			i := 1 + r.IntN(len(letters)-2)
			letters[i], letters[i+1] = letters[i+1], letters[i]
			word = string(letters)
		case r.IntN(8) == 0 && len(letters) > 3:
			word = string(letters[:len(letters)-1])
		case r.IntN(12) == 0:
			word = "-" + word
		}
		parts = append(parts, word)
	}
	if i := r.IntN(len(words)); r.IntN(6) == 0 && i+1 < len(words) {
		parts = append(parts, `"`+words[i]+" "+words[i+1]+`"`)
	}
	q.Query = strings.Join(parts, " ")
	q.Prefix = []search.Prefix{search.PrefixAuto, search.PrefixAuto, search.PrefixTrue, search.PrefixFalse}[r.IntN(4)]
	return q
}

// Of 500 queries about thousands of texts, the same documents are found. Their scores agree to the third digit, and of the first
// ten, ninety-nine in a hundred are the same.
func TestOpenSearchRanksTheSame(t *testing.T) {
	t.Parallel()
	ofThisProcess(t)
	testtier.Long(t, "starts OpenSearch")
	for _, shards := range []int{1, 3} {
		t.Run(fmt.Sprint(shards), func(t *testing.T) {
			t.Parallel()
			ranksTheSame(t, shards)
		})
	}
}

func ranksTheSame(t *testing.T, shards int) {
	t.Helper()
	here := setup(t)
	r := rand.New(rand.NewPCG(1, 2))
	texts := paragraphs(t)
	r.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	texts = texts[:min(len(texts), 3_000)]
	for i, text := range texts {
		title, _, _ := strings.Cut(text, ".")
		here.put(fmt.Sprintf("p%05d", i), document.Fields{Title: strings.ToValidUTF8(title[:min(len(title), 60)], ""), Text: text, Tags: []string{fmt.Sprint("t", i%7)}})
	}
	for i := range texts {
		if i%50 == 0 {
			if err := here.documents.Delete(t.Context(), workspace, fmt.Sprintf("p%05d", i), nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	there := here.elsewhere(shards)
	const queries = 500
	first, same, exact := 0, 0, 0
	for range queries {
		q := typedQuery(r, texts[r.IntN(len(texts))])
		if strings.Trim(q.Query, "- ") == "" {
			continue
		}
		want, got := here.find(q), there.find(q)
		if want.Total != got.Total || want.Suggestion != got.Suggestion {
			t.Errorf("%q: %d found here and %d there, suggestions %q and %q", q.Query, want.Total, got.Total, want.Suggestion, got.Suggestion)
		}
		ids := idsOf(got)
		if slices.Equal(ids, idsOf(want)) {
			exact++
		}
		for i, w := range want.Results {
			first++
			at := slices.Index(ids, w.Document.ID)
			if at < 0 {
				continue
			}
			same++
			if score := got.Results[at].Score; math.Abs(score-w.Score) > 0.0005*max(1, w.Score) {
				t.Errorf("%q: the score of result %d is %v here and %v there", q.Query, i+1, w.Score, score)
			}
		}
	}
	t.Logf("%d documents; %d of %d results are the same, and all of %d of %d queries in order", len(texts), same, first, exact, queries)
	if same*100 < first*99 {
		t.Errorf("only %d of %d results are the same", same, first)
	}
}
