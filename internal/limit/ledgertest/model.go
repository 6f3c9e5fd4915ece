// Package ledgertest is a ledger of limits in memory, in the plainest way, and what every ledger has to do as it does.
package ledgertest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"keepsake/internal/limit"
)

// Model is a ledger in memory. It can be slow, gone or emptied.
type Model struct {
	mu      sync.Mutex
	life    int
	windows map[key]*window
	now     func() time.Time
	settle  time.Duration // limit.Settling but for a ledger that settles sooner
	delay   time.Duration // of an answer, half of it before the effect
	down    bool
	silent  bool
}

type key struct {
	tag, subject string
	kind         limit.Kind
	window       uint32
}

type window struct {
	born           time.Time
	own            map[string]int64
	number         map[string]uint64
	durable, known int64
	lost           bool  // what others said of it before, though somebody knew of it
	missing        int64 // what nobody has said again
}

// NewModel makes an empty one with a clock.
func NewModel(now func() time.Time) *Model {
	return &Model{windows: map[key]*window{}, now: now, settle: limit.Settling}
}

// ErrDown is what a model answers that is down.
var ErrDown = errors.New("the ledger is down")

// Empty makes it forget everything.
func (m *Model) Empty() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.life++
	m.windows = map[key]*window{}
}

// Down makes it answer an error at once, or answer again.
func (m *Model) Down(down bool) { m.set(func() { m.down = down }) }

// Silence makes it answer nothing until the caller gives up, or answer again.
func (m *Model) Silence(silent bool) { m.set(func() { m.silent = silent }) }

// Slow makes every answer take as long.
func (m *Model) Slow(delay time.Duration) { m.set(func() { m.delay = delay }) }

func (m *Model) set(fn func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	fn()
}

// Total is what it has of a window.
func (m *Model) Total(tag, subject string, kind limit.Kind, number uint32) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if w := m.windows[key{tag, subject, kind, number}]; w != nil {
		return w.total(m.now(), m.settle)
	}
	return 0
}

// Member is the ledger as one member sees it. cut says whether that member is cut off; it may be nil.
func (m *Model) Member(id string, cut func() bool) limit.Ledger {
	if cut == nil {
		cut = func() bool { return false }
	}
	return &member{m, id, cut}
}

type member struct {
	*Model
	id  string
	cut func() bool
}

// travel takes half of a round trip.
func (m *member) travel(ctx context.Context) error {
	m.mu.Lock()
	delay, down, silent := m.delay, m.down, m.silent || m.cut()
	m.mu.Unlock()
	if down {
		return ErrDown
	}
	if silent {
		<-ctx.Done()
		return ctx.Err()
	}
	if delay == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(delay / 2)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// Exchange implements limit.Ledger.
func (m *member) Exchange(ctx context.Context, contacts []limit.Contact) []limit.Reply {
	replies := make([]limit.Reply, len(contacts))
	err := m.travel(ctx)
	for i := range contacts {
		if err == nil {
			replies[i] = m.contact(m.id, &contacts[i])
		}
	}
	if err == nil {
		err = m.travel(ctx)
	}
	for i := range replies {
		if err != nil {
			replies[i] = limit.Reply{Err: err}
		}
	}
	return replies
}

// Life implements limit.Ledger.
func (m *member) Life(ctx context.Context) (string, time.Time, error) {
	if err := m.travel(ctx); err != nil {
		return "", time.Time{}, err
	}
	m.mu.Lock()
	life, at := strconv.Itoa(m.life), m.now()
	m.mu.Unlock()
	return life, at, m.travel(ctx)
}

// contact is what a ledger does.
func (m *Model) contact(id string, c *limit.Contact) limit.Reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	reply := limit.Reply{At: now}
	list := make([]*window, len(c.Budget))
	for _, e := range c.Budget {
		if w := m.windows[key{c.Tag, e.Subject, e.Kind, e.Window}]; w != nil && c.Number <= w.number[id] {
			return limit.Reply{Err: limit.ErrOvertaken}
		}
	}
	for i, e := range c.Budget {
		k := key{c.Tag, e.Subject, e.Kind, e.Window}
		w := m.windows[k]
		reply.Budget = append(reply.Budget, limit.Standing{New: w == nil})
		if w == nil {
			w = &window{born: now, own: map[string]int64{}, number: map[string]uint64{}}
			m.windows[k] = w
		}
		list[i] = w
	}
	for i, e := range c.Budget {
		w := list[i]
		w.number[id] = c.Number
		if !e.Unsure {
			w.own[id] = e.Own
		}
		w.durable = max(w.durable, e.Durable)
		if now.Sub(w.born) < m.settle {
			w.known = max(w.known, e.Known)
			w.lost = w.lost || w.sum() == w.own[id] && e.Known > e.Own
		} else if w.lost && e.Kind == limit.Minute {
			w.missing, w.lost = max(0, w.known-w.sum()), false
		}
	}
	for _, want := range c.Wants {
		granted := want.Callers
		for _, i := range want.Of {
			left := max(0, c.Budget[i].Limit-list[i].total(now, m.settle))
			granted = min(granted, left/want.Cost)
		}
		for _, i := range want.Of {
			list[i].own[id] += granted * want.Cost
			list[i].known += granted * want.Cost
		}
		reply.Granted = append(reply.Granted, granted)
	}
	for i, w := range list {
		reply.Budget[i].Total, reply.Budget[i].Own = w.total(now, m.settle), w.own[id]
	}
	return reply
}

func (w *window) sum() int64 {
	sum := w.missing
	for _, own := range w.own {
		sum += own
	}
	return sum
}

func (w *window) total(now time.Time, settle time.Duration) int64 {
	sum := w.sum()
	if sum = max(sum, w.durable); w.lost && now.Sub(w.born) < settle {
		sum = max(sum, w.known)
	}
	return sum
}
