// Package limittest has a counter store in memory, in the plainest way, and a test that every counter store behaves like it.
package limittest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"keepsake/internal/govern/limit"
)

// Store is a counter store in memory. It can be slow, down, silent or emptied.
type Store struct {
	mu         sync.Mutex
	generation int
	windows    map[key]*window
	now        func() time.Time
	settling   time.Duration // limit.ReportAgainTime, but for a store that settles sooner
	delay      time.Duration // of a response, half of it before the effect
	down       bool
	silent     bool
}

type key struct {
	group, subject string
	kind           limit.Kind
	window         int32
}

type window struct {
	created       time.Time
	own           map[string]int64
	number        map[string]uint64
	stored, known int64
	lost          bool  // others reported before, and the store has lost that
	missing       int64 // what no process has reported again
}

// NewStore returns an empty store with a clock.
func NewStore(now func() time.Time) *Store {
	return &Store{windows: map[key]*window{}, now: now, settling: limit.ReportAgainTime}
}

// ErrDown is the error of a store that is down.
var ErrDown = errors.New("the counter store is down")

// Empty makes it forget everything.
func (s *Store) Empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.generation++
	s.windows = map[key]*window{}
}

// Down makes it answer an error at once, or answer again.
func (s *Store) Down(down bool) { s.set(func() { s.down = down }) }

// Silence makes it answer nothing until the caller gives up, or answer again.
func (s *Store) Silence(silent bool) { s.set(func() { s.silent = silent }) }

// Slow makes every response take as long.
func (s *Store) Slow(delay time.Duration) { s.set(func() { s.delay = delay }) }

func (s *Store) set(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// Windows is the number of windows it holds, each named by its subject.
func (s *Store) Windows() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := map[string]int{}
	for k := range s.windows {
		count[k.subject]++
	}
	return count
}

// Client is the store as one process reaches it. cut says whether that process is cut off; it may be nil.
func (s *Store) Client(cut func() bool) limit.CounterStore {
	if cut == nil {
		cut = func() bool { return false }
	}
	return &client{s, cut}
}

type client struct {
	*Store
	cut func() bool
}

// travel takes half of a round trip.
func (c *client) travel(ctx context.Context) error {
	c.mu.Lock()
	delay, down, silent := c.delay, c.down, c.silent || c.cut()
	c.mu.Unlock()
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

// Sync implements limit.CounterStore.
func (c *client) Sync(ctx context.Context, r *limit.SyncRequest) (*limit.SyncResponse, error) {
	if err := c.travel(ctx); err != nil {
		return nil, err
	}
	response, err := c.apply(r)
	if err != nil {
		return nil, err
	}
	return response, c.travel(ctx)
}

// Ping implements limit.CounterStore.
func (c *client) Ping(ctx context.Context) (string, time.Time, error) {
	if err := c.travel(ctx); err != nil {
		return "", time.Time{}, err
	}
	c.mu.Lock()
	generation, at := strconv.Itoa(c.generation), c.now()
	c.mu.Unlock()
	return generation, at, c.travel(ctx)
}

// apply is what a counter store does.
func (s *Store) apply(r *limit.SyncRequest) (*limit.SyncResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	response := &limit.SyncResponse{At: now}
	list := make([]*window, len(r.Entries))
	for _, e := range r.Entries {
		if w := s.windows[key{r.Group, e.Subject, e.Kind, e.Window}]; w != nil && r.Number <= w.number[e.Reporter] {
			return nil, limit.ErrOutdated
		}
	}
	for i, e := range r.Entries {
		k := key{r.Group, e.Subject, e.Kind, e.Window}
		w := s.windows[k]
		response.Sums = append(response.Sums, limit.Sum{New: w == nil})
		if w == nil {
			w = &window{created: now, own: map[string]int64{}, number: map[string]uint64{}}
			s.windows[k] = w
		}
		list[i] = w
		w.own[e.Reporter] = e.Own
		w.stored = max(w.stored, e.Stored)
		if now.Sub(w.created) < s.settling {
			w.known = max(w.known, e.Known)
			w.lost = w.lost || w.sum() == e.Own && e.Known > e.Own
		} else if w.lost && e.Kind == limit.Minute {
			w.missing, w.lost = max(0, w.known-w.sum()), false
		}
	}
	for _, want := range r.Wants {
		granted := true
		for _, i := range want.Of {
			granted = granted && list[i].total(now, s.settling)+want.Cost <= r.Entries[i].Limit
		}
		for _, i := range want.Of {
			if granted {
				list[i].own[r.Entries[i].Reporter] += want.Cost
				list[i].known += want.Cost
			}
		}
		response.Granted = append(response.Granted, granted)
	}
	for i, w := range list {
		reporter := r.Entries[i].Reporter
		if w.own[reporter] != 0 || w.number[reporter] != 0 {
			w.number[reporter] = r.Number
		}
		response.Sums[i].Total, response.Sums[i].Own = w.total(now, s.settling), w.own[reporter]
	}
	return response, nil
}

func (w *window) sum() int64 {
	sum := w.missing
	for _, own := range w.own {
		sum += own
	}
	return sum
}

func (w *window) total(now time.Time, settling time.Duration) int64 {
	sum := max(w.sum(), w.stored)
	if w.lost && now.Sub(w.created) < settling {
		sum = max(sum, w.known)
	}
	return sum
}
