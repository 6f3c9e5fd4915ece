package document_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"keepsake/internal/base/field"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/search/document"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
)

const workspace = "wsp_one"

type bundle struct {
	*document.Service
	store   *store.Store
	max     *int64
	clock   time.Time
	changes []int64 // heard of after commits
	stored  []int64 // changes of imports
	pace    func(change int64) error
}

func setup(t *testing.T, units func(unit.Runner) unit.Runner) *bundle {
	t.Helper()
	return setupWith(t, func(o *document.Options) {
		if units != nil {
			o.Units = units(o.Units)
		}
	})
}

func setupWith(t *testing.T, change func(o *document.Options)) *bundle {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: sqlitetest.Dir(t), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &bundle{store: store.New(engine), clock: time.Date(2026, 11, 21, 12, 0, 0, 123_456_789, time.UTC)}
	made := 0
	o := document.Options{
		Store: b.store.Documents, Units: b.store, Now: func() time.Time { return b.clock },
		Max:      func(string) *int64 { return b.max },
		MaxBytes: func(string) *int64 { return nil },
		Changed:  func(_ string, number int64) { b.changes = append(b.changes, number) },
		NewID:    func() string { made++; return fmt.Sprintf("doc_%d", made) },
		Stored: func(_ string, list []*document.Document, _ int64) {
			b.stored = append(b.stored, list[len(list)-1].Change)
		},
		Pace: func(_ context.Context, _ string, change int64) error {
			if b.pace == nil {
				return nil
			}
			return b.pace(change)
		},
	}
	change(&o)
	b.Service = document.NewService(o)
	return b
}

func lines(list ...document.Line) document.Lines {
	i := 0
	return func() (document.Line, bool, error) {
		if i == len(list) {
			return document.Line{}, false, nil
		}
		i++
		line := list[i-1]
		line.Number = i
		return line, true, nil
	}
}

func codeOf(err error) string {
	var p *problem.Problem
	if errors.As(err, &p) {
		return p.Code
	}
	return fmt.Sprint(err)
}

func TestWhatIsAnsweredIsWhatIsReadBack(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	put, created, err := b.Put(t.Context(), workspace, "a", document.Fields{
		Title: "one", Text: "two", URL: "https://example.org", Tags: []string{"y", "x", "y"}, Metadata: map[string]any{"n": 2.5, "b": true, "s": "ž"},
	}, document.Condition{})
	if err != nil || !created {
		t.Fatal(created, err)
	}
	read, err := b.Document(t.Context(), workspace, "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(put, read); diff != "" {
		t.Errorf("answered and read (-put +read):\n%s", diff)
	}
	if read.UpdatedAt.Nanosecond() != 123_000_000 {
		t.Errorf("kept to %d ns", read.UpdatedAt.Nanosecond())
	}
}

func TestEveryCommittedChangeIsHeardOfOnce(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	ctx := t.Context()
	put := func(id string) {
		t.Helper()
		if _, _, err := b.Put(ctx, workspace, id, document.Fields{Text: "x"}, document.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	put("a")
	put("b")
	if _, err := b.Create(ctx, workspace, "a", document.Fields{Text: "x"}); codeOf(err) != problem.CodeConflict {
		t.Errorf("create a again: %v", err)
	}
	if err := b.Delete(ctx, workspace, "a", nil); err != nil {
		t.Fatal(err)
	}
	if err := b.Delete(ctx, workspace, "a", nil); codeOf(err) != problem.CodeNotFound {
		t.Errorf("delete a again: %v", err)
	}
	if _, err := b.Import(ctx, workspace, lines(short(600)...), document.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{1, 2, 0, 3 + 600}, b.changes); diff != "" {
		t.Errorf("heard of (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int64{3 + 256, 3 + 512, 3 + 600}, b.stored); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
	failed := errors.New("the rest of the unit fails")
	err := b.store.Run(ctx, func(ctx context.Context) error {
		if _, _, err := b.Put(ctx, workspace, "c", document.Fields{Text: "x"}, document.Condition{}); err != nil {
			return err
		}
		return failed
	})
	if !errors.Is(err, failed) || len(b.changes) != 4 {
		t.Errorf("a unit that failed with %v was heard of: %v", err, b.changes[4:])
	}
}

// rerunner runs every unit twice, as an engine may whose first try was in vain.
type rerunner struct{ unit.Runner }

var errAgain = errors.New("run again")

func (r rerunner) Run(ctx context.Context, fn func(context.Context) error) error {
	err := r.Runner.Run(ctx, func(ctx context.Context) error {
		if err := fn(ctx); err != nil {
			return err
		}
		return errAgain
	})
	if !errors.Is(err, errAgain) {
		return err
	}
	return r.Runner.Run(ctx, fn)
}

func TestAnImportCountsTheRunThatCounts(t *testing.T) {
	t.Parallel()
	b := setup(t, func(r unit.Runner) unit.Runner { return rerunner{r} })
	b.max = new(int64(2))
	got, err := b.Import(t.Context(), workspace, lines(
		document.Line{ID: "a", Fields: document.Fields{Text: "x"}},
		document.Line{ID: "a", Fields: document.Fields{Text: "y"}},
		document.Line{ID: "b", Fields: document.Fields{Text: "x"}},
		document.Line{ID: "c", Fields: document.Fields{Text: "x"}},
		document.Line{Err: problem.Validation("text", problem.Type, "text must be a string.")},
	), document.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := document.Imported{Received: 5, Created: 2, Replaced: 1, Failures: field.Failures{Failed: 2, Errors: []field.LineError{
		{Line: 4, Field: "documents", Issue: "not_allowed", Message: "The workspace has reached the number of documents that its tier allows."},
		{Line: 5, Field: "text", Issue: "type", Message: "text must be a string."},
	}}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(field.Failures{})); diff != "" {
		t.Errorf("import (-want +got):\n%s", diff)
	}
}

func TestAnImportWhoseBodyBreaksKeepsItsChunks(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	broken := problem.Validation("body", problem.Format, "The body broke off.")
	n := 0
	_, err := b.Import(t.Context(), workspace, func() (document.Line, bool, error) {
		if n == 300 {
			return document.Line{}, false, broken
		}
		n++
		return document.Line{Number: n, ID: fmt.Sprint(n), Fields: document.Fields{Text: "x"}}, true, nil
	}, document.ImportOptions{})
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want what the body failed with", err)
	}
	if told, ok := problem.As(err); !ok || !strings.Contains(told.Message, "The 256 lines before") {
		t.Errorf("the client is told %v, want how much was stored", told)
	}
	for id, want := range map[string]bool{"1": true, "256": true, "257": false} {
		if _, err := b.Document(t.Context(), workspace, id); (err == nil) != want {
			t.Errorf("document %s: %v, want it there: %v", id, err, want)
		}
	}
}

func TestAnImportGoesAtTheIndexsPace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want []int64
	}{"Follows": {nil, []int64{0, 2048}}, "GivesUp": {context.DeadlineExceeded, []int64{0}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, nil)
			var awaited []int64
			b.pace = func(change int64) error { awaited = append(awaited, change); return c.err }
			got, err := b.Import(t.Context(), workspace, lines(short(4200)...), document.ImportOptions{})
			if err != nil || got.Created != 4200 {
				t.Fatalf("imported %+v, %v", got, err)
			}
			if !slices.Equal(awaited, c.want) {
				t.Errorf("waited for the changes %v, want %v", awaited, c.want)
			}
			if want := []int64{2048, 4096, 4200}; !slices.Equal(b.changes, want) {
				t.Errorf("reported the changes %v, want %v", b.changes, want)
			}
			if want := 17; len(b.stored) != want || b.stored[0] != 256 || b.stored[16] != 4200 {
				t.Errorf("recorded the changes %v, want each of %d chunks", b.stored, want)
			}
		})
	}
}

func TestAnImportThatFailsReportsWhatItStored(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	all := lines(short(600)...)
	_, err := b.Import(t.Context(), workspace, func() (document.Line, bool, error) {
		line, ok, err := all()
		if line.Number == 600 {
			err = problem.Validation("body", problem.Format, "The body broke off.")
		}
		return line, ok, err
	}, document.ImportOptions{})
	if want := []int64{512}; err == nil || !slices.Equal(b.changes, want) {
		t.Errorf("reported the changes %v, want %v (error %v)", b.changes, want, err)
	}
}

// short returns lines with short documents.
func short(n int) []document.Line {
	list := make([]document.Line, n)
	for i := range list {
		list[i] = document.Line{ID: fmt.Sprint(i), Fields: document.Fields{Text: "x"}}
	}
	return list
}

func TestImportRunsItsTransactionsInTheBackground(t *testing.T) {
	t.Parallel()
	inside, outside := 0, 0
	running := false
	b := setupWith(t, func(o *document.Options) {
		o.Background = func(_ context.Context, piece func() error) error {
			running = true
			defer func() { running = false }()
			return piece()
		}
		count := func() {
			if running {
				inside++
			} else {
				outside++
			}
		}
		o.Stored = func(string, []*document.Document, int64) { count() }
		o.Changed = func(string, int64) { count() }
	})
	if _, err := b.Import(t.Context(), workspace, lines(short(600)...), document.ImportOptions{}); err != nil || inside != 3 || outside != 1 {
		t.Errorf("%d transactions were in the background, and %d reports followed, %v", inside, outside, err)
	}
	if _, _, err := b.Put(t.Context(), workspace, "one", document.Fields{Text: "x"}, document.Condition{}); err != nil || inside != 3 || outside != 2 {
		t.Errorf("a single write waits for the background: %d, %d, %v", inside, outside, err)
	}
}

// A chunk ends by bytes too, so that long documents do not pile up in memory or hold the writer for long.
func TestLongDocumentsMakeShortChunks(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	var list []document.Line
	for i := range 12 {
		list = append(list, document.Line{ID: fmt.Sprint(i), Fields: document.Fields{Text: strings.Repeat("x", document.MaxText)}})
	}
	if _, err := b.Import(t.Context(), workspace, lines(list...), document.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{4, 8, 12}, b.changes); diff != "" {
		t.Errorf("chunks ended at (-want +got):\n%s", diff)
	}
}

func TestAnotherWorkspacesDocumentIsNotThere(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	ctx := t.Context()
	if _, err := b.Create(ctx, workspace, "a", document.Fields{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	_, err := b.Document(ctx, "wsp_two", "a")
	_, absent := b.Document(ctx, "wsp_two", "never")
	if codeOf(err) != problem.CodeNotFound || err.Error() != absent.Error() {
		t.Errorf("another's document: %v; one that never was: %v", err, absent)
	}
	if err := b.Delete(ctx, "wsp_two", "a", nil); codeOf(err) != problem.CodeNotFound {
		t.Errorf("delete another's document: %v", err)
	}
	if _, err := b.Create(ctx, "wsp_two", "a", document.Fields{Text: "y"}); err != nil {
		t.Errorf("the same id in another workspace: %v", err)
	}
}

// No field, however odd, gets past the limits or comes back changed.
func TestFieldsAreKeptOrRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	rapid.Check(t, func(r *rapid.T) {
		f := document.Fields{
			Collection: rapid.StringN(0, 140, -1).Draw(r, "collection"), Title: rapid.String().Draw(r, "title"),
			Text: rapid.String().Draw(r, "text"), Tags: rapid.SliceOfNDistinct(rapid.StringN(0, 70, -1), 0, 34, rapid.ID).Draw(r, "tags"),
			Metadata: rapid.MapOfN(rapid.String(), rapid.OneOf(
				rapid.Map(rapid.String(), func(s string) any { return s }), rapid.Map(rapid.Bool(), func(v bool) any { return v }),
				rapid.Map(rapid.Float64Range(-1e300, 1e300), func(v float64) any { return v }),
			), 0, 34).Draw(r, "metadata"),
		}
		_, _, err := b.Put(t.Context(), workspace, "a", f, document.Condition{})
		var p *problem.Problem
		if errors.As(err, &p) && p.Kind == problem.Invalid && p.Details.Field != "" && p.Details.Issue != "" {
			return
		}
		if err != nil {
			r.Fatalf("put %+v: %v", f, err)
		}
		d, err := b.Document(t.Context(), workspace, "a")
		if err != nil {
			r.Fatal(err)
		}
		if f.Collection == "" {
			f.Collection = document.DefaultCollection
		}
		got := document.Fields{Collection: d.Collection, Title: d.Title, Text: d.Text, Tags: d.Tags, Metadata: d.Metadata}
		if f.Title+f.Text == "" || len(f.Tags) > document.MaxTags || len(f.Metadata) > document.MaxMetadata || !cmp.Equal(f, got, cmpopts.EquateEmpty()) {
			r.Fatalf("put %+v, read %+v", f, got)
		}
	})
}

// An import whose lines are all refused writes nothing that would tell it that its client has gone.
func TestAnImportEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	b := setup(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const gone, most = 1_000, 100_000
	read := 0
	_, err := b.Import(ctx, workspace, func() (document.Line, bool, error) {
		if read++; read == gone {
			cancel()
		}
		return document.Line{Number: read, Err: problem.Validation("body", problem.Format, "No.")}, read < most, nil
	}, document.ImportOptions{})
	if !errors.Is(err, context.Canceled) || read > gone+256 {
		t.Errorf("read %d lines after its client had gone, %v", read-gone, err)
	}
}
