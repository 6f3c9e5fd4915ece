// Package fairshare divides processor time among the workspaces whose computations take long.
//
// A Task counts the steps of one computation, such as a search. After each block of steps it checks its context, so that
// the computation ends soon after its client has gone or its time is over. A task that is longer than a few blocks needs a
// slot of the Scheduler to go on. While tasks of several workspaces run, only one task of each begins without a slot. A slot
// goes to the workspace that has used slots least, and is handed over after every block if such a workspace waits: a
// workspace with twenty tasks gets no more than one with a single task, and the short searches of one pass the long ones of
// others.
package fairshare

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Block is the number of steps between two checks of a task: is its context over, and must it hand over its slot? A step is a
// small piece of work of at most about 100 ns, such as reading a posting, so a block of 1,024 takes about 0.1 ms. That is how
// long another workspace waits for one block, and checks cost little compared with it.
const Block = 1024

// Free is the number of blocks that a task can take before it needs a slot. Many searches end within 4 blocks and so never
// wait. While workspaces compete, a task gets them only if its workspace has no other task: the free blocks of twenty tasks of
// one workspace would delay the others by milliseconds.
const Free = 4

// competing is how long workspaces count as competing after a task last began while another workspace had one. One second
// spans the short pauses between the searches of a workspace, so that Free keeps its limit during them.
const competing = time.Second

// Credit is the number of blocks by which a workspace without tasks starts ahead of the running workspace that has used least.
// Until it has used them, its tasks get slots first. An ordinary search takes about 10 blocks, so with 16 it mostly
// waits for one block of the others and not for one before each of its own.
const Credit = 16

// Scheduler owns the slots. It is safe for concurrent use. The nil Scheduler never makes a task wait.
type Scheduler struct {
	waiting atomic.Int64 // tasks that wait for a slot

	mu       sync.Mutex // for the rest
	free     int        // slots that no task has; 0 while a task waits
	shares   []*share   // one for each workspace that has tasks
	competed time.Time  // when a task last began while another workspace had one

	slots      int             // how many there are
	background chan struct{}   // has a value for each piece of background work
	idle       []chan struct{} // closed when no task has a slot
}

// share is what the tasks of a workspace take.
type share struct {
	workspace string
	tasks     int
	used      atomic.Int64 // blocks it has taken; only the difference to other shares matters
	queue     []*waiter
}

// waiter is a task that waits for a slot.
type waiter struct {
	granted chan struct{} // closed when the task has a slot
}

// New makes a Scheduler with a number of slots.
func New(slots int) *Scheduler {
	return &Scheduler{free: slots, slots: slots, background: make(chan struct{}, slots)}
}

// Task is one computation. It is used by one goroutine at a time. The nil Task counts nothing and never ends early.
type Task struct {
	scheduler *Scheduler
	ctx       context.Context
	share     *share
	left      int // steps until the next check
	free      int // blocks until it needs a slot
	slot      bool
}

// Start makes a task of a workspace, which ends when ctx does. End must be called after its last step.
func (s *Scheduler) Start(ctx context.Context, workspace string) *Task {
	t := &Task{scheduler: s, ctx: ctx, left: Block}
	if s == nil {
		return t
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.share = s.shareOf(workspace)
	t.share.tasks++
	now := time.Now()
	if len(s.shares) > 1 {
		s.competed = now
	}
	if t.share.tasks == 1 || now.Sub(s.competed) > competing {
		t.free = Free
	} else {
		t.left = 0
	}
	return t
}

// shareOf returns the share of a workspace; a new one if it has no tasks.
func (s *Scheduler) shareOf(workspace string) *share {
	for _, sh := range s.shares {
		if sh.workspace == workspace {
			return sh
		}
	}
	fresh := &share{workspace: workspace}
	if len(s.shares) > 0 {
		fresh.used.Store(leastUsed(s.shares).used.Load() - Credit)
	}
	s.shares = append(s.shares, fresh)
	return fresh
}

// leastUsed returns the first share with the least use.
func leastUsed(shares []*share) *share {
	return slices.MinFunc(shares, func(a, b *share) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
}

// next returns the share whose first waiter gets the next slot; nil if no task waits.
func (s *Scheduler) next() (next *share) {
	for _, sh := range s.shares {
		if len(sh.queue) > 0 && (next == nil || sh.used.Load() < next.used.Load()) {
			next = sh
		}
	}
	return next
}

// Step counts n steps that were taken. Its error is that of the context; the computation must then stop.
func (t *Task) Step(n int) error {
	if t == nil {
		return nil
	}
	if t.left -= n; t.left > 0 {
		return nil
	}
	blocks := 1 - t.left/Block
	t.left = Block
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if t.scheduler == nil {
		return nil
	}
	if t.free -= blocks; t.free >= 0 {
		return nil
	}
	t.share.used.Add(int64(blocks))
	return t.scheduler.handOver(t)
}

// Release gives up the slot until the end of the next block. It is called before the task waits for something else, such as
// a database.
func (t *Task) Release() {
	if t != nil && t.slot {
		t.slot = false
		t.scheduler.release()
	}
}

// End ends the task.
func (t *Task) End() {
	if t == nil || t.scheduler == nil {
		return
	}
	t.Release()
	s := t.scheduler
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.share.tasks--; t.share.tasks == 0 {
		s.shares = slices.DeleteFunc(s.shares, func(sh *share) bool { return sh == t.share })
	}
}

// handOver gives t a slot. A task that has one passes it on, and waits, if a task of its own workspace waits or one of a
// workspace that has used less.
func (s *Scheduler) handOver(t *Task) error {
	if t.slot && s.waiting.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	if !t.slot && s.free > 0 {
		s.free--
		t.slot = true
	}
	if t.slot {
		next := s.next()
		if next == nil || next != t.share && next.used.Load() >= t.share.used.Load() {
			s.mu.Unlock()
			return nil
		}
	}
	w := &waiter{granted: make(chan struct{})}
	t.share.queue = append(t.share.queue, w)
	s.waiting.Add(1)
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
		if !s.withdraw(t.share, w) { // it was granted a slot at the same moment
			s.release()
		}
		return t.ctx.Err()
	}
}

// grant gives a slot to the first task of the workspace that has used least, or keeps it as free.
func (s *Scheduler) grant() {
	next := s.next()
	if next == nil {
		if s.free++; s.free == s.slots {
			for _, c := range s.idle {
				close(c)
			}
			s.idle = nil
		}
		return
	}
	first := next.queue[0]
	next.queue = next.queue[1:]
	s.waiting.Add(-1)
	close(first.granted)
}

func (s *Scheduler) release() {
	s.mu.Lock()
	s.grant()
	s.mu.Unlock()
}

// withdraw takes a task out of its queue; false if it has been granted a slot.
func (s *Scheduler) withdraw(sh *share, w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(sh.queue, w)
	if at < 0 {
		return false
	}
	s.waiting.Add(-1)
	sh.queue = slices.Delete(sh.queue, at, at+1)
	return true
}
