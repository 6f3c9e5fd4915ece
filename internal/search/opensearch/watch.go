package opensearch

import (
	"context"
	"time"
)

// A process that writes a document tells only its own Follower. So each Follower reads the states of all workspaces whose claims it has, in
// one query, and wakes the workers of those that have changed.

const (
	pollsOfRest   = 100                   // of a Follower, after which a worker reads the state by itself, too
	pollsOfWork   = 2                     // between two parts of the work that deletions leave
	pollsOfFault  = 10                    // after a query that failed
	claimInterval = 20 * time.Millisecond // between two attempts of a process to get claims
)

// watch wakes the workers whose workspaces have changed, until ctx ends. While the states cannot be read, it wakes all: each then finds
// out by itself whether its own can, and reports that.
func (f *Follower) watch(ctx context.Context) {
	for pause := f.o.Poll; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = f.o.Poll
		workers, ids := f.here()
		if len(ids) == 0 {
			continue
		}
		states, err := f.o.Source.States(ctx, ids)
		if err != nil {
			pause = pollsOfFault * f.o.Poll
		}
		for _, w := range workers {
			if now := states[w.id]; err != nil || now != w.heard {
				w.heard = now
				w.notify()
			}
		}
	}
}

// here returns the workers that follow their workspaces in this process.
func (f *Follower) here() (workers []*worker, ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, w := range f.workers {
		if w.report.get().Here {
			workers, ids = append(workers, w), append(ids, id)
		}
	}
	return workers, ids
}

// retry returns how long a worker waits for a claim that another process has: longer if there are many, so that a process
// makes a limited number of attempts a second.
func (f *Follower) retry() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return max(claimRetry, time.Duration(len(f.workers))*claimInterval)
}

// rest returns how long a worker waits for a change.
func (w *worker) rest() time.Duration {
	if w.expunge.working() {
		return pollsOfWork * w.o.Poll
	}
	return pollsOfRest * w.o.Poll
}
