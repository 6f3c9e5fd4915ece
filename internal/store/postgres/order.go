package postgres

import "sync"

// order runs the AfterCommit hooks of transactions one after another.
//
// A transaction takes its place before it sends its COMMIT. If it waited for a row lock, it gets there only after the
// other's COMMIT was carried out, so its place is behind the other's. Transactions that touch the same rows therefore
// run their hooks in the order of their commits, although commits run concurrently and responses can overtake each
// other.
type order struct {
	mu   sync.Mutex
	last chan struct{}
}

// turn is a place in an order.
type turn struct{ before, after chan struct{} }

func (o *order) take() turn {
	t := turn{after: make(chan struct{})}
	o.mu.Lock()
	defer o.mu.Unlock()
	t.before, o.last = o.last, t.after
	return t
}

// run waits for the earlier places, runs f and admits the next place.
func (t turn) run(f func()) {
	defer close(t.after)
	if t.before != nil {
		<-t.before
	}
	f()
}
