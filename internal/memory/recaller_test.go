package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
)

// recalling has room for the indexes of recall.
func recalling(b *bundle) *bundle {
	return b.with(func(o *memory.Options) { o.RecallBytes = 64 << 20 })
}

func (b *bundle) recall(t testing.TB, p *auth.Principal, q memory.RecallQuery) []*memory.Memory {
	t.Helper()
	found, err := b.Recaller.Recall(t.Context(), p, q)
	noError(t, err)
	var list []*memory.Memory
	for _, r := range found.Results {
		list = append(list, r.Memory)
	}
	return list
}

func about(query string) memory.RecallQuery {
	return memory.RecallQuery{SubjectID: "ada", Query: query}
}

func TestWhatWasWrittenIsInTheNextRecall(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		b = recalling(b)
		wantTexts(t, b.recall(t, anna, about("violin")))
		m := b.create(t, say("Ada plays the violin"))
		b.create(t, say("Ada sold her bicycle"))
		wantTexts(t, b.recall(t, anna, about("Who plays violins?")), "Ada plays the violin")
		_, err := b.Changer.Change(t.Context(), anna, m.ID, memory.Change{Text: memory.SetTo("Ada plays the viola")}, nil)
		noError(t, err)
		wantTexts(t, b.recall(t, anna, about("violin")))
		wantTexts(t, b.recall(t, anna, about("viola")), "Ada plays the viola")
		noError(t, b.Eraser.Delete(t.Context(), anna, m.ID, nil))
		wantTexts(t, b.recall(t, anna, about("viola")))

		b.create(t, memory.Memory{SubjectID: "ada", Text: "a ticket for the ferry", ExpiresAt: pointer(b.now().Add(time.Second))})
		wantTexts(t, b.recall(t, anna, about("ferry")), "a ticket for the ferry")
		b.pass(time.Second)
		wantTexts(t, b.recall(t, anna, about("ferry")))

		stats := b.Caches.RecallStats()
		if stats.Misses != 1 || stats.Hits < 5 || stats.Entries != 1 || stats.Bytes < 1000 || stats.Evictions != 0 {
			t.Errorf("the cache has %+v", stats)
		}
	})
}

func TestAnotherProcessRecallsWhatThisOneWrites(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		here, there := recalling(b), recalling(b)
		here.create(t, say("the first lighthouse"))
		wantTexts(t, there.recall(t, anna, about("lighthouse")), "the first lighthouse")
		second := here.create(t, say("the second lighthouse"))
		if got := there.recall(t, anna, about("lighthouse")); len(got) != 2 {
			t.Errorf("recalled %q", texts(got))
		}
		noError(t, here.Eraser.Delete(t.Context(), anna, second.ID, nil))
		wantTexts(t, there.recall(t, anna, about("lighthouse")), "the first lighthouse")

		_, err := here.SubjectEraser.Erase(t.Context(), anna, "ada")
		noError(t, err)
		wantTexts(t, there.recall(t, anna, about("lighthouse")))
		wantTexts(t, here.recall(t, anna, about("lighthouse")))
		if n := here.Caches.RecallStats().Entries; n != 0 {
			t.Errorf("%d indexes are left here", n)
		}
		// There it goes with the next sweep, if no recall uses it.
		noError(t, there.Sweeper.Sweep(t.Context(), b.now()))
		if n := there.Caches.RecallStats().Entries; n != 0 {
			t.Errorf("%d indexes are left there", n)
		}
		here.create(t, say("a new lighthouse"))
		wantTexts(t, there.recall(t, anna, about("lighthouse")), "a new lighthouse")
		noError(t, there.Sweeper.Sweep(t.Context(), b.now()))
		if n := there.Caches.RecallStats().Entries; n != 1 {
			t.Errorf("%d indexes are left after a sweep that had nothing to do", n)
		}
		// Also where the person is written again before.
		_, err = here.SubjectEraser.Erase(t.Context(), anna, "ada")
		noError(t, err)
		here.create(t, say("one more lighthouse"))
		noError(t, there.Sweeper.Sweep(t.Context(), b.now()))
		if n := there.Caches.RecallStats().Entries; n != 0 {
			t.Errorf("%d indexes of a generation that is gone are left", n)
		}
	})
}

// Others write and ask meanwhile: the index that is kept is never taken for one that holds what came after it.
func TestWhatWasWrittenAmongOthersIsInTheNextRecall(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		here, there := recalling(b), recalling(b)
		const writers, each = 4, 25
		var all sync.WaitGroup
		for writer := range writers {
			all.Go(func() {
				for n := range each {
					word := fmt.Sprintf("lighthouse%dx%d", writer, n)
					m, err := here.put(t.Context(), anna, say(word+" is the word"))
					if err != nil {
						t.Error(err)
						return
					}
					for _, s := range []*bundle{here, there, here} {
						if found, err := s.Recaller.Recall(t.Context(), anna, about(word)); err != nil || len(found.Results) == 0 || found.Results[0].Memory.ID != m.Memory.ID {
							t.Errorf("%s: %+v, %v", word, found, err)
						}
					}
				}
			})
		}
		all.Wait()
	})
}

func TestForgottenWordsDoNotStayInTheIndex(t *testing.T) {
	t.Parallel()
	b := recalling(onSQLite(t))
	m := b.create(t, say("a long list of words: "+strings.Join(madeUp(400), " ")))
	b.create(t, say("a lighthouse"))
	wantTexts(t, b.recall(t, anna, about("lighthouse")), "a lighthouse")
	before := b.Caches.RecallStats().Bytes
	noError(t, b.Eraser.Delete(t.Context(), anna, m.ID, nil))
	noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
	if after := b.Caches.RecallStats().Bytes; after > before/2 {
		t.Errorf("the index takes %d bytes after %d", after, before)
	}
	wantTexts(t, b.recall(t, anna, about("lighthouse")), "a lighthouse")
}

func madeUp(n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("word%dx", i)
	}
	return words
}

func TestARecallReachesNoFurtherThanItsKey(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b = recalling(b)
		b.create(t, memory.Memory{SubjectID: "ada", AgentID: "coach", Text: "runs in the morning"})
		b.create(t, memory.Memory{SubjectID: "ada", AgentID: "nurse", Text: "runs a fever"})
		b.create(t, memory.Memory{SubjectID: "bob", AgentID: "nurse", Text: "runs a shop"})
		b.create(t, memory.Memory{SubjectID: "bob2", Text: "runs"})

		b.pass(time.Second)
		wantTexts(t, b.recall(t, ofCoach, about("runs")), "runs in the morning")
		wantTexts(t, b.recall(t, ofCoach, memory.RecallQuery{SubjectID: "bob", Query: "runs"}))
		wantTexts(t, b.recall(t, bert, about("runs")))
		if got := b.recall(t, ofAda, memory.RecallQuery{Query: "runs"}); len(got) != 2 {
			t.Errorf("a key of Ada's recalls %q", texts(got))
		}
		_, err := b.Recaller.Recall(t.Context(), ofAda, memory.RecallQuery{SubjectID: "bob", Query: "runs"})
		wantCode(t, err, "not_found")
		_, err = b.Recaller.Recall(t.Context(), ofCoach, memory.RecallQuery{SubjectID: "ada", AgentID: "nurse", Query: "runs"})
		wantCode(t, err, "not_found")
		wantTexts(t, b.recall(t, anna, memory.RecallQuery{SubjectID: "ada", AgentID: "nurse", Query: "runs"}), "runs a fever")

		// The coach's key read nothing of Bob, but it asked.
		if got := b.actions(t, "wsp_a", "bob"); !slices.Equal(got, []audit.Action{audit.MemoryRecalled, audit.MemoryCreated}) {
			t.Errorf("the log of bob has %v", got)
		}
		if got := b.actions(t, "wsp_a", "ada"); len(got) != 5 || got[0] != audit.MemoryRecalled {
			t.Errorf("the log of ada has %v", got)
		}
	})
}

func TestARecallThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	b := recalling(onSQLite(t))
	for _, c := range []struct {
		q     memory.RecallQuery
		field string
		issue problem.Issue
	}{
		{memory.RecallQuery{Query: "x"}, "subjectId", problem.Required},
		{memory.RecallQuery{SubjectID: "a/b", Query: "x"}, "subjectId", problem.Format},
		{about(" \n"), "query", problem.Required},
		{about(strings.Repeat("x", memory.MaxQuery+1)), "query", problem.TooLong},
		{memory.RecallQuery{SubjectID: "ada", Query: "x", Limit: -1}, "limit", problem.TooSmall},
		{memory.RecallQuery{SubjectID: "ada", Query: "x", Limit: 201}, "limit", problem.TooLargeVal},
		{memory.RecallQuery{SubjectID: "ada", Query: "x", Kinds: []memory.Kind{"fact", "odd"}}, "kinds[1]", problem.NotAllowed},
		{memory.RecallQuery{SubjectID: "ada", Query: "x", SessionID: "é"}, "sessionId", problem.Format},
	} {
		_, err := b.Recaller.Recall(t.Context(), anna, c.q)
		wantField(t, err, c.field, c.issue)
	}
}

func TestTheCacheOfIndexesIsBounded(t *testing.T) {
	t.Parallel()
	const bound = 200 << 10
	b := onSQLite(t).with(func(o *memory.Options) { o.RecallBytes = bound })
	subject := func(i int) string { return fmt.Sprintf("person-%d", i) }
	for i := range 10 {
		var list []memory.Memory
		for j := range 40 {
			list = append(list, memory.Memory{SubjectID: subject(i), Text: fmt.Sprintf("number%d of%d thing%d word%d", j, i, j*i, j+i)})
		}
		_, err := b.batch(t.Context(), anna, true, list...)
		noError(t, err)
	}
	ask := func(i int) {
		t.Helper()
		got := b.recall(t, anna, memory.RecallQuery{SubjectID: subject(i), Query: "number7"})
		if len(got) != 1 {
			t.Fatalf("%s recalls %q", subject(i), texts(got))
		}
		if stats := b.Caches.RecallStats(); stats.Bytes > bound {
			t.Fatalf("the cache has %+v, its bound is %d", stats, bound)
		}
	}
	for i := range 10 {
		ask(i)
	}
	stats := b.Caches.RecallStats()
	if stats.Misses != 10 || stats.Evictions == 0 || stats.Entries == 0 || stats.Entries > 9 || stats.Capacity != bound {
		t.Fatalf("the cache has %+v", stats)
	}
	ask(9)
	if again := b.Caches.RecallStats(); again.Hits != stats.Hits+1 {
		t.Errorf("the one asked last was let go: %+v", again)
	}
	ask(0)
	if again := b.Caches.RecallStats(); again.Misses != 11 {
		t.Errorf("the one asked first was kept: %+v", again)
	}

	// One that is greater than the whole bound is answered, and not kept.
	small := b.with(func(o *memory.Options) { o.RecallBytes = 2000 })
	for range 2 {
		if got := small.recall(t, anna, memory.RecallQuery{SubjectID: subject(1), Query: "number7"}); len(got) != 1 {
			t.Errorf("recalled %q", texts(got))
		}
	}
	if stats := small.Caches.RecallStats(); stats.Entries != 0 || stats.Bytes != 0 || stats.Misses != 2 {
		t.Errorf("the cache has %+v", stats)
	}
}

func TestOneBuildsAnIndexForManyWhoAskAtOnce(t *testing.T) {
	t.Parallel()
	b := recalling(onSQLite(t))
	var list []memory.Memory
	for i := range 900 {
		list = append(list, memory.Memory{SubjectID: "ada", Text: fmt.Sprintf("harbour number%d", i)})
	}
	_, err := b.batch(t.Context(), anna, true, list...)
	noError(t, err)
	var asking sync.WaitGroup
	for i := range 16 {
		asking.Go(func() {
			found, err := b.Recaller.Recall(context.WithoutCancel(t.Context()), anna, about(fmt.Sprintf("number%d", i)))
			if err != nil || len(found.Results) != 1 || found.Took <= 0 {
				t.Errorf("found %+v, %v", found, err)
			}
		})
	}
	asking.Wait()
	if stats := b.Caches.RecallStats(); stats.Misses != 1 || stats.Hits != 15 {
		t.Errorf("the cache has %+v", stats)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := recalling(b).Recaller.Recall(gone, anna, about("harbour")); err == nil {
		t.Error("a recall went on after its client had gone")
	}
}

func TestExplainedAndFilteredRecall(t *testing.T) {
	t.Parallel()
	b := recalling(onSQLite(t))
	b.create(t, memory.Memory{SubjectID: "ada", Text: "camping in the Jura", Kind: memory.Turn, SessionID: "s", Speaker: "Ada", Tags: []string{"x"}, OccurredAt: pointer(noon)})
	b.create(t, memory.Memory{SubjectID: "ada", Text: "camping again", Kind: memory.Turn, SessionID: "s", Speaker: "Bob"})
	found, err := b.Recaller.Recall(t.Context(), anna, memory.RecallQuery{SubjectID: "ada", Query: "When did Ada go camping?", Explain: true, Limit: 1})
	noError(t, err)
	if len(found.Results) != 1 {
		t.Fatalf("found %+v", found)
	}
	r := found.Results[0]
	if diff := cmp.Diff([]string{"camping"}, r.Matched); diff != "" || r.Why == nil || r.Why.Words <= 0 || r.Why.Speaker <= 0 || r.Memory.Speaker != "Ada" {
		t.Errorf("found %+v, why %+v", r, r.Why)
	}
	for _, c := range []struct {
		change func(q *memory.RecallQuery)
		want   int
	}{
		{func(q *memory.RecallQuery) { q.Tags = []string{"x"} }, 1},
		{func(q *memory.RecallQuery) { q.Kinds = []memory.Kind{memory.Fact} }, 0},
		{func(q *memory.RecallQuery) { q.SessionID = "s" }, 2},
		{func(q *memory.RecallQuery) { q.From = pointer(noon.Add(time.Second)) }, 0},
		{func(q *memory.RecallQuery) { q.To = pointer(noon.Add(time.Second)) }, 2},
		{func(q *memory.RecallQuery) { q.AsOf = pointer(noon.Add(-time.Second)) }, 0},
		{func(q *memory.RecallQuery) { q.AsOf = pointer(noon) }, 2},
		{func(q *memory.RecallQuery) { q.MinScore = 1e9 }, 0},
	} {
		q := about("camping")
		c.change(&q)
		if got := b.recall(t, anna, q); len(got) != c.want {
			t.Errorf("%+v recalls %q, want %d", q, texts(got), c.want)
		}
	}
}

// BenchmarkFirstRecall is what a subject of 10,000 memories takes whose index is not there yet.
func BenchmarkFirstRecall(b *testing.B) {
	on := recalling(onSQLite(b))
	for i := range 10 {
		var list []memory.Memory
		for j := range 1000 {
			list = append(list, memory.Memory{SubjectID: "ada", Kind: memory.Turn, SessionID: fmt.Sprintf("s%d-%d", i, j/20), Speaker: "Ada", OccurredAt: pointer(noon), Text: fmt.Sprintf(
				"I went to the market number%d on day%d and bought some apples, pears and a lamp%d for the hall; it was quite late already.", j, i, j*i)})
		}
		_, err := on.batch(b.Context(), anna, true, list...)
		noError(b, err)
	}
	for b.Loop() {
		b.StopTimer()
		cold := recalling(on)
		b.StartTimer()
		if got := cold.recall(b, anna, about("number77 lamp")); len(got) != 10 {
			b.Fatalf("recalled %d", len(got))
		}
	}
}

// BenchmarkRecall is a warm one, with its access log.
func BenchmarkRecall(b *testing.B) {
	on := recalling(onSQLite(b))
	var list []memory.Memory
	for j := range 1000 {
		list = append(list, memory.Memory{SubjectID: "ada", Text: fmt.Sprintf("bought number%d, a lamp%d", j, j/3)})
	}
	_, err := on.batch(b.Context(), anna, true, list...)
	noError(b, err)
	for b.Loop() {
		on.recall(b, anna, about("number77 lamp9"))
	}
}

func TestHalfBuiltIndexDropsErasedMemories(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b = recalling(b)
		list := make([]memory.Memory, 600) // one change
		for i := range list {
			list[i] = say(fmt.Sprintf("number%d %s", i, strings.Repeat("harbour ", 250)))
		}
		results, err := b.batch(t.Context(), anna, true, list...)
		noError(t, err)
		slow, at := ending(t, b)
		if _, err := slow.Recaller.Recall(at(60), anna, about("harbour")); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range results[:599] {
			ids = append(ids, r.Memory.ID)
		}
		plan, err := b.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "ada", IDs: ids})
		noError(t, err)
		_, err = b.Forgetter.Forget(t.Context(), anna, "ada", plan.ID)
		noError(t, err)
		want, err := recalling(b).Recaller.Recall(t.Context(), anna, about("harbour"))
		noError(t, err)
		got, err := slow.Recaller.Recall(t.Context(), anna, about("harbour"))
		noError(t, err)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(memory.Recalled{}, "Took")); diff != "" {
			t.Errorf("a new index and this one find (-new +this):\n%s", diff)
		}
	})
}

// afterSubject calls after behind the first row of a subject that is read.
type afterSubject struct {
	memory.Store
	after func()
}

func (s *afterSubject) MemorySubject(ctx context.Context, workspaceID string, subject memory.Hash) (*memory.SubjectRow, error) {
	row, err := s.Store.MemorySubject(ctx, workspaceID, subject)
	if after := s.after; after != nil {
		s.after = nil
		after()
	}
	return row, err
}

func TestRecallDuringAnErasureFindsWhatIsNew(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		s := &afterSubject{Store: b.store.Memories}
		reading := recalling(b).with(func(o *memory.Options) { o.Store = s })
		b.create(t, say("an old lighthouse"))
		s.after = func() {
			_, err := b.SubjectEraser.Erase(t.Context(), anna, "ada")
			noError(t, err)
			b.create(t, say("a new lighthouse"))
			wantTexts(t, reading.recall(t, anna, about("lighthouse")), "a new lighthouse")
		}
		wantTexts(t, reading.recall(t, anna, about("lighthouse")), "a new lighthouse")
	})
}

// What a person said before a memory with a key was replaced comes after what the memory says now.
func TestWhatAKeyReplacedIsDemoted(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		b = recalling(b)
		said := func(speaker, text string) {
			b.create(t, memory.Memory{SubjectID: "ada", Kind: memory.Turn, SessionID: "s-1", Speaker: speaker, Text: text})
			b.pass(time.Minute)
		}
		drink := func(text string) {
			b.create(t, memory.Memory{SubjectID: "ada", Kind: memory.Preference, Key: "drink", Text: text})
			b.pass(time.Minute)
		}
		drink("Prefers green tea.")
		said("Ada", "I really prefer green tea, and drink 3 cups of it in the morning in Lisbon.")
		first := func() string {
			t.Helper()
			got := b.recall(t, anna, about("Which drink does she prefer in the morning?"))
			if len(got) == 0 {
				t.Fatal("nothing is found")
			}
			return got[0].Text
		}
		if got := first(); !strings.HasPrefix(got, "I really") {
			t.Errorf("before the memory is replaced, %q comes first", got)
		}
		for n := range 8 { // more than an index reads
			drink(fmt.Sprintf("Prefers beer number %d.", n))
		}
		drink("Prefers green tea.")
		now := "Prefers coffee in the morning since she moved."
		drink(now)
		for _, c := range []*bundle{b, recalling(b)} { // an index that was updated, and a new one
			got := c.recall(t, anna, about("Which drink does she prefer in the morning?"))
			if len(got) != 2 || got[0].Text != now {
				t.Errorf("recalled %q", texts(got))
			}
		}
	})
}
