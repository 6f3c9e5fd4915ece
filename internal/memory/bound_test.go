package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
)

// What a key is bound to is all there is for it, on every way in.
func TestABoundKeyReachesNothingElse(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		own := b.create(t, memory.Memory{SubjectID: "ada", AgentID: "coach", Text: "ada coach", Key: "k1"})
		b.pass(time.Millisecond)
		foreign := map[*auth.Principal]*memory.Memory{
			ofAda:   b.create(t, memory.Memory{SubjectID: "bob", AgentID: "coach", Text: "bob coach", Key: "k2"}),
			ofCoach: b.create(t, memory.Memory{SubjectID: "ada", AgentID: "other", Text: "ada other", Key: "k3"}),
		}
		for p, theirs := range foreign {
			_, err := b.Reader.Memory(t.Context(), p, own.ID)
			noError(t, err)
			missing := func(name string, err error) {
				t.Helper()
				if codeOf(err) != problem.CodeNotFound {
					t.Errorf("%s, %s: %v", p.UserID, name, err)
				}
			}
			_, err = b.Reader.Memory(t.Context(), p, theirs.ID)
			missing("read", err)
			_, err = b.Changer.Change(t.Context(), p, theirs.ID, memory.Change{Text: memory.SetTo("x")}, nil)
			missing("change", err)
			missing("delete", b.Eraser.Delete(t.Context(), p, theirs.ID, nil))
			_, _, err = b.Reader.History(t.Context(), p, theirs.ID, 0, 10)
			missing("history", err)
			_, _, err = b.Reader.List(t.Context(), p, memory.Filter{SubjectID: theirs.SubjectID, AgentID: theirs.AgentID, Limit: 10})
			missing("list", err)
			_, err = b.put(t.Context(), p, memory.Memory{SubjectID: theirs.SubjectID, AgentID: theirs.AgentID, Text: "x"})
			missing("create", err)
			if p == ofCoach {
				_, err = b.put(t.Context(), p, memory.Memory{SubjectID: "ada", Text: "x", Key: "k3"})
				missing("replace", err)
			}
			results, err := b.batch(t.Context(), p, false, memory.Memory{SubjectID: theirs.SubjectID, AgentID: theirs.AgentID, Text: "x"})
			noError(t, err)
			missing("batch", results[0].Err)
			wantTexts(t, b.list(t, p, memory.Filter{}), map[bool][]string{true: {"ada other", "ada coach"}, false: {"bob coach", "ada coach"}}[p == ofAda]...)

			subject := "ada"
			if p == ofAda {
				subject = "bob"
				_, err = b.SubjectReader.Subject(t.Context(), p, subject)
				missing("subject", err)
				_, err = b.Exporter.Export(t.Context(), p, subject)
				missing("export", err)
				_, _, err = b.SubjectReader.AccessLog(t.Context(), p, subject, "", 10)
				missing("access log", err)
				_, err = b.Forgetter.Plan(t.Context(), p, memory.Forget{SubjectID: subject, Query: "x"})
				missing("forget", err)
			}
			_, err = b.SubjectEraser.Erase(t.Context(), p, subject)
			missing("erase", err)
			plan, err := b.Forgetter.Plan(t.Context(), p, memory.Forget{SubjectID: "ada", IDs: []string{theirs.ID, own.ID}})
			noError(t, err)
			if len(plan.MemoryIDs) != 1 || plan.MemoryIDs[0] != own.ID {
				t.Errorf("%s plans to forget %v", p.UserID, plan.MemoryIDs)
			}
			line := *theirs
			line.ID = "mem_01jd7wz00000000000000000a0"
			counts, err := b.Importer.Import(t.Context(), p, lines(memory.ImportLine{Portable: memory.Portable{Memory: &line}}), true)
			noError(t, err)
			if counts.Failed != 1 || counts.Errors[0].Field != "subjectId" {
				t.Errorf("%s imports %+v", p.UserID, counts)
			}
			people, _, err := b.SubjectReader.Subjects(t.Context(), p, nil, 10)
			noError(t, err)
			if p == ofAda && (len(people) != 1 || people[0].SubjectID != "ada" || people[0].Memories != 2) {
				t.Errorf("it sees %+v", people)
			}
			if p == ofCoach && (len(people) != 2 || people[0].Memories != 1 || people[1].Memories != 1 || people[0].Bytes != 9) {
				t.Errorf("it sees %+v", people)
			}
		}
		for _, m := range b.export(t, ofCoach, "ada") {
			if m.Memory.AgentID != "coach" {
				t.Errorf("exported %q", m.Memory.Text)
			}
		}
		stored, err := b.put(t.Context(), ofAda, memory.Memory{Text: "without a name"})
		noError(t, err)
		if stored.Memory.SubjectID != "ada" {
			t.Errorf("got %+v", stored.Memory)
		}
		stored, err = b.put(t.Context(), ofCoach, memory.Memory{SubjectID: "ada", Text: "of the agent"})
		noError(t, err)
		if stored.Memory.AgentID != "coach" {
			t.Errorf("got %+v", stored.Memory)
		}
		_, err = b.SubjectEraser.Erase(t.Context(), ofAda, "ada")
		noError(t, err)
	})
}

func TestSubjectsAreListedInPages(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		names := []string{"a", "b", "c", "d", "e", "f", "g"}
		for i, name := range names {
			if i%3 > 0 {
				b.pass(time.Millisecond)
			}
			b.create(t, memory.Memory{SubjectID: name, Text: "x"})
			b.create(t, memory.Memory{SubjectID: name, Text: "yy", OccurredAt: pointer(noon.AddDate(-1, 0, 0))})
		}
		seen := map[string]bool{}
		var after *memory.SubjectPosition
		for first := true; first || after != nil; first = false {
			list, next, err := b.SubjectReader.Subjects(t.Context(), anna, after, 3)
			noError(t, err)
			for _, p := range list {
				if seen[p.SubjectID] || p.Memories != 2 || p.Bytes != 3 || !p.FirstAt.Equal(noon.AddDate(-1, 0, 0)) || p.LastAt.Before(noon) {
					t.Errorf("got %+v", p)
				}
				seen[p.SubjectID] = true
			}
			after = next
		}
		if len(seen) != len(names) {
			t.Errorf("got %v", seen)
		}
		if list, _, err := b.SubjectReader.Subjects(t.Context(), bert, nil, 10); err != nil || len(list) != 0 {
			t.Errorf("another workspace sees %v, %v", list, err)
		}
	})
}

func TestListOfSubjectsSkipsThoseWithoutAKey(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		for _, name := range []string{"last", "lost1", "first", "lost2", "lost3"} {
			b.create(t, memory.Memory{SubjectID: name, Text: "x"})
			b.pass(time.Second)
		}
		for _, name := range []string{"lost1", "lost2", "lost3"} {
			noError(t, b.keys.Destroy(t.Context(), "wsp_a", b.lookup.Subject("wsp_a", name), 1))
		}
		var names []string
		var after *memory.SubjectPosition
		for first := true; first || after != nil; first = false {
			list, next, err := b.SubjectReader.Subjects(t.Context(), anna, after, 1)
			noError(t, err)
			for _, p := range list {
				names = append(names, p.SubjectID)
			}
			after = next
		}
		if !slices.Equal(names, []string{"first", "last"}) {
			t.Errorf("got %v", names)
		}
	})
}

func TestBoundKeyReadsAllOfItsHistory(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		var id string
		for i, agent := range []string{"coach", "coach", "other", "other", "coach"} {
			id = b.create(t, memory.Memory{SubjectID: "ada", AgentID: agent, Key: "k", Text: fmt.Sprint("revision ", i+1)}).ID
		}
		var all []*memory.Memory
		for before, more := int64(0), true; more; before = all[len(all)-1].Revision {
			var page []*memory.Memory
			var err error
			page, more, err = b.Reader.History(t.Context(), ofCoach, id, before, 1)
			noError(t, err)
			if len(page) != 1 {
				t.Fatalf("a page of %d", len(page))
			}
			all = append(all, page...)
		}
		wantTexts(t, all, "revision 5", "revision 2", "revision 1")
	})
}

func TestAgentsKeySeesTheHistoryOfItsMemories(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		m := memory.Memory{
			ID: "mem_01jd7wz00000000000000000a0", SubjectID: "ada", AgentID: "coach", Text: "new", Revision: 2,
			CreatedAt: noon, CreatedBy: "usr_anna", UpdatedAt: noon, UpdatedBy: "usr_anna",
		}
		older := m
		older.Text, older.Revision = "old", 1
		counts, err := b.Importer.Import(t.Context(), anna, lines(memory.ImportLine{
			Portable: memory.Portable{Memory: &m, History: []*memory.Memory{&older}},
		}), true)
		noError(t, err)
		wantImported(t, counts, memory.Imported{Received: 1, Created: 1})
		history, _, err := b.Reader.History(t.Context(), ofCoach, m.ID, 0, 10)
		noError(t, err)
		wantTexts(t, history, "new", "old")
	})
}
