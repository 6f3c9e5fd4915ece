package postgres

import "sync"

// order lets units run their AfterCommit hooks one after another, in an order that memory can rely on.
//
// A unit takes its place before it sends its COMMIT. A unit that was held up by a row of another gets there only after the
// other's COMMIT was carried out, so its place is behind it: units that touch the same rows run their hooks in the order
// of their commits, although commits run side by side and answers overtake each other.
type order struct {
	mu   sync.Mutex
	last chan struct{}
}

// turn is a place.
type turn struct{ before, after chan struct{} }

func (o *order) take() turn {
	t := turn{after: make(chan struct{})}
	o.mu.Lock()
	defer o.mu.Unlock()
	t.before, o.last = o.last, t.after
	return t
}

// run waits for the places before and runs f, then it is the next one's turn.
func (t turn) run(f func()) {
	defer close(t.after)
	if t.before != nil {
		<-t.before
	}
	f()
}
