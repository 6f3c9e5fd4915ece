package memory

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/text"
	"keepsake/internal/govern/auth"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *time.Time {
	t := noon.Add(d)
	return &t
}

func TestStatusFollowsTheEndOfValidity(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		validTo *time.Time
		want    Status
	}{
		"no end": {nil, Active}, "an end to come": {at(time.Millisecond), Active}, "the end": {at(0), Superseded}, "past": {at(-1), Superseded},
	} {
		if got := (&Memory{ValidTo: c.validTo}).Status(noon); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestWhatIsDeduplicated(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		often := kind == Turn || kind == Event
		for _, c := range []struct {
			duplicates Duplicates
			key        string
			want       bool
		}{
			{DefaultDuplicates, "", !often},
			{Deduplicate, "", true},
			{AllowDuplicates, "", false},
			{DefaultDuplicates, "k", false},
			{Deduplicate, "k", false},
		} {
			if got := c.duplicates.compares(&Memory{Kind: kind, Key: c.key}); got != c.want {
				t.Errorf("%s %+v: %v, want %v", kind, c, got, c.want)
			}
		}
	}
}

// anyMemory draws from few values, so that equal ones are common.
func anyMemory(t *rapid.T, label string) *Memory {
	few := func(name string) string { return rapid.SampledFrom([]string{"", "a", "b", "ab"}).Draw(t, label+name) }
	m := &Memory{
		Text: few("text"), Kind: Kind(few("kind")), AgentID: few("agent"), SessionID: few("session"), Speaker: few("speaker"),
		Tags:     rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "ab"}), 0, 2, rapid.ID).Draw(t, label+"tags"),
		Metadata: map[string]any{}, Pinned: rapid.Bool().Draw(t, label+"pinned"),
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"x", "y"}), 0, 2, rapid.ID).Draw(t, label+"names") {
		m.Metadata[name] = rapid.SampledFrom([]any{"", "a", "true", true, false, 1.0, 0.0}).Draw(t, label+name)
	}
	if ms := rapid.Int64Range(-1, 1).Draw(t, label+"at"); ms != 0 {
		m.OccurredAt = at(time.Duration(ms) * time.Millisecond)
	}
	return m
}

func TestEqualMemoriesAndNoOthersAreTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyMemory(t, "a "), anyMemory(t, "b ")
		equal := a.Text == b.Text && a.Kind == b.Kind && a.AgentID == b.AgentID && a.SessionID == b.SessionID && a.Speaker == b.Speaker &&
			slices.Equal(slices.Sorted(slices.Values(a.Tags)), slices.Sorted(slices.Values(b.Tags))) && maps.Equal(a.Metadata, b.Metadata) &&
			reflect.DeepEqual(a.OccurredAt, b.OccurredAt)
		if got := dedupKey(a) == dedupKey(b); got != equal {
			t.Fatalf("%+v and %+v: the same %v, want %v", a, b, got, equal)
		}
	})
}

func TestAChangeChangesWhatItNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := anyMemory(t, "m ")
		m.ID, m.SubjectID, m.Text, m.Kind, m.Revision, m.Speaker = "mem_1", "ada", "text", Fact, 3, "Ada"
		m.AgentID, m.SessionID = "coach", "s"
		before := *m
		before.Metadata, before.Tags = maps.Clone(m.Metadata), slices.Clone(m.Tags)
		var c Change
		want := before
		if rapid.Bool().Draw(t, "text") {
			c.Text, want.Text = SetTo("new"), "new"
		}
		if rapid.Bool().Draw(t, "speaker") {
			c.Speaker, want.Speaker = Unset[string](), ""
		}
		if rapid.Bool().Draw(t, "tags") {
			c.Tags, want.Tags = SetTo([]string{"n", "m", "n"}), []string{"n", "m"}
		}
		if rapid.Bool().Draw(t, "occurred") {
			c.OccurredAt, want.OccurredAt = SetTo(noon.Add(time.Microsecond)), at(0)
		}
		if rapid.Bool().Draw(t, "metadata") {
			c.Metadata = SetTo(map[string]any{"x": nil, "z": 1.0})
			want.Metadata = maps.Clone(before.Metadata)
			delete(want.Metadata, "x")
			want.Metadata["z"] = 1.0
		}
		next, err := c.apply(m, noon)
		if err != nil {
			t.Fatal(err)
		}
		want.Revision, want.UpdatedAt = 4, noon
		if want.Tags == nil {
			want.Tags = []string{}
		}
		if !reflect.DeepEqual(next, &want) {
			t.Fatalf("got %+v, want %+v", next, want)
		}
		if !reflect.DeepEqual(m, &before) {
			t.Fatal("what was there has changed, too")
		}
	})
}

func TestWhatAChangeCannotTakeAway(t *testing.T) {
	t.Parallel()
	m := &Memory{SubjectID: "ada", Kind: Fact, Text: "x"}
	c := Change{Text: Unset[string]()}
	_, err := c.apply(m, noon)
	if p, ok := problem.As(err); !ok || p.Details.Field != "text" || p.Details.Issue != problem.Required {
		t.Errorf("text: %v", err)
	}
	c = Change{Kind: Unset[Kind](), Pinned: Unset[bool]()}
	if next, err := c.apply(&Memory{SubjectID: "ada", Kind: Note, Pinned: true, Text: "x"}, noon); err != nil || next.Kind != Fact || next.Pinned {
		t.Errorf("kind and pinned: %+v, %v", next, err)
	}
}

func TestWhoMayCarryOutAPlan(t *testing.T) {
	t.Parallel()
	anna := &auth.Principal{Kind: auth.User, UserID: "usr_anna"}
	plan := StoredPlan{Plan: Plan{MemoryIDs: []string{"mem_1"}, ExpiresAt: noon}, Subject: Hash{1}, Generation: 2, Credential: "usr_anna"}
	row := &SubjectRow{Generation: 2}
	for name, c := range map[string]struct {
		p       *auth.Principal
		subject Hash
		row     *SubjectRow
		now     time.Time
		want    bool
	}{
		"its maker":         {anna, Hash{1}, row, noon.Add(-1), true},
		"at its end":        {anna, Hash{1}, row, noon, false},
		"somebody else":     {&auth.Principal{Kind: auth.User, UserID: "usr_bert"}, Hash{1}, row, noon.Add(-1), false},
		"another subject":   {anna, Hash{2}, row, noon.Add(-1), false},
		"after an erasure":  {anna, Hash{1}, &SubjectRow{Generation: 3}, noon.Add(-1), false},
		"without a subject": {anna, Hash{1}, nil, noon.Add(-1), false},
	} {
		if got := plan.allows(c.p, c.subject, c.row, c.now); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestEveryWordOfAQueryMustOccur(t *testing.T) {
	t.Parallel()
	words := text.NewAnalyzer()
	for _, c := range []struct {
		query, text string
		want        bool
	}{
		{"apples", "An apple a day.", true},
		{"apple, DAY!", "An apple a day.", true},
		{"apple night", "An apple a day.", false},
		{"an", "An apple a day.", true},
		{"the apple", "An apple a day.", false},
		{"苹果", "我喜欢苹果。", true},
		{"苹果 梨", "我喜欢苹果。", false},
		{"أحب", "أنا أحب التفاح", true},
		{"सेब", "मुझे सेब पसंद है", true},
	} {
		if got := hasTerms(words, c.text, termsOf(words, c.query)); got != c.want {
			t.Errorf("%q in %q: %v, want %v", c.query, c.text, got, c.want)
		}
	}
}

// A sealed revision opens in its own place alone.
func TestARevisionOpensInItsPlaceAlone(t *testing.T) {
	t.Parallel()
	row := Row{ID: "mem_1", Subject: Hash{1}, Generation: 1, Revision: 1}
	own := string(memoryData("wsp_a", &row))
	for name, change := range map[string]func(workspaceID *string, r *Row){
		"workspace":  func(w *string, _ *Row) { *w = "wsp_b" },
		"id":         func(_ *string, r *Row) { r.ID = "mem_2" },
		"subject":    func(_ *string, r *Row) { r.Subject = Hash{2} },
		"generation": func(_ *string, r *Row) { r.Generation = 2 },
		"revision":   func(_ *string, r *Row) { r.Revision = 2 },
	} {
		workspaceID, other := "wsp_a", row
		change(&workspaceID, &other)
		if string(memoryData(workspaceID, &other)) == own {
			t.Errorf("another %s opens it, too", name)
		}
	}
}

func TestNamesHaveLettersDigitsAndSigns(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", "7", "_", "|", "+", "=", "-", "-x", "a.b:c@d|e+f=g-h_i", "auth0|5f7c8ec7", strings.Repeat("x", 128)} {
		if !ValidName(name) {
			t.Errorf("%q is refused", name)
		}
	}
	for _, name := range []string{"", ".", ":a", "@a", "a b", "a/b", "a%7Cb", "ä", "a\n", strings.Repeat("x", 129)} {
		if ValidName(name) {
			t.Errorf("%q is taken", name)
		}
	}
}
