package search

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	bleveindex "github.com/blevesearch/bleve_index_api"

	"keepsake/internal/await"
	"keepsake/internal/document"
	"keepsake/internal/text"
)

func openTestIndex(t *testing.T) *workspaceIndex {
	t.Helper()
	queue := bleveindex.NewAnalysisQueue(1)
	x, err := openIndex(t.TempDir()+"/wsp", queue)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.close(); err != nil {
			t.Error(err)
		}
		queue.Close()
	})
	return x
}

func textChange(number int64, id, title, body string) document.Change {
	return document.Change{Number: number, ID: id, Document: &document.Document{
		ID: id, Title: title, Text: body, Change: number, UpdatedAt: time.UnixMilli(number),
	}}
}

// The statistics that ranking depends on are those of the documents that are there, however they came to be.
func TestStatisticsAreTrue(t *testing.T) {
	t.Parallel()
	x := openTestIndex(t)
	a := text.NewAnalyzer()
	lengths := map[string]size{}
	number := int64(0)
	rapid.Check(t, func(t *rapid.T) {
		batch := map[string]document.Change{}
		var changes []document.Change
		for range rapid.IntRange(1, 6).Draw(t, "changes") {
			id := fmt.Sprintf("d%d", rapid.IntRange(0, 9).Draw(t, "id"))
			if _, twice := batch[id]; twice {
				continue // a store gives the latest change of a document only
			}
			number++
			words := size{rapid.Int64Range(0, 3).Draw(t, "title"), rapid.Int64Range(0, 9).Draw(t, "text")}
			c := textChange(number, id, strings.Repeat("word ", int(words.title)), strings.Repeat("other word ", int(words.text)))
			if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				c.Document = nil
				delete(lengths, id)
			} else {
				lengths[id] = size{words.title, 2 * words.text}
			}
			batch[id] = c
			changes = append(changes, c)
		}
		if _, err := x.apply(a, changes); err != nil {
			t.Fatal(err)
		}
		v, err := x.view()
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		want := state{Layout: layoutVersion, Change: number}
		for _, l := range lengths {
			want.add(l, 1)
		}
		if v.state != want {
			t.Fatalf("state is %+v, want %+v", v.state, want)
		}
		if n, err := v.DocCount(); err != nil || int64(n) != want.Documents {
			t.Fatalf("the index counts %d documents, %v, want %d", n, err, want.Documents)
		}
	})
}

// Scores are those of BM25 with the average over all words, which the library would take over distinct ones.
func TestScoresAreThoseOfTheFormula(t *testing.T) {
	t.Parallel()
	x := openTestIndex(t)
	a := text.NewAnalyzer()
	_, err := x.apply(a, []document.Change{
		textChange(1, "a", "", "fox fox fox dog"),
		textChange(2, "b", "", "fox"),
		textChange(3, "c", "", "dog dog dog dog dog dog dog"),
	})
	if err != nil {
		t.Fatal(err)
	}
	v, err := x.view()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	o := newReaders(t.Context(), nil, v, query{})
	defer o.close()
	w, _, err := openWord(o, newRanking(v.state, nil), text.Token{Term: "fox", Word: "fox"}, false)
	if err != nil {
		t.Fatal(err)
	}
	scores := map[string]float64{}
	for target := uint64(0); ; {
		doc, err := w.seek(target)
		if err != nil {
			t.Fatal(err)
		}
		if doc == noMore {
			break
		}
		id, err := v.ExternalID(bleveindex.NewIndexInternalID(nil, doc))
		if err != nil {
			t.Fatal(err)
		}
		scores[id], target = w.score(), doc+1
	}
	idf, average := math.Log(1+1.5/2.5), 12.0/3
	for id, count := range map[string][2]float64{"a": {3, 4}, "b": {1, 1}} {
		want := idf * count[0] * 2.2 / (count[0] + 1.2*(0.25+0.75*count[1]/average))
		if math.Abs(scores[id]-want) > 1e-9 {
			t.Errorf("score of %s is %v, want %v", id, scores[id], want)
		}
	}
	if len(scores) != 2 {
		t.Errorf("scores are %v", scores)
	}
}

// The library reads the file that names the others through memory that it maps: what lies behind the end of one that was
// cut off is a fault, wherever the pages lie that it needs.
func TestAnIndexIsMadeAnewWhereverItsFileEnds(t *testing.T) {
	t.Parallel()
	queue := bleveindex.NewAnalysisQueue(1)
	t.Cleanup(queue.Close)
	dir, kept := t.TempDir()+"/wsp", t.TempDir()
	x, err := openIndex(dir, queue)
	noError(t, err)
	a := text.NewAnalyzer()
	for n := range int64(4) { // each takes other pages
		_, err := x.apply(a, []document.Change{textChange(n+1, fmt.Sprint("d", n), "", "word")})
		noError(t, err)
		await.Until(t, "the batch is on disk", func() bool { return x.unwritten.Load() == 0 })
	}
	noError(t, x.close())
	noError(t, os.CopyFS(kept, os.DirFS(dir)))
	info, err := os.Stat(kept + "/root.bolt")
	noError(t, err)
	const page = 4096
	anew := 0
	for size := int64(0); size <= info.Size(); size += page {
		noError(t, os.RemoveAll(dir))
		noError(t, os.CopyFS(dir, os.DirFS(kept)))
		noError(t, os.Truncate(dir+"/root.bolt", size))
		f := &folder{dir: dir}
		rebuilt, err := f.open(queue)
		if err != nil {
			t.Fatalf("with %d bytes: %v", size, err)
		}
		if rebuilt != nil {
			anew++
		}
		if change := f.position.Load(); change < 0 || change > 4 || size == info.Size() && change != 4 {
			t.Errorf("with %d bytes it holds up to change %d", size, change)
		}
		noError(t, f.closeIndex())
	}
	if anew == 0 {
		t.Error("it was never made anew")
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTimesSortAsTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, two := rapid.Int64Range(0, 1<<52).Draw(t, "one"), rapid.Int64Range(0, 1<<52).Draw(t, "two")
		first, second := sortableTime(time.UnixMicro(one)), sortableTime(time.UnixMicro(two))
		if (first < second) != (one < two) {
			t.Fatalf("%d is %s, %d is %s", one, first, two, second)
		}
	})
}
