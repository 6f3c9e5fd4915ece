package fairshare

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// checked counts how often it is checked, and has ended from one check on.
type checked struct {
	context.Context
	checks int
	end    int // the check from which on it has ended; 0: it never ends
}

func (c *checked) Err() error {
	if c.checks++; c.end > 0 && c.checks >= c.end {
		return context.Canceled
	}
	return nil
}

func TestContextIsCheckedOnceABlock(t *testing.T) {
	t.Parallel()
	ctx := &checked{Context: t.Context()}
	task := New(1).Start(ctx, "a")
	defer task.End()
	for range 100 * Block {
		if err := task.Step(1); err != nil {
			t.Fatal(err)
		}
	}
	if ctx.checks != 100 {
		t.Errorf("the context was checked %d times in 100 blocks", ctx.checks)
	}
	if err := task.Step(50 * Block); err != nil || ctx.checks != 101 {
		t.Errorf("after one large step it was checked %d times, %v", ctx.checks, err)
	}
}

func TestTaskEndsInTheBlockInWhichItsContextEnds(t *testing.T) {
	t.Parallel()
	ctx := &checked{Context: t.Context(), end: 7}
	task := New(1).Start(ctx, "a")
	defer task.End()
	steps := 0
	for task.Step(1) == nil {
		steps++
	}
	if want := 7*Block - 1; steps != want {
		t.Errorf("%d steps were taken, want %d", steps, want)
	}
}

func TestShortTaskNeedsNoSlot(t *testing.T) {
	t.Parallel()
	s := New(1)
	holder := hold(t, s, "a")
	short := s.Start(t.Context(), "a")
	if err := short.Step(Free * Block); err != nil || short.slot {
		t.Errorf("a task of %d blocks: slot %v, %v", Free, short.slot, err)
	}
	short.End()
	holder.Release()
	if s.free != 1 || holder.slot {
		t.Errorf("%d slots are free, want 1", s.free)
	}
	if err := holder.Step(Block); err != nil || !holder.slot {
		t.Errorf("after a block more the first task has a slot: %v, %v", holder.slot, err)
	}
	holder.End()
	wantIdle(t, s, 1)
}

// hold returns a task that has a slot of s.
func hold(t *testing.T, s *Scheduler, workspace string) *Task {
	t.Helper()
	task := s.Start(t.Context(), workspace)
	if err := task.Step((Free + 1) * Block); err != nil || !task.slot {
		t.Fatalf("a task of %d blocks: slot %v, %v", Free+1, task.slot, err)
	}
	return task
}

func wantIdle(t *testing.T, s *Scheduler, slots int) {
	t.Helper()
	if s.free != slots || s.waiting.Load() != 0 || len(s.shares) != 0 {
		t.Errorf("%d of %d slots are free, %d tasks wait, %d shares are left", s.free, slots, s.waiting.Load(), len(s.shares))
	}
}

// TestFurtherTasksNeedASlotWhileWorkspacesCompete begins tasks of a workspace beside one of another workspace, and a while later.
func TestFurtherTasksNeedASlotWhileWorkspacesCompete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(3)
		begin := func(workspace string) *Task {
			task := s.Start(t.Context(), workspace)
			if err := task.Step(1); err != nil {
				t.Fatal(err)
			}
			return task
		}
		alone := begin("a")
		other := begin("b")
		further := begin("a")
		other.End()
		time.Sleep(competing)
		soon := begin("a")
		time.Sleep(time.Nanosecond)
		later := begin("a")
		for name, c := range map[string]struct {
			task *Task
			want bool
		}{
			"alone": {alone, false}, "other": {other, false}, "further": {further, true}, "soon": {soon, true}, "later": {later, false},
		} {
			if c.task.slot != c.want {
				t.Errorf("%s: slot %v, want %v", name, c.task.slot, c.want)
			}
		}
		for _, task := range []*Task{alone, further, soon, later} {
			task.End()
		}
		wantIdle(t, s, 3)
	})
}

// order returns the workspaces in the order in which tasks of them took a block each, all with the only slot.
func order(t *testing.T, s *Scheduler, holder *Task, blocks int, workspaces ...string) string {
	t.Helper()
	var order []string // written by the task that has the slot
	for i, workspace := range workspaces {
		go func() {
			task := s.Start(t.Context(), workspace)
			defer task.End()
			task.free = 0
			for range blocks {
				if err := task.Step(Block); err != nil {
					t.Errorf("task %d: %v", i, err)
				}
				order = append(order, workspace)
			}
		}()
		synctest.Wait()
	}
	holder.End()
	synctest.Wait()
	wantIdle(t, s, 1)
	return strings.Join(order, "")
}

func TestSlotGoesToTheWorkspaceThatUsedLeast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		// Each task of a counts its first block before it waits, so b begins behind one of them and ahead of all.
		if got, want := order(t, s, hold(t, s, "holder"), 4, "a", "a", "a", "a", "b"), "bbbb"+strings.Repeat("a", 16); got != want {
			t.Errorf("slots went to %s, want %s", got, want)
		}
	})
}

func TestLongTasksOfTwoWorkspacesAlternate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		const blocks = 100
		got := order(t, s, hold(t, s, "holder"), blocks, "a", "b")
		if last := strings.LastIndex(got[:len(got)-2*Credit], "bbb"); last > Credit {
			t.Errorf("after %d blocks, b got three in succession: %s", last, got)
		}
		if a := strings.Count(got[:blocks], "a"); a < blocks/2-Credit || a > blocks/2 {
			t.Errorf("a got %d of the first %d blocks: %s", a, blocks, got)
		}
	})
}

func TestTasksOfAWorkspaceTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		var order []int // written by the task that has the slot
		holder := hold(t, s, "a")
		for i := range 3 {
			go func() {
				task := s.Start(t.Context(), "a")
				defer task.End()
				task.free = 0
				for range 2 {
					if err := task.Step(Block); err != nil {
						t.Error(err)
					}
					order = append(order, i)
				}
			}()
			synctest.Wait()
		}
		holder.End()
		synctest.Wait()
		if want := []int{0, 1, 2, 0, 1, 2}; !slices.Equal(order, want) {
			t.Errorf("slots went to the tasks %v, want %v", order, want)
		}
	})
}

func TestTaskWhoseContextEndsLeavesItsQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		holder := hold(t, s, "a")
		ctx, cancel := context.WithCancel(t.Context())
		var ended atomic.Int64
		for range 10 {
			go func() {
				task := s.Start(ctx, "a")
				defer task.End()
				task.free = 0
				if err := task.Step(Block); errors.Is(err, context.Canceled) {
					ended.Add(1)
				}
			}()
		}
		synctest.Wait()
		if s.waiting.Load() != 10 {
			t.Fatalf("%d tasks wait, want 10", s.waiting.Load())
		}
		cancel()
		synctest.Wait()
		if ended.Load() != 10 || s.waiting.Load() != 0 {
			t.Errorf("%d of 10 ended, %d wait", ended.Load(), s.waiting.Load())
		}
		holder.End()
		wantIdle(t, s, 1)
	})
}

func TestManyTasksLoseNoSlot(t *testing.T) {
	t.Parallel()
	s := New(3)
	var running, most atomic.Int64
	done := make(chan struct{})
	const tasks = 64
	for i := range tasks {
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer func() { done <- struct{}{} }()
			defer cancel()
			task := s.Start(ctx, string(rune('a'+i%5)))
			defer task.End()
			task.free = 0
			for round := range 200 {
				if task.Step(Block) != nil {
					return
				}
				most.Store(max(most.Load(), running.Add(1)))
				running.Add(-1)
				if round == 100 && i%7 == 0 {
					cancel()
				}
				if round%10 == i%10 {
					task.Release()
				}
			}
		}()
	}
	for range tasks {
		<-done
	}
	wantIdle(t, s, 3)
	if most.Load() > 3 {
		t.Errorf("%d tasks ran at once, want at most 3", most.Load())
	}
}

func TestWithoutASchedulerNoTaskWaits(t *testing.T) {
	t.Parallel()
	var s *Scheduler
	task := s.Start(t.Context(), "a")
	defer task.End()
	for range 3 {
		if err := task.Step(Block); err != nil {
			t.Fatal(err)
		}
	}
	var none *Task
	none.Release()
	none.End()
	if err := none.Step(Block); err != nil || task.slot {
		t.Errorf("%v, slot %v", err, task.slot)
	}
}
