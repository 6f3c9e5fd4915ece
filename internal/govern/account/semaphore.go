package account

import (
	"context"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"keepsake/internal/base/problem"
)

// hashSemaphore limits concurrent password hashes, because each takes a core and 19 MiB. Others wait in a bounded queue.
// Addresses take turns, so an address with many requests delays each other address by only one.
type hashSemaphore struct {
	garbage    garbage
	mu         sync.Mutex
	free       int
	maxWaiting int
	waiting    int
	first      *addressQueue // the address whose turn is next, in a ring
	queues     map[network]*addressQueue
}

// addressQueue is the queue of one address, and its place in the ring of addresses.
type addressQueue struct {
	network    network
	turns      []*turn
	next, last *addressQueue
}

type turn struct {
	come    chan struct{} // closed when the slot is granted or refused
	refused bool
}

// hashSlots is how many passwords are hashed at once: one fewer than there are cores, so that requests without a credential
// cannot take every core from other callers.
func hashSlots(cores int) int { return max(1, cores-1) }

// waitingPerSlot limits the wait to two or three seconds.
const waitingPerSlot = 64

func newHashSemaphore(slots int, cost PasswordCost) *hashSemaphore {
	return &hashSemaphore{
		garbage: garbage{max: slots * garbagePerSlot / int(cost.orDefault().MemoryKiB), cycles: collections, collect: runtime.GC},
		free:    slots, maxWaiting: slots * waitingPerSlot, queues: map[network]*addressQueue{},
	}
}

var errTooManyHashes = problem.NotAvailable("Too many passwords are being checked; try again.", 2*time.Second)

// enter waits for a slot. After success, call leave.
func (g *hashSemaphore) enter(ctx context.Context, from netip.Addr) error {
	network := networkOf(from)
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return nil
	}
	if g.waiting >= g.maxWaiting && !g.dropLongest(network) {
		g.mu.Unlock()
		return errTooManyHashes
	}
	t := &turn{come: make(chan struct{})}
	g.push(network, t)
	g.mu.Unlock()
	select {
	case <-t.come:
		if t.refused {
			return errTooManyHashes
		}
		return nil
	case <-ctx.Done():
		if !g.withdraw(network, t) && !t.refused {
			g.leave() // the slot was granted at the same moment
		}
		return problem.Busy(ctx.Err())
	}
}

// leave passes the slot to the next address.
func (g *hashSemaphore) leave() {
	g.garbage.add()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.first == nil {
		g.free++
		return
	}
	q := g.first
	t := q.turns[0]
	q.turns = q.turns[1:]
	g.waiting--
	g.first = q.next
	if len(q.turns) == 0 {
		g.remove(q)
	}
	close(t.come)
}

// dropLongest refuses the newest request of the longest queue, unless that queue is the newcomer's own.
func (g *hashSemaphore) dropLongest(newcomer network) bool {
	var longest *addressQueue
	for _, q := range g.queues {
		if longest == nil || len(q.turns) > len(longest.turns) {
			longest = q
		}
	}
	own := 0
	if q := g.queues[newcomer]; q != nil {
		own = len(q.turns)
	}
	if len(longest.turns) <= own+1 {
		return false
	}
	last := longest.turns[len(longest.turns)-1]
	longest.turns = longest.turns[:len(longest.turns)-1] // there was more than one
	g.waiting--
	last.refused = true
	close(last.come)
	return true
}

func (g *hashSemaphore) push(network network, t *turn) {
	g.waiting++
	if q := g.queues[network]; q != nil {
		q.turns = append(q.turns, t)
		return
	}
	q := &addressQueue{network: network, turns: []*turn{t}}
	g.queues[network] = q
	if g.first == nil {
		q.next, q.last, g.first = q, q, q
		return
	}
	// A new address is last in the ring.
	q.next, q.last = g.first, g.first.last
	q.last.next, g.first.last = q, q
}

// withdraw removes a turn that was not granted. It returns false if there is none.
func (g *hashSemaphore) withdraw(network network, t *turn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	q := g.queues[network]
	if q == nil {
		return false
	}
	for i, other := range q.turns {
		if other == t {
			q.turns = append(q.turns[:i:i], q.turns[i+1:]...)
			g.waiting--
			if len(q.turns) == 0 {
				g.remove(q)
			}
			return true
		}
	}
	return false
}

// remove removes an address from the ring.
func (g *hashSemaphore) remove(q *addressQueue) {
	delete(g.queues, q.network)
	if q.next == q {
		g.first = nil
		return
	}
	q.last.next, q.next.last = q.next, q.last
	if g.first == q {
		g.first = q.next
	}
}
