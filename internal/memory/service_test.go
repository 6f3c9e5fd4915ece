package memory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/memory"
)

func pointer[T any](v T) *T { return &v }

// full has everything that a memory can have.
func full(subjectID string) memory.Memory {
	return memory.Memory{
		SubjectID: subjectID, AgentID: "coach", SessionID: "s-1", Kind: memory.Preference, Text: "Keine Nüsse!\x01 \u202e 世界",
		Speaker: "Ada", Tags: []string{"food", "allergy", "food"}, Metadata: map[string]any{"n": 1.5, "b": false, "s": "x\ny"},
		Importance: pointer(0.75), Pinned: true, OccurredAt: pointer(noon.Add(-time.Hour)), ValidFrom: pointer(noon.Add(-time.Minute)),
		ValidTo: pointer(noon.Add(time.Minute)), ExpiresAt: pointer(noon.Add(time.Hour)), Key: "diet", Source: "chat 7",
	}
}

func TestWhatIsAnsweredIsWhatIsReadBack(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		stored, err := b.put(t.Context(), anna, full("ada"))
		noError(t, err)
		m := stored.Memory
		if !stored.Created || stored.Deduplicated || m.Revision != 1 || m.CreatedBy != "usr_anna" || !m.CreatedAt.Equal(noon) || !memory.ValidID(m.ID) {
			t.Errorf("got %+v", stored)
		}
		if diff := cmp.Diff([]string{"food", "allergy"}, m.Tags); diff != "" {
			t.Error(diff)
		}
		read, err := b.Reader.Memory(t.Context(), anna, m.ID)
		noError(t, err)
		if diff := cmp.Diff(m, read); diff != "" {
			t.Errorf("answered and read (-answered +read):\n%s", diff)
		}
		if diff := cmp.Diff([]*memory.Memory{m}, b.list(t, anna, memory.Filter{SubjectID: "ada"})); diff != "" {
			t.Errorf("answered and listed:\n%s", diff)
		}
		plain := b.create(t, say("plain"))
		read, err = b.Reader.Memory(t.Context(), anna, plain.ID)
		noError(t, err)
		if diff := cmp.Diff(plain, read); diff != "" || plain.Kind != memory.Fact {
			t.Errorf("a plain one:\n%s", diff)
		}
		got := b.actions(t, "wsp_a", "ada")
		slices.Sort(got)
		if want := []audit.Action{
			audit.MemoryCreated, audit.MemoryCreated, audit.MemoryListed, audit.MemoryRead, audit.MemoryRead,
		}; !slices.Equal(got, want) {
			t.Errorf("the access log has %v", got)
		}
		if len(b.answered) != 2 {
			t.Errorf("answers told of %v", b.answered)
		}
	})
}

func TestAKeyReplaces(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		first := b.create(t, memory.Memory{SubjectID: "ada", Text: "no nuts", Key: "diet", SessionID: "one", Pinned: true})
		b.pass(time.Second)
		stored, err := b.put(t.Context(), anna, memory.Memory{SubjectID: "ada", Text: "nuts again", Key: "diet", SessionID: "two"})
		noError(t, err)
		m := stored.Memory
		if stored.Created || stored.Deduplicated || m.ID != first.ID || m.Revision != 2 || !m.CreatedAt.Equal(noon) || m.UpdatedAt.Equal(noon) || m.Pinned {
			t.Errorf("got %+v", m)
		}
		same, err := b.put(t.Context(), anna, memory.Memory{SubjectID: "ada", Text: "nuts again", Key: "diet", SessionID: "two"})
		noError(t, err)
		if same.Deduplicated || same.Memory.Revision != 3 {
			t.Errorf("the key did not win: %+v", same)
		}
		if other := b.create(t, memory.Memory{SubjectID: "bob", Text: "x", Key: "diet"}); other.ID == first.ID {
			t.Error("another subject's key was taken for the same")
		}
		history, more, err := b.Reader.History(t.Context(), anna, first.ID, 0, 10)
		noError(t, err)
		wantTexts(t, history, "nuts again", "nuts again", "no nuts")
		if more || history[2].Revision != 1 || !history[2].Pinned {
			t.Errorf("the first revision: %+v", history[2])
		}
		history, more, err = b.Reader.History(t.Context(), anna, first.ID, 0, 2)
		noError(t, err)
		if len(history) != 2 || !more {
			t.Errorf("a page of two: %d, more %v", len(history), more)
		}
		history, more, err = b.Reader.History(t.Context(), anna, first.ID, 2, 2)
		noError(t, err)
		wantTexts(t, history, "no nuts")
		if more {
			t.Error("there is more behind the first")
		}
	})
}

func TestEqualMemoriesAreOne(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		turn := func(n memory.Memory) memory.Memory { n.Kind = memory.Turn; return n }
		marked := func(n memory.Memory, mark func(n *memory.Memory)) memory.Memory { mark(&n); return n }
		first := b.create(t, say("one"))
		b.create(t, turn(say("said")))
		b.pass(time.Second)
		for name, c := range map[string]struct {
			new  memory.Memory
			want bool
		}{
			"the same":                  {say("one"), true},
			"importance does not count": {marked(say("one"), func(n *memory.Memory) { n.Importance = pointer(0.5); n.Pinned = true }), true},
			"another text":              {say("two"), false},
			"another speaker":           {marked(say("one"), func(n *memory.Memory) { n.Speaker = "x" }), false},
			"another kind":              {marked(say("one"), func(n *memory.Memory) { n.Kind = memory.Note }), false},
			"another agent":             {marked(say("one"), func(n *memory.Memory) { n.AgentID = "x" }), false},
			"another session":           {marked(say("one"), func(n *memory.Memory) { n.SessionID = "x" }), false},
			"another time":              {marked(say("one"), func(n *memory.Memory) { n.OccurredAt = pointer(noon) }), false},
			"another tag":               {marked(say("one"), func(n *memory.Memory) { n.Tags = []string{"x"} }), false},
			"other metadata":            {marked(say("one"), func(n *memory.Memory) { n.Metadata = map[string]any{"x": 1.0} }), false},
			"with a key":                {marked(say("one"), func(n *memory.Memory) { n.Key = "k" }), false},
			"another subject":           {marked(say("one"), func(n *memory.Memory) { n.SubjectID = "bob" }), false},
			"a turn":                    {turn(say("said")), false},
		} {
			stored, err := b.put(t.Context(), anna, c.new)
			noError(t, err)
			if stored.Deduplicated != c.want || stored.Created == c.want {
				t.Errorf("%s: %+v", name, stored)
			}
			if c.want && !stored.Memory.CreatedAt.Equal(noon) {
				t.Errorf("%s: it is not the first", name)
			}
		}
		for _, c := range []struct {
			item memory.Item
			want bool
		}{
			{memory.Item{Memory: say("one"), Duplicates: memory.AllowDuplicates}, false},
			{memory.Item{Memory: turn(say("said")), Duplicates: memory.Deduplicate}, true},
		} {
			stored, err := b.putItem(t.Context(), anna, c.item)
			noError(t, err)
			if stored.Deduplicated != c.want || stored.Created == c.want {
				t.Errorf("%+v: %+v", c.item, stored)
			}
		}
		noError(t, b.Eraser.Delete(t.Context(), anna, first.ID, nil))
		again, err := b.put(t.Context(), anna, marked(say("one"), func(n *memory.Memory) { n.Tags = []string{"fresh"} }))
		noError(t, err)
		if !again.Created {
			t.Error("an erased one was taken for there")
		}
		other, err := b.put(t.Context(), bert, say("one"))
		noError(t, err)
		if !other.Created {
			t.Error("another workspace's was taken for there")
		}
	})
}

func TestAMergePatch(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		m := b.create(t, full("ada"))
		b.pass(time.Second)
		next, err := b.Changer.Change(t.Context(), anna, m.ID, memory.Change{
			Text: memory.SetTo("new"), Speaker: memory.Unset[string](), Metadata: memory.SetTo(map[string]any{"n": nil, "z": "zz"}),
			ValidTo: memory.Unset[time.Time](), Importance: memory.SetTo(0.1),
		}, []int64{1})
		noError(t, err)
		want := *m
		want.Text, want.Speaker, want.Metadata = "new", "", map[string]any{"b": false, "s": "x\ny", "z": "zz"}
		want.ValidTo, want.Importance, want.Revision, want.UpdatedAt = nil, pointer(0.1), 2, noon.Add(time.Second)
		if diff := cmp.Diff(&want, next); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		read, err := b.Reader.Memory(t.Context(), anna, m.ID)
		noError(t, err)
		if diff := cmp.Diff(next, read); diff != "" {
			t.Errorf("-answered +read\n%s", diff)
		}
		_, err = b.Changer.Change(t.Context(), anna, m.ID, memory.Change{Text: memory.SetTo("x")}, []int64{1})
		wantCode(t, err, problem.CodeRevisionMismatch)
		other := b.create(t, memory.Memory{SubjectID: "ada", Text: "x", Key: "other"})
		_, err = b.Changer.Change(t.Context(), anna, other.ID, memory.Change{Key: memory.SetTo("diet")}, nil)
		wantCode(t, err, problem.CodeConflict)
		_, err = b.Changer.Change(t.Context(), anna, other.ID, memory.Change{Key: memory.SetTo("other"), Text: memory.SetTo("same key")}, nil)
		noError(t, err)
		_, err = b.Changer.Change(t.Context(), anna, other.ID, memory.Change{Text: memory.Unset[string]()}, nil)
		wantField(t, err, "text", problem.Required)
		_, err = b.Changer.Change(t.Context(), anna, other.ID, memory.Change{ExpiresAt: memory.SetTo(noon)}, nil)
		wantField(t, err, "expiresAt", problem.Expired)
		_, err = b.Changer.Change(t.Context(), bert, other.ID, memory.Change{Text: memory.SetTo("x")}, nil)
		wantCode(t, err, problem.CodeNotFound)
	})
}

func TestADeletedMemoryIsGone(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		m := b.create(t, say("one"))
		_, err := b.Changer.Change(t.Context(), anna, m.ID, memory.Change{Text: memory.SetTo("two")}, nil)
		noError(t, err)
		wantCode(t, b.Eraser.Delete(t.Context(), anna, m.ID, []int64{1}), problem.CodeRevisionMismatch)
		wantCode(t, b.Eraser.Delete(t.Context(), bert, m.ID, nil), problem.CodeNotFound)
		noError(t, b.Eraser.Delete(t.Context(), anna, m.ID, []int64{2}))
		wantCode(t, b.Eraser.Delete(t.Context(), anna, m.ID, nil), problem.CodeNotFound)
		_, err = b.Reader.Memory(t.Context(), anna, m.ID)
		wantCode(t, err, problem.CodeNotFound)
		_, _, err = b.Reader.History(t.Context(), anna, m.ID, 0, 10)
		wantCode(t, err, problem.CodeNotFound)
		person, err := b.SubjectReader.Subject(t.Context(), anna, "ada")
		noError(t, err)
		if person.Memories != 0 || person.Bytes != 0 || person.FirstAt != nil {
			t.Errorf("the subject has %+v", person)
		}
		if !cmp.Equal(b.journal.memories, []string{m.ID}) {
			t.Errorf("the journal has %v", b.journal.memories)
		}
	})
}

func TestListsAreFilteredBeforePaging(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		for i := range 30 {
			n := memory.Memory{
				SubjectID: []string{"ada", "bob"}[i%2], Text: fmt.Sprintf("m%02d", i), SessionID: fmt.Sprintf("s%d", i%3),
				AgentID: []string{"", "coach"}[i/15], Kind: memory.Kinds()[i%7], Tags: []string{fmt.Sprintf("t%d", i%5)},
			}
			if i%4 == 0 {
				n.OccurredAt = pointer(noon.Add(-time.Duration(i) * time.Hour))
				n.Tags = append(n.Tags, "old")
			}
			b.create(t, n)
			b.pass(time.Minute)
		}
		all := b.list(t, anna, memory.Filter{})
		if len(all) != 30 {
			t.Fatalf("%d in all", len(all))
		}
		wants := func(name string, f memory.Filter, fits func(m *memory.Memory) bool) {
			t.Helper()
			var want []string
			for _, m := range all {
				if fits(m) {
					want = append(want, m.Text)
				}
			}
			var got []string
			f.Limit = 4
			for {
				page, more, err := b.Reader.List(t.Context(), anna, f)
				noError(t, err)
				got = append(got, texts(page)...)
				if more && len(page) != 4 {
					t.Errorf("%s: a page of %d", name, len(page))
				}
				if !more {
					break
				}
				f.After = pointer(page[len(page)-1].Position())
			}
			if !cmp.Equal(got, want) || len(want) == 0 {
				t.Errorf("%s: got %v, want %v", name, got, want)
			}
		}
		for i := 1; i < len(all); i++ {
			if all[i].At().After(all[i-1].At()) {
				t.Fatalf("%s is after %s", all[i].Text, all[i-1].Text)
			}
		}
		wants("everything", memory.Filter{}, func(*memory.Memory) bool { return true })
		wants("a subject", memory.Filter{SubjectID: "ada"}, func(m *memory.Memory) bool { return m.SubjectID == "ada" })
		wants("an agent", memory.Filter{AgentID: "coach"}, func(m *memory.Memory) bool { return m.AgentID == "coach" })
		wants("a session", memory.Filter{SessionID: "s1"}, func(m *memory.Memory) bool { return m.SessionID == "s1" })
		wants("a session of a subject", memory.Filter{SessionID: "s1", SubjectID: "bob", AgentID: "coach"}, func(m *memory.Memory) bool {
			return m.SessionID == "s1" && m.SubjectID == "bob" && m.AgentID == "coach"
		})
		wants("kinds", memory.Filter{Kinds: []memory.Kind{memory.Turn, memory.Fact}}, func(m *memory.Memory) bool {
			return m.Kind == memory.Turn || m.Kind == memory.Fact
		})
		some := []string{all[1].ID, all[4].ID, all[len(all)-1].ID, "mem_00000000000000000000000000", "x"}
		wants("ids", memory.Filter{IDs: some}, func(m *memory.Memory) bool { return slices.Contains(some, m.ID) })
		wants("ids of a subject", memory.Filter{IDs: some, SubjectID: all[4].SubjectID}, func(m *memory.Memory) bool {
			return slices.Contains(some, m.ID) && m.SubjectID == all[4].SubjectID
		})
		wants("a tag", memory.Filter{SubjectID: "ada", Tags: []string{"old"}}, func(m *memory.Memory) bool {
			return m.SubjectID == "ada" && strings.HasPrefix(m.Tags[len(m.Tags)-1], "old")
		})
		wants("two tags", memory.Filter{SubjectID: "ada", Tags: []string{"old", "t0"}}, func(m *memory.Memory) bool {
			return m.SubjectID == "ada" && len(m.Tags) == 2 && m.Tags[0] == "t0"
		})
		from, to := noon.Add(5*time.Minute), noon.Add(10*time.Minute)
		wants("a time", memory.Filter{From: &from, To: &to}, func(m *memory.Memory) bool {
			return !m.At().Before(from) && m.At().Before(to)
		})
		if got := b.list(t, bert, memory.Filter{IDs: some}); len(got) != 0 {
			t.Errorf("another workspace sees %q", texts(got))
		}
		_, _, err := b.Reader.List(t.Context(), anna, memory.Filter{IDs: make([]string, memory.MaxListIDs+1), Limit: 1})
		wantField(t, err, "id", problem.TooLong)
		_, _, err = b.Reader.List(t.Context(), anna, memory.Filter{Tags: []string{"old"}, Limit: 1})
		wantField(t, err, "subjectId", problem.Required)
		if got := b.list(t, bert, memory.Filter{}); len(got) != 0 {
			t.Errorf("another workspace sees %q", texts(got))
		}
		if got := b.list(t, anna, memory.Filter{SubjectID: "nobody"}); len(got) != 0 {
			t.Errorf("nobody has %q", texts(got))
		}
	})
}

func TestExpiryIsToTheSecond(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		m := b.create(t, memory.Memory{SubjectID: "ada", Text: "short", Key: "k", ExpiresAt: pointer(noon.Add(2 * time.Second))})
		b.create(t, memory.Memory{SubjectID: "ada", Text: "long"})
		b.pass(2*time.Second - time.Millisecond)
		_, err := b.Reader.Memory(t.Context(), anna, m.ID)
		noError(t, err)
		b.pass(time.Millisecond)
		_, err = b.Reader.Memory(t.Context(), anna, m.ID)
		wantCode(t, err, problem.CodeNotFound)
		wantTexts(t, b.list(t, anna, memory.Filter{SubjectID: "ada"}), "long")
		person, err := b.SubjectReader.Subject(t.Context(), anna, "ada")
		noError(t, err)
		if person.Memories != 1 || person.Bytes != 4 {
			t.Errorf("the subject has %+v", person)
		}
		again := b.create(t, memory.Memory{SubjectID: "ada", Text: "again", Key: "k"})
		if again.ID == m.ID {
			t.Error("an expired one was replaced")
		}
		wantCode(t, b.Eraser.Delete(t.Context(), anna, m.ID, nil), problem.CodeNotFound)

		noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
		rows, err := b.store.Memories.MemoriesByID(t.Context(), "wsp_a", []string{m.ID})
		noError(t, err)
		if len(rows) != 0 {
			t.Error("the sweep left it")
		}
		person, err = b.SubjectReader.Subject(t.Context(), anna, "ada")
		noError(t, err)
		if person.Memories != 2 {
			t.Errorf("after the sweep the subject has %d", person.Memories)
		}
		_, err = b.put(t.Context(), anna, memory.Memory{SubjectID: "ada", Text: "x", ExpiresAt: pointer(b.now())})
		wantField(t, err, "expiresAt", problem.Expired)
	})
}

func TestATierBoundsMemories(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b.max.Store(3)
		b.create(t, say("one"))
		m := b.create(t, memory.Memory{SubjectID: "bob", Text: "two", Key: "k"})
		results, err := b.batch(t.Context(), anna, false, say("three"), say("four"), say("one"), memory.Memory{SubjectID: "bob", Text: "2", Key: "k"}, say("five"))
		noError(t, err)
		for i, want := range []string{"<nil>", problem.CodeLimitReached, "<nil>", "<nil>", problem.CodeLimitReached} {
			if got := codeOf(results[i].Err); got != want {
				t.Errorf("item %d: %s, want %s", i, got, want)
			}
		}
		_, err = b.put(t.Context(), anna, say("six"))
		wantCode(t, err, problem.CodeLimitReached)
		_, err = b.batch(t.Context(), anna, true, say("six"))
		wantField(t, err, "items[0]", problem.NotAllowed)
		noError(t, b.Eraser.Delete(t.Context(), anna, m.ID, nil))
		b.create(t, say("six"))
		if _, err := b.put(t.Context(), bert, say("another workspace's")); err != nil {
			t.Error(err)
		}
		_, err = b.SubjectEraser.Erase(t.Context(), anna, "ada")
		noError(t, err)
		for i := range 3 {
			b.create(t, say(fmt.Sprint("again ", i)))
		}
		_, err = b.put(t.Context(), anna, say("too many"))
		wantCode(t, err, problem.CodeLimitReached)
	})
}

func TestEachFieldIsBounded(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	for _, c := range []struct {
		change func(n *memory.Memory)
		field  string
		issue  problem.Issue
	}{
		{func(n *memory.Memory) { n.SubjectID = "" }, "subjectId", problem.Required},
		{func(n *memory.Memory) { n.SubjectID = ".a" }, "subjectId", problem.Format},
		{func(n *memory.Memory) { n.SubjectID = strings.Repeat("a", 129) }, "subjectId", problem.TooLong},
		{func(n *memory.Memory) { n.AgentID = "ö" }, "agentId", problem.Format},
		{func(n *memory.Memory) { n.SessionID = "a b" }, "sessionId", problem.Format},
		{func(n *memory.Memory) { n.Kind = "x" }, "kind", problem.NotAllowed},
		{func(n *memory.Memory) { n.Text = " \n" }, "text", problem.Required},
		{func(n *memory.Memory) { n.Text = strings.Repeat("a", memory.MaxText+1) }, "text", problem.TooLong},
		{func(n *memory.Memory) { n.Text = "\xff" }, "text", problem.Format},
		{func(n *memory.Memory) { n.Speaker = strings.Repeat("ö", memory.MaxSpeaker+1) }, "speaker", problem.TooLong},
		{func(n *memory.Memory) { n.Tags = make([]string, memory.MaxTags+1) }, "tags", problem.TooLong},
		{func(n *memory.Memory) { n.Tags = []string{"a", strings.Repeat("ö", memory.MaxTag+1)} }, "tags[1]", problem.TooLong},
		{func(n *memory.Memory) { n.Tags = []string{""} }, "tags[0]", problem.Required},
		{func(n *memory.Memory) { n.Metadata = map[string]any{"a": nil} }, "metadata.a", problem.Type},
		{func(n *memory.Memory) { n.Metadata = map[string]any{"a": strings.Repeat("ö", memory.MaxEntry+1)} }, "metadata.a", problem.TooLong},
		{func(n *memory.Memory) { n.Importance = pointer(1.01) }, "importance", problem.TooLargeVal},
		{func(n *memory.Memory) { n.Importance = pointer(-0.01) }, "importance", problem.TooSmall},
		{func(n *memory.Memory) { n.ValidFrom, n.ValidTo = pointer(noon), pointer(noon) }, "validTo", problem.TooSmall},
		{func(n *memory.Memory) { n.OccurredAt = pointer(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) }, "occurredAt", problem.Format},
		{func(n *memory.Memory) { n.ExpiresAt = pointer(noon) }, "expiresAt", problem.Expired},
		{func(n *memory.Memory) { n.Key = strings.Repeat("k", memory.MaxKey+1) }, "key", problem.TooLong},
		{func(n *memory.Memory) { n.Source = strings.Repeat("k", memory.MaxSource+1) }, "source", problem.TooLong},
	} {
		n := full("ada")
		c.change(&n)
		_, err := b.put(t.Context(), anna, n)
		wantField(t, err, c.field, c.issue)
		_, err = b.batch(t.Context(), anna, true, full("ada"), n)
		wantField(t, err, "items[1]."+c.field, c.issue)
	}
	largest := full("ada")
	largest.Text, largest.Speaker = strings.Repeat("a", memory.MaxText), strings.Repeat("ö", memory.MaxSpeaker)
	largest.Key, largest.Source = strings.Repeat("世", memory.MaxKey), strings.Repeat("世", memory.MaxSource)
	m := b.create(t, largest)
	read, err := b.Reader.Memory(t.Context(), anna, m.ID)
	noError(t, err)
	if diff := cmp.Diff(m, read); diff != "" {
		t.Error(diff)
	}
}

func TestMemoriesWithoutADataKeyExpire(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		m := b.create(t, memory.Memory{SubjectID: "ada", Text: "x", ExpiresAt: pointer(noon.Add(time.Second))})
		noError(t, b.keys.Destroy(t.Context(), "wsp_a", b.lookup.Subject("wsp_a", "ada"), 1))
		b.pass(time.Minute)
		noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
		rows, err := b.store.Memories.MemoriesByID(t.Context(), "wsp_a", []string{m.ID})
		noError(t, err)
		if len(rows) != 0 {
			t.Error("the memory is still there")
		}
	})
}

func TestLostDataKeyIsNotReportedAsAnErasure(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b.create(t, say("x"))
		noError(t, b.keys.Destroy(t.Context(), "wsp_a", b.lookup.Subject("wsp_a", "ada"), 1))
		_, err := b.put(t.Context(), anna, say("y"))
		if _, ok := problem.As(err); ok || err == nil {
			t.Errorf("create: got %v, want an internal error", err)
		}
		_, err = b.Importer.Import(t.Context(), anna, lines(memory.ImportLine{Portable: memory.Portable{Memory: pointer(say("y"))}}), false)
		if _, ok := problem.As(err); ok || err == nil {
			t.Errorf("import: got %v, want an internal error", err)
		}
	})
}

func TestTimesAreCheckedAsTheyAreStored(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	early, late := noon.Add(100*time.Microsecond), noon.Add(900*time.Microsecond)
	m := say("x")
	m.ValidFrom, m.ValidTo = &early, &late
	_, err := b.put(t.Context(), anna, m)
	wantField(t, err, "validTo", problem.TooSmall)
	there := b.create(t, say("y"))
	_, err = b.Changer.Change(t.Context(), anna, there.ID, memory.Change{ValidFrom: memory.SetTo(early), ValidTo: memory.SetTo(late)}, nil)
	wantField(t, err, "validTo", problem.TooSmall)
	m.ID, m.Revision, m.CreatedAt, m.CreatedBy, m.UpdatedAt, m.UpdatedBy = "mem_01jd7wz00000000000000000a0", 2, noon, "usr_anna", noon, "usr_anna"
	older := m
	older.Revision = 1
	m.ValidFrom, m.ValidTo = nil, nil
	counts, err := b.Importer.Import(t.Context(), anna, lines(memory.ImportLine{
		Portable: memory.Portable{Memory: &m, History: []*memory.Memory{&older}},
	}), true)
	noError(t, err)
	if counts.Failed != 1 || counts.Errors[0].Field != "history[0].validTo" {
		t.Errorf("imported %+v", counts)
	}
}

func TestPatchErrorNamesTheFirstField(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	m := b.create(t, say("x"))
	for range 20 {
		_, err := b.Changer.Change(t.Context(), anna, m.ID, memory.Change{
			Kind: memory.SetTo(memory.Kind("odd")), Text: memory.Unset[string](), Importance: memory.SetTo(2.0),
		}, nil)
		wantField(t, err, "text", problem.Required)
	}
}
