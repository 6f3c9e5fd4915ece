package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
)

func TestOnlyWhatWasPlannedIsForgotten(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		var ids []string
		for i := range 6 {
			ids = append(ids, b.create(t, memory.Memory{
				SubjectID: "ada", Text: fmt.Sprintf("She likes red apples number %d", i), Kind: memory.Kinds()[i%2],
				Tags: []string{fmt.Sprint("t", i%3)}, SessionID: fmt.Sprint("s", i%2),
			}).ID)
			b.pass(time.Minute)
		}
		foreign := b.create(t, memory.Memory{SubjectID: "bob", Text: "red apples"})
		for name, c := range map[string]struct {
			f    memory.Forget
			want []int
		}{
			"ids":     {memory.Forget{IDs: []string{ids[3], foreign.ID, ids[1], ids[3], "x"}}, []int{3, 1}},
			"kind":    {memory.Forget{Filter: &memory.ForgetFilter{Kinds: []memory.Kind{memory.Preference}}}, []int{1, 3, 5}},
			"tags":    {memory.Forget{Filter: &memory.ForgetFilter{Tags: []string{"t2"}}}, []int{2, 5}},
			"session": {memory.Forget{Filter: &memory.ForgetFilter{SessionID: "s0", Tags: []string{"t0"}}}, []int{0}},
			"time":    {memory.Forget{Filter: &memory.ForgetFilter{From: pointer(noon.Add(time.Minute)), To: pointer(noon.Add(3 * time.Minute))}}, []int{1, 2}},
			"query":   {memory.Forget{Query: "apple 4, she"}, []int{4}},
			"nothing": {memory.Forget{Query: "apples pears"}, nil},
			"all":     {memory.Forget{Query: "red"}, []int{0, 1, 2, 3, 4, 5}},
		} {
			c.f.SubjectID = "ada"
			plan, err := b.Forgetter.Plan(t.Context(), anna, c.f)
			noError(t, err)
			want := []string{}
			for _, i := range c.want {
				want = append(want, ids[i])
			}
			if !slices.Equal(plan.MemoryIDs, want) || !plan.ExpiresAt.Equal(b.now().Add(time.Hour)) {
				t.Errorf("%s: got %+v, want %v", name, plan, want)
			}
		}
		plan, err := b.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "ada", Query: "red"})
		noError(t, err)
		late := b.create(t, memory.Memory{SubjectID: "ada", Text: "red, too"})
		noError(t, b.Eraser.Delete(t.Context(), anna, ids[0], nil))
		for _, c := range []struct {
			p       *auth.Principal
			subject string
		}{{anna, "bob"}, {bert, "ada"}, {&auth.Principal{Kind: auth.User, WorkspaceID: "wsp_a", UserID: "usr_other"}, "ada"}} {
			_, err = b.Forgetter.Forget(t.Context(), c.p, c.subject, plan.ID)
			wantCode(t, err, problem.CodeNotFound)
		}
		n, err := b.Forgetter.Forget(t.Context(), anna, "ada", plan.ID)
		noError(t, err)
		if n != 5 {
			t.Errorf("forgot %d, want 5", n)
		}
		wantTexts(t, b.list(t, anna, memory.Filter{SubjectID: "ada"}), late.Text)
		_, err = b.Forgetter.Forget(t.Context(), anna, "ada", plan.ID)
		wantCode(t, err, problem.CodeNotFound)
		_, err = b.Reader.Memory(t.Context(), anna, foreign.ID)
		noError(t, err)

		plan, err = b.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "ada", Query: "red"})
		noError(t, err)
		b.pass(time.Hour)
		_, err = b.Forgetter.Forget(t.Context(), anna, "ada", plan.ID)
		wantCode(t, err, problem.CodeNotFound)
		noError(t, b.Sweeper.Sweep(t.Context(), b.now()))
	})
}

func TestAPlanSaysWhatItMeans(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	for _, c := range []struct {
		f     memory.Forget
		field string
		issue problem.Issue
	}{
		{memory.Forget{}, "ids", problem.Required},
		{memory.Forget{IDs: []string{}}, "ids", problem.Required},
		{memory.Forget{IDs: make([]string, memory.MaxBatch+1)}, "ids", problem.TooLong},
		{memory.Forget{IDs: []string{"x"}, Query: "y"}, "query", problem.NotAllowed},
		{memory.Forget{IDs: []string{"x"}, Filter: &memory.ForgetFilter{}}, "filter", problem.NotAllowed},
		{memory.Forget{Query: "?!"}, "query", problem.Required},
		{memory.Forget{Filter: &memory.ForgetFilter{Kinds: []memory.Kind{"x"}}}, "filter.kinds[0]", problem.NotAllowed},
	} {
		c.f.SubjectID = "ada"
		_, err := b.Forgetter.Plan(t.Context(), anna, c.f)
		wantField(t, err, c.field, c.issue)
	}
	_, err := b.Forgetter.Plan(t.Context(), anna, memory.Forget{Query: "x"})
	wantField(t, err, "subjectId", problem.Required)
	plan, err := b.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "nobody", Query: "x"})
	noError(t, err)
	n, err := b.Forgetter.Forget(t.Context(), anna, "nobody", plan.ID)
	noError(t, err)
	if n != 0 || len(plan.MemoryIDs) != 0 {
		t.Errorf("of nobody: %d, %+v", n, plan)
	}
}

func TestAPlanIsUsedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		for i := range 20 {
			b.create(t, say(fmt.Sprint("one ", i)))
		}
		plan, err := b.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "ada", Query: "one"})
		noError(t, err)
		var all sync.WaitGroup
		var mu sync.Mutex
		var forgot []string
		for range 6 {
			all.Go(func() {
				n, err := b.Forgetter.Forget(t.Context(), anna, "ada", plan.ID)
				mu.Lock()
				defer mu.Unlock()
				forgot = append(forgot, fmt.Sprint(n, " ", codeOf(err)))
			})
		}
		all.Wait()
		slices.Sort(forgot)
		missing := "0 " + problem.CodeNotFound
		if want := []string{missing, missing, missing, missing, missing, "20 <nil>"}; !slices.Equal(forgot, want) {
			t.Errorf("got %q", forgot)
		}
	})
}

func TestALargePlanIsCarriedOutInParts(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		for range 3 {
			var items []memory.Item
			for i := range 800 {
				items = append(items, memory.Item{Memory: say(fmt.Sprint("word ", i)), Duplicates: memory.AllowDuplicates})
			}
			_, err := b.batchItems(t.Context(), anna, true, items)
			noError(t, err)
		}
		plan, err := b.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "ada", Query: "word"})
		noError(t, err)
		n, err := b.Forgetter.Forget(t.Context(), anna, "ada", plan.ID)
		noError(t, err)
		if n != 2400 || len(b.journal.memories) != 2400 {
			t.Errorf("forgot %d, the journal has %d", n, len(b.journal.memories))
		}
		person, err := b.SubjectReader.Subject(t.Context(), anna, "ada")
		noError(t, err)
		if person.Memories != 0 || person.Bytes != 0 {
			t.Errorf("left are %+v", person)
		}
	})
}

// conflicting runs each unit of work twice, as an engine does if it meets another one: what the first run did is undone.
type conflicting struct{ unit.Runner }

func (c conflicting) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	if unit.Running(ctx) {
		return c.Runner.Run(ctx, fn)
	}
	undo := errors.New("a conflict")
	err := c.Runner.Run(ctx, func(ctx context.Context) error {
		if err := fn(ctx); err != nil {
			return err
		}
		return undo
	})
	if !errors.Is(err, undo) {
		return err
	}
	return c.Runner.Run(ctx, fn)
}

func TestForgetErasesAllAfterAConflict(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		b.create(t, memory.Memory{SubjectID: "ada", Text: "red"})
		plan, err := b.Forgetter.Plan(t.Context(), anna, memory.Forget{SubjectID: "ada", Query: "red"})
		noError(t, err)
		o := b.options
		o.Units = conflicting{o.Units}
		n, err := memory.NewService(o).Forgetter.Forget(t.Context(), anna, "ada", plan.ID)
		noError(t, err)
		if n != 1 {
			t.Errorf("forgot %d, want 1", n)
		}
		wantTexts(t, b.list(t, anna, memory.Filter{SubjectID: "ada"}))
	})
}
