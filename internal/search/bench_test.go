package search_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"keepsake/internal/base/page"
	"keepsake/internal/search"
	"keepsake/internal/search/document"
)

// library is a source of n generated documents of about 120 words whose frequencies fall as those of a language do.
type library struct{ changes []document.Change }

func newLibrary(n int) *library {
	random := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(random, 1.1, 4, 50_000)
	l := &library{}
	for i := range n {
		words := make([]string, 60+random.IntN(120))
		for j := range words {
			words[j] = wordOf(zipf.Uint64())
		}
		id := fmt.Sprintf("d%06d", i)
		l.changes = append(l.changes, document.Change{Number: int64(i + 1), ID: id, Document: &document.Document{
			ID: id, Collection: "default", Title: strings.Join(words[:5], " "), Text: strings.Join(words, " "), UpdatedAt: time.UnixMilli(int64(i)),
		}})
	}
	return l
}

func wordOf(n uint64) string {
	const letters = "etaoinshrdlu"
	var b strings.Builder
	for n += 12; n > 0; n /= 12 {
		b.WriteByte(letters[n%12])
	}
	return b.String()
}

func (l *library) Documents(_ context.Context, _ string, ids []string) ([]document.Document, error) {
	var list []document.Document
	for _, id := range ids {
		var i int
		if _, err := fmt.Sscanf(id, "d%d", &i); err != nil {
			return nil, err
		}
		list = append(list, *l.changes[i].Document)
	}
	return list, nil
}

func (l *library) FollowDocuments(_ context.Context, _ string, f document.Following) ([]document.Change, document.State, error) {
	return l.changes[f.After:min(int(f.After)+f.Limit, len(l.changes))], l.state(), nil
}

func (l *library) DocumentState(context.Context, string) (document.State, error) {
	return l.state(), nil
}

func (l *library) HadDocumentState(context.Context, string, document.State) (bool, error) {
	return true, nil
}

func (l *library) state() document.State {
	return document.State{Change: int64(len(l.changes)), Mark: 1}
}

func (l *library) DocumentCount(context.Context, string) (int64, error) {
	return int64(len(l.changes)), nil
}

func (l *library) ChangedWorkspaces(context.Context) (map[string]document.State, error) {
	return map[string]document.State{workspace: l.state()}, nil
}

// indexed indexes the library and gives its search.
func indexed(b testing.TB, l *library) *search.Service {
	b.Helper()
	x := search.NewIndexer(search.IndexerOptions{
		Dir: b.TempDir(), Source: l, Log: slog.New(slog.DiscardHandler), Now: time.Now, Wait: time.Minute,
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- x.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if err := x.Close(); err != nil {
			b.Error(err)
		}
	})
	s := search.NewService(x, page.NewSealer([]byte("secret")), nil, time.Now)
	if _, err := s.Search(b.Context(), workspace, search.Request{Query: "x"}); err != nil {
		b.Fatal(err)
	}
	return s
}

func BenchmarkIndex(b *testing.B) {
	l := newLibrary(10_000)
	for b.Loop() {
		indexed(b, l)
	}
	b.ReportMetric(float64(b.N*len(l.changes))/b.Elapsed().Seconds(), "docs/s")
}

func BenchmarkSearch(b *testing.B) {
	s := indexed(b, newLibrary(50_000))
	rare, middle, common := wordOf(20_000), wordOf(500), wordOf(3)
	for name, q := range map[string]string{
		"OneRareWord":    rare,
		"ThreeWords":     strings.Join([]string{rare, middle, wordOf(700)}, " "),
		"CommonWord":     common,
		"SixCommonWords": strings.Join([]string{wordOf(1), wordOf(2), common, wordOf(4), wordOf(5), middle}, " "),
		"Phrase":         `"` + wordOf(1) + " " + wordOf(2) + `"`,
		"Excluded":       middle + " -" + common,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				answer, err := s.Search(b.Context(), workspace, search.Request{Query: q, Highlight: true})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(answer.Total), "found")
			}
		})
	}
}
