package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/problem"
	"keepsake/internal/memory"
	"keepsake/internal/memory/seal"
)

// checked has ended from one check on. Checks count once a data key was asked for, which is when memories have been read
// from the database.
type checked struct {
	context.Context
	counts *counts
	end    int64
}

type counts struct {
	memory.Keys
	on     atomic.Bool
	checks atomic.Int64
}

func (k *counts) Find(ctx context.Context, workspaceID string, subject memory.Hash, generation int64) (*seal.DataKey, error) {
	k.on.Store(true)
	return k.Keys.Find(ctx, workspaceID, subject, generation)
}

func (c *checked) Err() error {
	if c.counts.on.Load() && c.counts.checks.Add(1) >= c.end {
		return context.Canceled
	}
	return nil
}

// ending is a process of its own, and gives a context that ends at a check.
func ending(t *testing.T, b *bundle) (_ *bundle, at func(end int64) *checked) {
	k := &counts{Keys: b.keys}
	b = recalling(b).with(func(o *memory.Options) { o.Keys = k })
	return b, func(end int64) *checked {
		k.on.Store(false)
		k.checks.Store(0)
		return &checked{Context: t.Context(), counts: k, end: end}
	}
}

// What goes through the texts of many memories ends when its request does.
func TestALongReadEndsWithItsRequest(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b = recalling(b)
		const memories = 600
		list := make([]memory.Memory, memories)
		for i := range list {
			list[i] = memory.Memory{SubjectID: "ada", Text: fmt.Sprintf("number%d %s", i, strings.Repeat("harbour ", 250)), Tags: []string{"a"}}
		}
		_, err := b.batch(t.Context(), anna, true, list...)
		noError(t, err)
		const blocks = memories * 2_000 / fairshare.Block
		for name, c := range map[string]struct {
			end int64 // a check that comes before the end
			do  func(ctx context.Context, b *bundle) error
		}{
			"recall": {blocks / 2, func(ctx context.Context, b *bundle) error {
				_, err := b.Recaller.Recall(ctx, anna, about("harbour"))
				return err
			}},
			"context": {blocks / 2, func(ctx context.Context, b *bundle) error {
				_, err := b.Recaller.Context(ctx, anna, memory.ContextQuery{RecallQuery: about(""), MaxCharacters: 1_000_000})
				return err
			}},
			"forget by a query": {memories / 2, func(ctx context.Context, b *bundle) error {
				_, err := b.Forgetter.Plan(ctx, anna, memory.Forget{SubjectID: "ada", Query: "harbour pears"})
				return err
			}},
			"a list by tags": {memories / 2, func(ctx context.Context, b *bundle) error {
				_, _, err := b.Reader.List(ctx, anna, memory.Filter{SubjectID: "ada", Tags: []string{"b"}, Limit: 10})
				return err
			}},
		} {
			t.Run(name, func(t *testing.T) {
				fresh, at := ending(t, b)
				gone := at(c.end)
				if err := c.do(gone, fresh); !errors.Is(err, context.Canceled) {
					t.Errorf("after %d checks it gave %v, want it to be canceled at check %d", gone.counts.checks.Load(), err, c.end)
				}
				noError(t, c.do(t.Context(), fresh))
			})
		}
	})
}

// An index that takes longer to build than a request may last is built by several, and is whole in the end.
func TestAnIndexIsBuiltByAsManyRecallsAsItTakes(t *testing.T) {
	onBothInLong(t, func(t *testing.T, b *bundle) {
		b = recalling(b)
		for at := range 4 { // some share a change, as those of a batch do
			list := make([]memory.Memory, 100)
			for i := range list {
				list[i] = memory.Memory{SubjectID: "ada", Text: fmt.Sprintf("number%d %s", 100*at+i, strings.Repeat("harbour ", 250))}
			}
			_, err := b.batch(t.Context(), anna, true, list...)
			noError(t, err)
			b.create(t, say(fmt.Sprint("pebbles ", at)))
		}
		q := about("harbour pebbles number17 number317")
		q.Limit = 20
		want, err := recalling(b).Recaller.Recall(t.Context(), anna, q)
		noError(t, err)
		slow, at := ending(t, b)
		const most = 20
		for tried := 1; ; tried++ {
			got, err := slow.Recaller.Recall(at(240), anna, q) // of some 800 that it takes
			if err == nil {
				want.Took, got.Took = 0, 0
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("built in %d recalls it finds something else (-want +got):\n%s", tried, diff)
				}
				if tried < 2 {
					t.Error("the first recall built all of the index")
				}
				return
			}
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if tried == most {
				t.Fatalf("the index is not built after %d recalls: %+v", most, slow.Caches.RecallStats())
			}
			if tried == 1 { // what is erased meanwhile is not in it
				gone := b.create(t, say("harbour that is gone"))
				noError(t, b.Eraser.Delete(t.Context(), anna, gone.ID, nil))
			}
		}
	})
}

// An import whose lines are all refused writes nothing that would tell it that its client has gone.
func TestAnImportEndsWithItsRequest(t *testing.T) {
	t.Parallel()
	b := onSQLite(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const gone, most = 1_000, 100_000
	read := 0
	_, err := b.Importer.Import(ctx, anna, func() (memory.ImportLine, bool, error) {
		if read++; read == gone {
			cancel()
		}
		return memory.ImportLine{Number: read, Err: problem.Validation("body", problem.Format, "No.")}, read < most, nil
	}, false)
	if !errors.Is(err, context.Canceled) || read > gone+256 {
		t.Errorf("read %d lines after its client had gone, %v", read-gone, err)
	}
}
