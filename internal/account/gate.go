package account

import (
	"context"
	"net/netip"
	"runtime"
	"sync"
	"time"

	"keepsake/internal/problem"
)

// gate lets as many hash a password at once as there are cores, because each takes a core and 19 MiB. Others wait in a
// bounded queue, one turn an address, so that an address that asks for many delays others by one at most.
type gate struct {
	garbage garbage
	mu      sync.Mutex
	free    int
	most    int // that wait
	waiting int
	first   *queue // whose turn is next, in a ring
	queues  map[network]*queue
}

// queue is who waits from one address, and a place in the ring of addresses.
type queue struct {
	network    network
	turns      []*turn
	next, last *queue
}

type turn struct {
	come    chan struct{} // closed when it has come, or never will
	refused bool
}

// queuePerSlot bounds the queue to what is worked off in two or three seconds.
const queuePerSlot = 64

func newGate(slots int) *gate {
	return &gate{
		garbage: garbage{most: slots * garbagePerSlot, cycles: collections, collect: runtime.GC},
		free:    slots, most: slots * queuePerSlot, queues: map[network]*queue{},
	}
}

var errGateFull = problem.NotAvailable("Too many passwords are being checked; try again.", 2*time.Second)

// enter waits for a slot. Whoever got one leaves.
func (g *gate) enter(ctx context.Context, from netip.Addr) error {
	network := networkOf(from)
	g.mu.Lock()
	if g.free > 0 {
		g.free--
		g.mu.Unlock()
		return nil
	}
	if g.waiting >= g.most && !g.makeRoom(network) {
		g.mu.Unlock()
		return errGateFull
	}
	t := &turn{come: make(chan struct{})}
	g.push(network, t)
	g.mu.Unlock()
	select {
	case <-t.come:
		if t.refused {
			return errGateFull
		}
		return nil
	case <-ctx.Done():
		if !g.withdraw(network, t) && !t.refused {
			g.leave() // the turn came at the same moment
		}
		return problem.Busy(ctx.Err())
	}
}

// leave gives the slot to the next address.
func (g *gate) leave() {
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

// makeRoom sends away the newest of the longest queue, unless that is the newcomer's own.
func (g *gate) makeRoom(newcomer network) bool {
	var longest *queue
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
	longest.turns = longest.turns[:len(longest.turns)-1] // more than one was there
	g.waiting--
	last.refused = true
	close(last.come)
	return true
}

func (g *gate) push(network network, t *turn) {
	g.waiting++
	if q := g.queues[network]; q != nil {
		q.turns = append(q.turns, t)
		return
	}
	q := &queue{network: network, turns: []*turn{t}}
	g.queues[network] = q
	if g.first == nil {
		q.next, q.last, g.first = q, q, q
		return
	}
	// A new address comes behind all who wait now.
	q.next, q.last = g.first, g.first.last
	q.last.next, g.first.last = q, q
}

// withdraw takes a turn out that has not come.
func (g *gate) withdraw(network network, t *turn) bool {
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

// remove takes an address out of the ring.
func (g *gate) remove(q *queue) {
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
