package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/base/field"
	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
)

func lines(list ...memory.ImportLine) memory.Lines {
	i := 0
	return func() (memory.ImportLine, bool, error) {
		if i == len(list) {
			return memory.ImportLine{}, false, nil
		}
		i++
		line := list[i-1]
		line.Number = i
		return line, true, nil
	}
}

func (b *bundle) export(t testing.TB, p *auth.Principal, subjectID string) []*memory.Portable {
	t.Helper()
	found, err := b.Exporter.Export(t.Context(), p, subjectID)
	noError(t, err)
	var all []*memory.Portable
	for m, err := range found {
		noError(t, err)
		all = append(all, m)
	}
	return all
}

// linesOf are the lines of an export.
func linesOf(list []*memory.Portable) memory.Lines {
	var all []memory.ImportLine
	for _, m := range list {
		all = append(all, memory.ImportLine{Portable: *m})
	}
	return lines(all...)
}

func wantImported(t testing.TB, got, want memory.Imported) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(field.Failures{}), cmpopts.IgnoreFields(field.LineError{}, "Message")); diff != "" {
		t.Errorf("imported (-want +got):\n%s", diff)
	}
}

func TestAnExportComesInAgainAsItWas(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		first := b.create(t, full("ada"))
		for i := range 3 {
			b.pass(time.Second)
			_, err := b.Changer.Change(t.Context(), anna, first.ID, memory.Change{Text: memory.SetTo(fmt.Sprint("change ", i)), Speaker: memory.SetTo("Eve")}, nil)
			noError(t, err)
		}
		for i := range 700 {
			b.pass(time.Millisecond)
			n := say(fmt.Sprint("text ", i))
			if i%3 == 0 {
				n.OccurredAt = pointer(noon.Add(-time.Duration(i) * time.Second))
			}
			b.create(t, n)
		}
		out := b.export(t, anna, "ada")
		if len(out) != 701 {
			t.Fatalf("%d lines", len(out))
		}
		history := 0
		for _, m := range out {
			history += len(m.History)
		}
		if history != 3 {
			t.Errorf("%d older revisions", history)
		}
		counts, err := b.Importer.Import(t.Context(), bert, linesOf(out), true)
		noError(t, err)
		wantImported(t, counts, memory.Imported{Received: 701, Created: 701})
		importer := cmpopts.IgnoreFields(memory.Memory{}, "ImportedBy")
		if diff := cmp.Diff(out, b.export(t, bert, "ada"), importer); diff != "" {
			t.Errorf("-out +again\n%s", diff)
		}
		for _, p := range []*auth.Principal{bert, anna} {
			counts, err = b.Importer.Import(t.Context(), p, linesOf(out), true)
			noError(t, err)
			wantImported(t, counts, memory.Imported{Received: 701, Unchanged: 701})
		}
		if diff := cmp.Diff(out, b.export(t, anna, "ada")); diff != "" {
			t.Errorf("after an import into its own place:\n%s", diff)
		}

		// A later export brings the place up to date; an earlier one changes nothing.
		b.pass(time.Minute)
		_, err = b.Changer.Change(t.Context(), anna, first.ID, memory.Change{Text: memory.SetTo("later")}, nil)
		noError(t, err)
		later := b.export(t, anna, "ada")
		counts, err = b.Importer.Import(t.Context(), bert, linesOf(later), true)
		noError(t, err)
		wantImported(t, counts, memory.Imported{Received: 701, Replaced: 1, Unchanged: 700})
		if diff := cmp.Diff(later, b.export(t, bert, "ada"), importer); diff != "" {
			t.Errorf("-later +again\n%s", diff)
		}
		counts, err = b.Importer.Import(t.Context(), bert, linesOf(out), true)
		noError(t, err)
		if counts.Failed != 1 || counts.Errors[0].Field != "revision" || counts.Errors[0].Issue != string(problem.Conflicting) || counts.Unchanged != 700 {
			t.Errorf("an older export: %+v", counts)
		}
	})
}

func TestLinesFailAlone(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		there := b.create(t, memory.Memory{SubjectID: "ada", Text: "there", Key: "k"})
		gone := b.create(t, say("gone"))
		noError(t, b.Eraser.Delete(t.Context(), anna, gone.ID, nil))
		told := func(change func(m *memory.Memory)) memory.ImportLine {
			m := *there
			m.ID = "mem_01jd7wz00000000000000000a0"
			m.Key, m.Text = "", "line"
			change(&m)
			return memory.ImportLine{Portable: memory.Portable{Memory: &m}}
		}
		plain := func(id, text, key string) memory.ImportLine {
			return memory.ImportLine{Portable: memory.Portable{Memory: &memory.Memory{ID: id, SubjectID: "ada", Text: text, Key: key}}}
		}
		past := told(func(m *memory.Memory) { m.ID = "mem_01jd7wz00000000000000000a2"; m.Revision = 2 })
		past.History = []*memory.Memory{{Text: "older", Revision: 2, UpdatedAt: noon}}
		old := told(func(m *memory.Memory) { m.ID = "mem_01jd7wz00000000000000000a3"; m.Revision = 2 })
		old.History = []*memory.Memory{{Revision: 1, UpdatedAt: noon}}
		list := []memory.ImportLine{
			{Err: problem.Validation("text", problem.Type, "text must be a string.")},
			told(func(m *memory.Memory) { m.ID = "x" }),
			told(func(m *memory.Memory) { m.ID = gone.ID }),
			told(func(m *memory.Memory) { m.ID = there.ID; m.SubjectID = "bob" }),
			told(func(m *memory.Memory) { m.Key = "k" }),
			told(func(m *memory.Memory) { m.Revision = -1 }),
			told(func(m *memory.Memory) { m.ExpiresAt = pointer(noon) }),
			told(func(m *memory.Memory) { m.CreatedAt = time.Time{}.AddDate(-1, 0, 0) }),
			told(func(m *memory.Memory) { m.CreatedAt = b.now().Add(time.Millisecond) }),
			past, old,
			told(func(*memory.Memory) {}),                        // created
			plain(there.ID, "there", "k"),                        // as it is
			plain("mem_01jd7wz00000000000000000a9", "fresh", ""), // created
			plain("mem_01jd7wz00000000000000000a9", "fresh", ""), // the same again
			plain("mem_01jd7wz00000000000000000a9", "other", ""), // replaced
			plain("", "no id", ""),                               // created
			plain("", "no id", ""),                               // the same again
			plain("", "by key", "k"),                             // replaced
		}
		counts, err := b.Importer.Import(t.Context(), anna, lines(list...), false)
		noError(t, err)
		fails := func(line int, name string, issue problem.Issue) field.LineError {
			return field.LineError{Line: line, Field: name, Issue: string(issue)}
		}
		wantImported(t, counts, memory.Imported{Received: 19, Created: 3, Replaced: 2, Unchanged: 3, Failures: field.Failures{Failed: 11, Errors: []field.LineError{
			fails(1, "text", problem.Type), fails(2, "id", problem.Format), fails(3, "id", problem.NotAllowed), fails(4, "id", problem.Conflicting),
			fails(5, "key", problem.Conflicting), fails(6, "revision", problem.TooSmall), fails(7, "expiresAt", problem.Expired),
			fails(8, "createdAt", problem.Format), fails(9, "createdAt", problem.TooLargeVal), fails(10, "history[0].revision", problem.InvalidVal),
			fails(11, "history[0].text", problem.Required),
		}}})
		read, err := b.Reader.Memory(t.Context(), anna, there.ID)
		noError(t, err)
		if read.Text != "by key" || read.Revision != 2 || !read.CreatedAt.Equal(there.CreatedAt) {
			t.Errorf("got %+v", read)
		}
		counts, err = b.Importer.Import(t.Context(), anna, lines(plain("", "x", "")), true)
		noError(t, err)
		wantImported(t, counts, memory.Imported{Received: 1, Failures: field.Failures{Failed: 1, Errors: []field.LineError{fails(1, "id", problem.Required)}}})
		b.max.Store(1)
		counts, err = b.Importer.Import(t.Context(), anna, lines(plain("", "too many", "")), false)
		noError(t, err)
		wantImported(t, counts, memory.Imported{Received: 1, Failures: field.Failures{Failed: 1, Errors: []field.LineError{fails(1, "memories", problem.NotAllowed)}}})
	})
}

func TestABrokenImportSaysHowFarItCame(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	n := 0
	_, err := b.Importer.Import(t.Context(), anna, func() (memory.ImportLine, bool, error) {
		if n++; n > 300 {
			return memory.ImportLine{}, false, problem.New(problem.TooLarge, problem.CodePayloadTooLarge, "Too large.")
		}
		return memory.ImportLine{Number: n, Portable: memory.Portable{Memory: &memory.Memory{SubjectID: "ada", Text: fmt.Sprint(n)}}}, true, nil
	}, false)
	var p *problem.Problem
	if !errors.As(err, &p) || p.Code != problem.CodePayloadTooLarge || p.Message != "Too large. The 256 lines before that were read, and what was imported of them stays." {
		t.Errorf("got %v", err)
	}
	if list := b.list(t, anna, memory.Filter{Limit: 1000}); len(list) != 256 {
		t.Errorf("%d stayed", len(list))
	}
}

// beforeRevisions calls before ahead of each read of older revisions.
type beforeRevisions struct {
	memory.Store
	before func(ids []string)
	rows   int // the largest number of rows of a read
}

func (s *beforeRevisions) MemoryRevisions(ctx context.Context, workspaceID string, ids []string, before int64, limit int) ([]*memory.Row, error) {
	if s.before != nil {
		s.before(ids)
	}
	rows, err := s.Store.MemoryRevisions(ctx, workspaceID, ids, before, limit)
	s.rows = max(s.rows, len(rows))
	return rows, err
}

func TestExportDuringAChangeCanBeImported(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		m := b.create(t, say("one"))
		change := func(text string) {
			_, err := b.Changer.Change(t.Context(), anna, m.ID, memory.Change{Text: memory.SetTo(text)}, nil)
			noError(t, err)
		}
		change("two")
		s := &beforeRevisions{Store: b.store.Memories, before: func([]string) { change("three") }}
		out := b.with(func(o *memory.Options) { o.Store = s }).export(t, anna, "ada")
		counts, err := b.Importer.Import(t.Context(), bert, linesOf(out), true)
		noError(t, err)
		wantImported(t, counts, memory.Imported{Received: 1, Created: 1})
	})
}

func TestExportReadsAFewHistoriesAtATime(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	var list []memory.ImportLine
	for i := range 8 {
		m := &memory.Memory{
			ID: fmt.Sprintf("mem_01jd7wz00000000000000000a%d", i), SubjectID: "ada", Text: fmt.Sprint("text ", i), Revision: 100,
			CreatedAt: noon, CreatedBy: "usr_anna", UpdatedAt: noon, UpdatedBy: "usr_anna",
		}
		line := memory.ImportLine{Portable: memory.Portable{Memory: m}}
		for revision := range int64(99) {
			older := *m
			older.Revision = revision + 1
			line.History = append(line.History, &older)
		}
		list = append(list, line)
	}
	counts, err := b.Importer.Import(t.Context(), anna, lines(list...), true)
	noError(t, err)
	wantImported(t, counts, memory.Imported{Received: 8, Created: 8})
	s := &beforeRevisions{Store: b.store.Memories}
	out := b.with(func(o *memory.Options) { o.Store = s }).export(t, anna, "ada")
	for _, m := range out {
		if len(m.History) != 99 {
			t.Errorf("%s has %d older revisions", m.Memory.Text, len(m.History))
		}
	}
	if len(out) != 8 || s.rows > 500 {
		t.Errorf("%d memories, up to %d revisions at a time", len(out), s.rows)
	}
}

// countingUnits counts transactions.
type countingUnits struct {
	unit.Runner
	n int
}

func (u *countingUnits) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	u.n++
	return u.Runner.Run(ctx, fn)
}

func TestLinesWithMuchMetadataFillAChunk(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	metadata := map[string]any{}
	for i := range 32 {
		metadata[fmt.Sprint("m", i)] = strings.Repeat("x", 1000)
	}
	var list []memory.ImportLine
	for i := range 64 {
		list = append(list, memory.ImportLine{Portable: memory.Portable{Memory: &memory.Memory{SubjectID: "ada", Text: fmt.Sprint(i), Metadata: metadata}}})
	}
	units := &countingUnits{Runner: b.store}
	counts, err := b.with(func(o *memory.Options) { o.Units = units }).Importer.Import(t.Context(), anna, lines(list...), false)
	noError(t, err)
	wantImported(t, counts, memory.Imported{Received: 64, Created: 64})
	if units.n != 2 {
		t.Errorf("2 MiB took %d transactions, want 2", units.n)
	}
}

func TestImportedCreationTimeCountsForDuplicates(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		first := b.create(t, say("same"))
		b.pass(time.Second)
		second, err := b.putItem(t.Context(), anna, memory.Item{Memory: say("same"), Duplicates: memory.AllowDuplicates})
		noError(t, err)
		b.pass(2 * time.Minute)
		moved := *first
		moved.CreatedAt, moved.Revision = noon.Add(time.Minute), 2
		counts, err := b.Importer.Import(t.Context(), anna, lines(memory.ImportLine{Portable: memory.Portable{Memory: &moved}}), true)
		noError(t, err)
		wantImported(t, counts, memory.Imported{Received: 1, Replaced: 1})
		stored, err := b.put(t.Context(), anna, say("same"))
		noError(t, err)
		if !stored.Deduplicated || stored.Memory.ID != second.Memory.ID {
			t.Errorf("got %+v, want the memory that is now the oldest", stored.Memory)
		}
	})
}

// An import says who imported, whatever the line claims; what a line tells about its past counts only from users and unbound keys.
func TestTheImporterIsKnown(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		unbound := &auth.Principal{Kind: auth.APIKey, WorkspaceID: "wsp_a", Key: id.UUID{1}}
		early := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
		line := func(id string) memory.ImportLine {
			return memory.ImportLine{Portable: memory.Portable{
				Memory: &memory.Memory{
					ID: id, SubjectID: "ada", Text: "forged", CreatedAt: early, CreatedBy: "usr_other", UpdatedAt: early, UpdatedBy: "usr_other",
					ImportedBy: "usr_other", Revision: 7,
				},
				History: []*memory.Memory{{Text: "never said", Revision: 3, UpdatedAt: early, UpdatedBy: "usr_other"}},
			}}
		}
		for i, p := range []*auth.Principal{anna, unbound, ofAda} {
			name := fmt.Sprintf("mem_01jd7wz00000000000000000a%d", i)
			counts, err := b.Importer.Import(t.Context(), p, lines(line(name)), false)
			noError(t, err)
			wantImported(t, counts, memory.Imported{Received: 1, Created: 1})
			m, err := b.Reader.Memory(t.Context(), p, name)
			noError(t, err)
			history, _, err := b.Reader.History(t.Context(), p, name, 0, 10)
			noError(t, err)
			want := memory.Memory{CreatedAt: early, CreatedBy: "usr_other", UpdatedAt: early, UpdatedBy: "usr_other", Revision: 7}
			revisions := 2
			if p == ofAda {
				want, revisions = memory.Memory{CreatedAt: b.now(), CreatedBy: p.Actor(), UpdatedAt: b.now(), UpdatedBy: p.Actor(), Revision: 1}, 1
			}
			if m.ImportedBy != p.Actor() || m.CreatedBy != want.CreatedBy || !m.CreatedAt.Equal(want.CreatedAt) || m.UpdatedBy != want.UpdatedBy ||
				!m.UpdatedAt.Equal(want.UpdatedAt) || m.Revision != want.Revision || len(history) != revisions {
				t.Errorf("%s: %+v and %d revisions", p.Actor(), m, len(history))
			}
			for _, revision := range history {
				if revision.ImportedBy != p.Actor() {
					t.Errorf("%s: %+v", p.Actor(), revision)
				}
			}
			// A later change keeps the importer, and so does one by the same key.
			changed, err := b.Changer.Change(t.Context(), p, name, memory.Change{Text: memory.SetTo("changed")}, nil)
			noError(t, err)
			if changed.ImportedBy != p.Actor() || changed.CreatedBy != want.CreatedBy {
				t.Errorf("changed: %+v", changed)
			}
		}
		// A line without a past replaces the text, and its importer is the last one.
		counts, err := b.Importer.Import(t.Context(), ofAda, lines(memory.ImportLine{Portable: memory.Portable{Memory: &memory.Memory{ID: "mem_01jd7wz00000000000000000a0", Text: "again"}}}), false)
		noError(t, err)
		wantImported(t, counts, memory.Imported{Received: 1, Replaced: 1})
		m, err := b.Reader.Memory(t.Context(), anna, "mem_01jd7wz00000000000000000a0")
		noError(t, err)
		if m.ImportedBy != ofAda.Actor() || m.CreatedBy != "usr_other" || m.UpdatedBy != ofAda.Actor() || m.Revision != 9 {
			t.Errorf("got %+v", m)
		}
		if written := b.create(t, memory.Memory{SubjectID: "ada", Text: "written"}); written.ImportedBy != "" {
			t.Errorf("a written memory says that %s imported it", written.ImportedBy)
		}
	})
}

// A line needs a subject and a text. Of its past it can tell any part.
func TestALineTellsWhatItKnows(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	early := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
	for i, c := range []struct{ line, want memory.Memory }{
		{memory.Memory{}, memory.Memory{CreatedAt: b.now(), UpdatedAt: b.now(), CreatedBy: "usr_anna", UpdatedBy: "usr_anna", Revision: 1}},
		{memory.Memory{CreatedAt: early}, memory.Memory{CreatedAt: early, UpdatedAt: early, CreatedBy: "usr_anna", UpdatedBy: "usr_anna", Revision: 1}},
		{memory.Memory{UpdatedAt: early}, memory.Memory{CreatedAt: early, UpdatedAt: early, CreatedBy: "usr_anna", UpdatedBy: "usr_anna", Revision: 1}},
		{memory.Memory{CreatedBy: "key_x"}, memory.Memory{CreatedAt: b.now(), UpdatedAt: b.now(), CreatedBy: "key_x", UpdatedBy: "key_x", Revision: 1}},
		{memory.Memory{Revision: 4}, memory.Memory{CreatedAt: b.now(), UpdatedAt: b.now(), CreatedBy: "usr_anna", UpdatedBy: "usr_anna", Revision: 4}},
	} {
		line := c.line
		line.SubjectID, line.Text = "ada", fmt.Sprint("text ", i)
		var of []*memory.Memory
		if i == 4 {
			of = []*memory.Memory{{Text: "older"}, {Text: "old"}}
		}
		counts, err := b.Importer.Import(t.Context(), anna, lines(memory.ImportLine{Portable: memory.Portable{Memory: &line, History: of}}), false)
		noError(t, err)
		wantImported(t, counts, memory.Imported{Received: 1, Created: 1})
		for _, m := range b.export(t, anna, "ada") {
			got := m.Memory
			if got.Text != line.Text {
				continue
			}
			if !got.CreatedAt.Equal(c.want.CreatedAt) || !got.UpdatedAt.Equal(c.want.UpdatedAt) || got.CreatedBy != c.want.CreatedBy ||
				got.UpdatedBy != c.want.UpdatedBy || got.Revision != c.want.Revision || len(m.History) != len(of) {
				t.Errorf("line %d: %+v", i, got)
			}
		}
	}
}
