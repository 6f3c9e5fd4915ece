package memory_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/unit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory"
)

func TestABatchIsLikeOneAfterTheOther(t *testing.T) {
	onBoth(t, func(t *testing.T, b *bundle) {
		keyed := func(subject, text, key string) memory.Memory {
			return memory.Memory{SubjectID: subject, Text: text, Key: key}
		}
		there := b.create(t, keyed("ada", "zero", "k"))
		results, err := b.batch(t.Context(), anna, false,
			say("one"), keyed("bob", "b", "k"), keyed("ada", "1", "k"), say("one"), say(""), keyed("ada", "2", "k"), keyed("bob", "c", "k"),
			memory.Memory{SubjectID: "@", Text: "x"}, say("last"))
		noError(t, err)
		var got []string
		for _, r := range results {
			switch {
			case r.Err != nil:
				got = append(got, codeOf(r.Err))
			case r.Created:
				got = append(got, "created "+r.Memory.Text)
			case r.Deduplicated:
				got = append(got, "same "+r.Memory.Text)
			default:
				got = append(got, fmt.Sprintf("replaced %s %d", r.Memory.Text, r.Memory.Revision))
			}
		}
		want := []string{
			"created one", "created b", "replaced 1 2", "same one", problem.CodeValidation, "replaced 2 3", "replaced c 2",
			problem.CodeValidation, "created last",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
		if results[2].Memory.ID != there.ID || results[3].Memory.ID != results[0].Memory.ID {
			t.Error("other memories were replaced or repeated")
		}
		if ids := []string{results[0].Memory.ID, results[1].Memory.ID, results[8].Memory.ID}; !slices.IsSorted(ids) {
			t.Errorf("ids do not rise: %v", ids)
		}
		history, _, err := b.Reader.History(t.Context(), anna, there.ID, 0, 10)
		noError(t, err)
		wantTexts(t, history, "2", "1", "zero")
		history, _, err = b.Reader.History(t.Context(), anna, results[1].Memory.ID, 0, 10)
		noError(t, err)
		wantTexts(t, history, "c", "b")
		wantTexts(t, b.list(t, anna, memory.Filter{SubjectID: "bob"}), "c")
		person, err := b.SubjectReader.Subject(t.Context(), anna, "ada")
		noError(t, err)
		if person.Memories != 3 || person.Bytes != int64(len("2")+len("one")+len("last")) {
			t.Errorf("the subject has %+v", person)
		}
	})
}

func TestAnAtomicBatchIsAllOrNothing(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		_, err := b.batch(t.Context(), anna, true, say("one"), say("two"), say(""))
		wantField(t, err, "items[2].text", problem.Required)
		b.max.Store(1)
		_, err = b.batch(t.Context(), anna, true, say("one"), say("two"))
		wantField(t, err, "items[1]", problem.NotAllowed)
		if list := b.list(t, anna, memory.Filter{}); len(list) != 0 {
			t.Errorf("%d were stored", len(list))
		}
		b.max.Store(0)
		results, err := b.batch(t.Context(), anna, true, say("one"), say("two"))
		noError(t, err)
		if len(results) != 2 || results[1].Err != nil {
			t.Errorf("got %+v", results)
		}
		_, err = b.Writer.PrepareBatch(t.Context(), anna, nil, false)
		wantField(t, err, "items", problem.Required)
		_, err = b.Writer.PrepareBatch(t.Context(), anna, make([]memory.Item, memory.MaxBatch+1), false)
		wantField(t, err, "items", problem.TooLong)
	})
}

func TestABatchOfAThousandIsWhole(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		var list []memory.Memory
		for i := range 1000 {
			list = append(list, memory.Memory{SubjectID: fmt.Sprint("s", i%300), Text: fmt.Sprint("text ", i), Key: fmt.Sprint("k", i%700)})
		}
		for range 2 {
			results, err := b.batch(t.Context(), anna, false, list...)
			noError(t, err)
			for i, r := range results {
				if r.Err != nil || r.Memory.Text != list[i].Text {
					t.Fatalf("item %d: %+v", i, r)
				}
			}
		}
		want := map[string]bool{}
		for _, n := range list {
			want[n.SubjectID+" "+n.Key] = true
		}
		for subject := range 300 {
			for _, m := range b.list(t, anna, memory.Filter{SubjectID: fmt.Sprint("s", subject)}) {
				delete(want, m.SubjectID+" "+m.Key)
			}
		}
		if len(want) != 0 {
			t.Errorf("%d are missing", len(want))
		}
	})
}

// An outer unit of work is that of an idempotent request. What was prepared before it may not hold any more in it.
func TestWhatWasPreparedIsDecidedAgainInTheUnit(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		first := b.create(t, memory.Memory{SubjectID: "ada", Text: "one", Key: "k"})
		prepared, err := b.Writer.Prepare(t.Context(), anna, memory.Item{Memory: memory.Memory{SubjectID: "ada", Text: "two", Key: "k"}})
		noError(t, err)
		_, err = b.Changer.Change(t.Context(), anna, first.ID, memory.Change{Text: memory.SetTo("between")}, nil)
		noError(t, err)
		var stored *memory.Stored
		noError(t, b.store.Run(t.Context(), func(ctx context.Context) (err error) {
			stored, err = b.Writer.Create(ctx, prepared)
			return err
		}))
		if stored.Created || stored.Memory.Revision != 3 {
			t.Errorf("got %+v", stored)
		}
		history, _, err := b.Reader.History(t.Context(), anna, first.ID, 0, 10)
		noError(t, err)
		wantTexts(t, history, "two", "between", "one")

		prepared, err = b.Writer.Prepare(t.Context(), anna, memory.Item{Memory: say("late")})
		noError(t, err)
		_, err = b.SubjectEraser.Erase(t.Context(), anna, "ada")
		noError(t, err)
		err = b.store.Run(t.Context(), func(ctx context.Context) error {
			_, err := b.Writer.Create(ctx, prepared)
			return err
		})
		var stale *unit.StaleError
		if !errors.As(err, &stale) || codeOf(err) != problem.CodeUnavailable {
			t.Errorf("under a key that is gone: %v", err)
		}
		// Outside a unit it is prepared again.
		late, err := b.Writer.Create(t.Context(), prepared)
		noError(t, err)
		wantTexts(t, b.list(t, anna, memory.Filter{SubjectID: "ada"}), late.Memory.Text)
	})
}

// TestBatchesKeepTheRules compares random batches with a model that knows the rules and nothing else.
func TestBatchesKeepTheRules(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		p := &auth.Principal{Kind: auth.User, WorkspaceID: fmt.Sprint("wsp_", round), UserID: "usr_anna"}
		type item struct {
			key, text, kind string
			revision        int64
		}
		var model []*item
		for range rapid.IntRange(1, 4).Draw(t, "batches") {
			var list []memory.Item
			for range rapid.IntRange(1, 8).Draw(t, "items") {
				list = append(list, memory.Item{
					Memory: memory.Memory{
						SubjectID: "ada", Text: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "text"),
						Kind: rapid.SampledFrom([]memory.Kind{memory.Fact, memory.Turn}).Draw(t, "kind"),
						Key:  rapid.SampledFrom([]string{"", "", "k", "l"}).Draw(t, "key"),
					},
					Duplicates: rapid.SampledFrom([]memory.Duplicates{
						memory.DefaultDuplicates, memory.AllowDuplicates, memory.Deduplicate,
					}).Draw(t, "duplicates"),
				})
			}
			results, err := b.batchItems(context.Background(), p, rapid.Bool().Draw(t, "atomic"), list)
			if err != nil {
				t.Fatal(err)
			}
			for i := range list {
				n := &list[i].Memory
				var want string
				var there *item
				for _, m := range model {
					byKey := n.Key != "" && m.key == n.Key
					compared := n.Kind == memory.Fact && list[i].Duplicates == memory.DefaultDuplicates || list[i].Duplicates == memory.Deduplicate
					alike := n.Key == "" && compared && m.text == n.Text && m.kind == string(n.Kind)
					if there == nil && (byKey || alike) {
						there = m
					}
				}
				switch {
				case there == nil:
					want = "created"
					model = append(model, &item{n.Key, n.Text, string(n.Kind), 1})
				case n.Key == "":
					want = "same"
				default:
					want = "replaced"
					there.text, there.kind = n.Text, string(n.Kind)
					there.revision++
				}
				got := "replaced"
				if results[i].Created {
					got = "created"
				} else if results[i].Deduplicated {
					got = "same"
				}
				if results[i].Err != nil || got != want {
					t.Fatalf("item %d, %+v: %s (%v), want %s", i, n, got, results[i].Err, want)
				}
			}
		}
		found, _, err := b.Reader.List(context.Background(), p, memory.Filter{Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, m := range found {
			got = append(got, fmt.Sprint(m.Key, " ", m.Text, " ", m.Kind, " ", m.Revision))
		}
		for _, m := range model {
			want = append(want, fmt.Sprint(m.key, " ", m.text, " ", m.kind, " ", m.revision))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("stored %q, want %q", got, want)
		}
	})
}
