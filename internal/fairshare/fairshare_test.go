package fairshare

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	defer task.Release()
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
	defer task.Release()
	steps := 0
	for task.Step(1) == nil {
		steps++
	}
	if want := 7*Block - 1; steps != want {
		t.Errorf("%d steps were taken, want %d", steps, want)
	}
}

func TestTaskOfOneBlockNeedsNoSlot(t *testing.T) {
	t.Parallel()
	s := New(1)
	holder := s.Start(t.Context(), "a")
	if err := holder.Step(Block); err != nil || !holder.slot || s.free != 0 {
		t.Fatalf("a task of a block has a slot: %v, %v", holder.slot, err)
	}
	short := s.Start(t.Context(), "a")
	for range Block - 1 {
		if err := short.Step(1); err != nil {
			t.Fatal(err)
		}
	}
	short.Release()
	holder.Release()
	if s.free != 1 || holder.slot {
		t.Errorf("%d slots are free, want 1", s.free)
	}
	if err := holder.Step(Block); err != nil || !holder.slot {
		t.Errorf("after a block more it has a slot: %v, %v", holder.slot, err)
	}
	holder.Release()
}

func TestWorkspacesGetSlotsInRotation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		holder := s.Start(t.Context(), "holder")
		if err := holder.Step(Block); err != nil {
			t.Fatal(err)
		}
		var order []string // written by the task that has the slot
		for i, workspace := range []string{"a", "a", "a", "a", "b"} {
			go func() {
				task := s.Start(t.Context(), workspace)
				defer task.Release()
				for range 4 {
					if err := task.Step(Block); err != nil {
						t.Errorf("task %d: %v", i, err)
					}
					order = append(order, workspace)
				}
			}()
			synctest.Wait()
		}
		holder.Release()
		synctest.Wait()
		if got, want := strings.Join(order, ""), "abababab"+strings.Repeat("a", 12); got != want {
			t.Errorf("slots went to %s, want %s", got, want)
		}
		if s.free != 1 || s.waiting.Load() != 0 || len(s.rotation) != 0 || len(s.queues) != 0 {
			t.Errorf("%d free, %d waiting, %v, %v", s.free, s.waiting.Load(), s.rotation, s.queues)
		}
	})
}

func TestAWorkspaceServedJustNowIsServedLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		holder := s.Start(t.Context(), "a")
		if err := holder.Step(Block); err != nil {
			t.Fatal(err)
		}
		var order []string // written by the task that has the slot
		for _, workspace := range []string{"a", "a", "b", "c"} {
			go func() {
				task := s.Start(t.Context(), workspace)
				defer task.Release()
				if err := task.Step(Block); err != nil {
					t.Error(err)
				}
				order = append(order, workspace)
			}()
			synctest.Wait()
		}
		holder.Release()
		synctest.Wait()
		if got := strings.Join(order, ""); got != "bcaa" {
			t.Errorf("slots went to %s, want bcaa", got)
		}
	})
}

func TestTaskWhoseContextEndsLeavesItsQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := New(1)
		holder := s.Start(t.Context(), "a")
		if err := holder.Step(Block); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var ended atomic.Int64
		for range 10 {
			go func() {
				task := s.Start(ctx, "a")
				defer task.Release()
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
		if ended.Load() != 10 || s.waiting.Load() != 0 || len(s.rotation) != 0 {
			t.Errorf("%d of 10 ended, %d wait, rotation %v", ended.Load(), s.waiting.Load(), s.rotation)
		}
		holder.Release()
		if s.free != 1 {
			t.Errorf("%d slots are free, want 1", s.free)
		}
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
			defer task.Release()
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
	if s.free != 3 || s.waiting.Load() != 0 || most.Load() > 3 {
		t.Errorf("%d of 3 slots are free, %d tasks wait, %d ran at once", s.free, s.waiting.Load(), most.Load())
	}
}

func TestWithoutASchedulerNoTaskWaits(t *testing.T) {
	t.Parallel()
	var s *Scheduler
	task := s.Start(t.Context(), "a")
	defer task.Release()
	for range 3 {
		if err := task.Step(Block); err != nil {
			t.Fatal(err)
		}
	}
	var none *Task
	none.Release()
	if err := none.Step(Block); err != nil || task.slot {
		t.Errorf("%v, slot %v", err, task.slot)
	}
}
