package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/text"
	"keepsake/internal/search/document"
	"keepsake/internal/search/index"
)

// snapshotOf returns an index of documents.
func snapshotOf(t *testing.T, documents ...*document.Document) *index.Snapshot {
	t.Helper()
	x, err := index.Open("", index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	changes := make([]document.Change, len(documents))
	for i, d := range documents {
		changes[i] = document.Change{Number: int64(i + 1), ID: fmt.Sprintf("d%05d", i), Document: d}
	}
	if err := x.Apply(changesOf(changes, noSettings)); err != nil {
		t.Fatal(err)
	}
	s := x.Snapshot()
	t.Cleanup(func() {
		s.Release()
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// ask searches a snapshot.
func ask(ctx context.Context, t *testing.T, s *index.Snapshot, r Request) (*index.Found, repair, error) {
	t.Helper()
	if r.Limit == 0 {
		r.Limit = 100
	}
	a := text.NewAnalyzer()
	l := &lookup{analyzer: a, query: parse(a, r.Query), request: &r}
	var shares *fairshare.Scheduler
	task := shares.Start(ctx, "wsp_one")
	defer task.End()
	found, err := l.find(task, &local{s})
	return found, l.repair, err
}

func idsOfHits(found *index.Found) []string {
	var ids []string
	for _, h := range found.Hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// checked counts how often it is checked, and has ended from the first check on.
type checked struct {
	context.Context
	checks int
}

func (c *checked) Err() error {
	c.checks++
	return context.Canceled
}

func TestASearchEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	documents := make([]*document.Document, 10_000)
	for i := range documents {
		documents[i] = &document.Document{Text: "a b c d e f g h i j k l m"}
	}
	s := snapshotOf(t, documents...)
	for _, q := range []string{"a b c d e f g h i j k l m", `"a b c d"`, "-x"} {
		gone := &checked{Context: t.Context()}
		if _, _, err := ask(gone, t, s, Request{Query: q}); q != "-x" && (!errors.Is(err, context.Canceled) || gone.checks != 1) {
			t.Errorf("%s: %v after %d checks", q, err, gone.checks)
		}
	}
}

// A filter finds what the comparison says, which lists of documents use.
func TestFiltersAgreeWithComparisons(t *testing.T) {
	t.Parallel()
	entries := []any{
		nil, "", "a", "b", "10", "9", "true", 9.0, 10.0, -1.5, 0.0, true, false,
		[]any{},
		[]any{"a", 9.0},
		[]any{"10", 10.0, "b"},
		[]any{true, "true", "z"},
		[]any{-1.5, 100.0},
	}
	documents := make([]*document.Document, len(entries))
	for i, entry := range entries {
		documents[i] = &document.Document{Text: "stone", Metadata: map[string]any{"other": "a"}}
		if entry != nil {
			documents[i].Metadata["k"] = entry
		}
	}
	s := snapshotOf(t, documents...)
	for _, op := range []document.Op{document.Equal, document.NotEqual, document.Less, document.LessOrEqual, document.Greater, document.GreaterOrEqual} {
		for _, value := range []string{
			"", "a", "aa", "10", "9.0", "09", "-0", "1e1", "true", "false", "NaN", "Inf", "9007199254740993", "-9007199254740993", "9007199254740992",
			"1e400", "-1e400", "1e-400", "-1e-400",
		} {
			c := document.Compare("k", op, value)
			var want []string
			for i, d := range documents {
				if c.Matches(d.Metadata) {
					want = append(want, fmt.Sprintf("d%05d", i))
				}
			}
			found, _, err := ask(t.Context(), t, s, Request{Query: "stone", Metadata: []document.Comparison{c}})
			if err != nil {
				t.Fatal(err)
			}
			if got := idsOfHits(found); !slices.Equal(got, want) {
				t.Errorf("k:%s:%s found %v, want %v", op, value, got, want)
			}
		}
	}
}

func TestMisspelledWordsAreRepaired(t *testing.T) {
	t.Parallel()
	s := snapshotOf(t,
		&document.Document{Collection: "a", Text: "the harbour lantern"},
		&document.Document{Collection: "a", Text: "a harbour, and another harbour"},
		&document.Document{Collection: "b", Text: "a lantern of the lighthouse"},
		&document.Document{Collection: "b", Text: "harbor and anchor"},
		&document.Document{Collection: "b", Text: "form 2048"},
	)
	for _, c := range []struct {
		query      string
		collection string
		want       string
		suggestion string
	}{
		{"harbuor", "", "d00001 d00000 d00003", "harbour"},
		{"harbuor", "b", "d00003", "harbor"},
		{"Harbuor  LANTERM!", "", "d00000 d00001 d00003 d00002", "harbour  lantern!"},
		{"lantern harbuor", "", "d00000 d00002 d00001 d00003", "lantern harbour"},
		{"lantren", "a", "d00000", "lantern"},
		{"lighthuose", "", "d00002", "lighthouse"},
		{"liahthuosx", "", "", ""},
		{"harbour", "", "d00001 d00000", ""},
		{"the anchar", "", "d00003 d00000 d00002", "the anchor"},
		{"2049", "", "", ""},
		{"frm", "", "", ""},
		{"form", "", "d00004", ""},
		{`"harbuor"`, "", "", ""},
		{"-harbuor anchor", "", "d00003", ""},
	} {
		found, repaired, err := ask(t.Context(), t, s, Request{Query: c.query, Collection: c.collection, Repair: true})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(idsOfHits(found), " "); got != c.want || repaired.suggestion != c.suggestion {
			t.Errorf("%s of %q: found %q and suggests %q, want %q and %q", c.query, c.collection, got, repaired.suggestion, c.want, c.suggestion)
		}
	}
}

// In scripts without spaces, a text with the characters of the query next to each other ranks before one that has them apart,
// and one with more of them before one with fewer.
func TestNeighboursRankFirstInScriptsWithoutSpaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ script, query, best, second, last string }{
		{"Chinese", "北京大学", "他在北京大学读书", "北京的大学很多", "大家好，学生们"},
		{"Japanese", "東京都庁", "東京都庁は新宿にあります", "京都庁舎の東側", "都の東にある京"},
		{"Thai", "ภาษาไทย", "ฉันเรียนภาษาไทยทุกวัน", "ภาษาอังกฤษยากกว่า", "ประเทศ"},
		{"Korean", "한국어", "한국어를 배웁니다", "한국 사람", "어느 나라"},
	} {
		t.Run(c.script, func(t *testing.T) {
			t.Parallel()
			fill := func(s string) *document.Document { return &document.Document{Text: s} }
			s := snapshotOf(t, fill(c.last), fill(c.second), fill(c.best), fill("nothing of it"))
			found, _, err := ask(t.Context(), t, s, Request{Query: c.query})
			if err != nil {
				t.Fatal(err)
			}
			ids := idsOfHits(found)
			if len(ids) < 2 || ids[0] != "d00002" || ids[1] != "d00001" {
				t.Errorf("%s: found %v, want d00002 and d00001 first", c.query, ids)
			}
		})
	}
}
