package event

import (
	"context"
	"sync/atomic"
	"time"
)

// Backlog says what waits in the outbox, for webhooks that are not disabled.
type Backlog struct {
	Pending  int64     // deliveries that are to be sent, now or later; at most MaxBacklog
	OldestAt time.Time // when the first of them is or was due; the zero time if there is none
}

// MaxBacklog is the number up to which a Backlog is counted.
const MaxBacklog = 10_000

// Stats says what a Deliverer has done since the program started.
type Stats struct {
	Delivered int64 // attempts that a receiver accepted
	Failed    int64 // other attempts
	GivenUp   int64 // deliveries whose last attempt failed
	Running   int64 // requests
}

type deliveryStats struct{ delivered, failed, givenUp atomic.Int64 }

// count counts an attempt by the state of its delivery after it.
func (s *deliveryStats) count(after State) {
	switch after {
	case Delivered:
		s.delivered.Add(1)
		return
	case Failed:
		s.givenUp.Add(1)
	}
	s.failed.Add(1)
}

// Stats returns the statistics of now.
func (d *Deliverer) Stats() Stats {
	s := Stats{Delivered: d.stats.delivered.Load(), Failed: d.stats.failed.Load(), GivenUp: d.stats.givenUp.Load()}
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Running = int64(len(d.running))
	return s
}

// Backlog reads what waits in the outbox, also for other processes.
func (d *Deliverer) Backlog(ctx context.Context) (Backlog, error) {
	if !d.o.Interests.Any() {
		return Backlog{}, nil
	}
	return d.o.Store.Backlog(ctx, MaxBacklog)
}
