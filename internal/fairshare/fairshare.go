// Package fairshare divides processor time among the workspaces whose computations take long.
//
// A Task counts the steps of one computation, such as a search. After each block of steps it checks its context, so that
// the computation ends soon after its client has gone or its time is over. A task that is longer than one block needs a slot
// of the Scheduler to go on, and hands it over after every block if another task waits for one. Slots go to the workspaces
// in rotation: a workspace with twenty tasks gets no more of them than one with a single task. Short tasks never ask.
package fairshare

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// Block is how many steps a task takes between two checks of its context. A step is a small piece of work, at most about
// 100 ns: a posting that is read, two positions that are compared, a few characters that are scanned.
const Block = 4096

// Scheduler owns the slots. It is safe for concurrent use. The nil Scheduler never makes a task wait.
type Scheduler struct {
	waiting atomic.Int64 // tasks in queues

	mu       sync.Mutex // for the rest
	free     int        // slots; none is free while a task waits
	rotation []string   // the workspaces that have queues, next first
	last     string     // the workspace that got a slot last
	queues   map[string][]*waiter

	slots      int
	background chan struct{}   // has a value for each piece of background work
	idle       []chan struct{} // closed when no task has a slot
}

// waiter is a task in the queue of its workspace.
type waiter struct {
	granted chan struct{} // closed when the task has a slot
}

// New makes a Scheduler with a number of slots.
func New(slots int) *Scheduler {
	return &Scheduler{free: slots, slots: slots, queues: map[string][]*waiter{}, background: make(chan struct{}, slots)}
}

// Task is one computation. It is used by one goroutine at a time. The nil Task counts nothing and never ends early.
type Task struct {
	scheduler *Scheduler
	ctx       context.Context
	workspace string
	left      int // steps until the next check
	slot      bool
}

// Start makes a task of a workspace, which ends when ctx does. Release must be called after its last step.
func (s *Scheduler) Start(ctx context.Context, workspace string) *Task {
	return &Task{scheduler: s, ctx: ctx, workspace: workspace, left: Block}
}

// Step counts n steps that were taken. Its error is that of the context; the computation must then stop.
func (t *Task) Step(n int) error {
	if t == nil {
		return nil
	}
	if t.left -= n; t.left > 0 {
		return nil
	}
	t.left = Block
	if err := t.ctx.Err(); err != nil {
		return err
	}
	return t.scheduler.handOver(t)
}

// Release gives up the slot, for good or until the end of the next block. It is called before the task waits for something
// else, such as a database.
func (t *Task) Release() {
	if t != nil && t.slot {
		t.slot = false
		t.scheduler.release()
	}
}

// handOver gives t a slot. A task that has one passes it on if others wait, and waits behind them.
func (s *Scheduler) handOver(t *Task) error {
	if s == nil || t.slot && s.waiting.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	if s.free > 0 && !t.slot {
		s.free--
		s.last = t.workspace
		s.mu.Unlock()
		t.slot = true
		return nil
	}
	w := s.enqueue(t.workspace)
	if t.slot {
		t.slot = false
		s.grant()
	}
	s.mu.Unlock()
	select {
	case <-w.granted:
		t.slot = true
		return nil
	case <-t.ctx.Done():
		if !s.withdraw(t.workspace, w) { // it was granted a slot at the same moment
			s.release()
		}
		return t.ctx.Err()
	}
}

func (s *Scheduler) enqueue(workspace string) *waiter {
	w := &waiter{granted: make(chan struct{})}
	if len(s.queues[workspace]) == 0 {
		at := len(s.rotation)
		if at > 0 && s.rotation[at-1] == s.last && workspace != s.last { // the one that was served just now comes after it
			at--
		}
		s.rotation = slices.Insert(s.rotation, at, workspace)
	}
	s.queues[workspace] = append(s.queues[workspace], w)
	s.waiting.Add(1)
	return w
}

// grant gives a slot to the first task of the workspace that is next, or keeps it as free.
func (s *Scheduler) grant() {
	if len(s.rotation) == 0 {
		if s.free++; s.free == s.slots {
			for _, c := range s.idle {
				close(c)
			}
			s.idle = nil
		}
		return
	}
	workspace := s.rotation[0]
	s.last = workspace
	queue := s.queues[workspace]
	s.rotation = s.rotation[1:]
	if len(queue) > 1 {
		s.queues[workspace] = queue[1:]
		s.rotation = append(s.rotation, workspace)
	} else {
		delete(s.queues, workspace)
	}
	s.waiting.Add(-1)
	close(queue[0].granted)
}

func (s *Scheduler) release() {
	s.mu.Lock()
	s.grant()
	s.mu.Unlock()
}

// withdraw takes a task out of its queue; false if it has been granted a slot.
func (s *Scheduler) withdraw(workspace string, w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.queues[workspace], w)
	if at < 0 {
		return false
	}
	s.waiting.Add(-1)
	if s.queues[workspace] = slices.Delete(s.queues[workspace], at, at+1); len(s.queues[workspace]) == 0 {
		delete(s.queues, workspace)
		s.rotation = slices.DeleteFunc(s.rotation, func(name string) bool { return name == workspace })
	}
	return true
}
