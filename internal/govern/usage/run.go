package usage

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// How long usage is kept (docs/spec/analytics.md).
const (
	keepMinutes = 48 * time.Hour
	keepHours   = 90 * 24 * time.Hour
	keepMonths  = 25 // of days

	// keepMore is how much longer minutes and hours are kept, so that a period can begin with one of the last.
	keepMore = 2 * time.Hour
)

const (
	flushEvery  = time.Second
	rollUpEvery = 10 * time.Second
	pruneEvery  = time.Hour
)

// Run flushes each second, rolls up, and deletes what is no longer kept, until ctx is done. It then completes the current flush.
func (r *Recorder) Run(ctx context.Context) {
	var tidying sync.WaitGroup
	defer tidying.Wait()
	tidying.Go(func() {
		var pruned time.Time
		tidy := func() {
			if now := r.now(); pruned.IsZero() || now.Sub(pruned) >= pruneEvery {
				r.warn(ctx, "pruning usage failed; retrying in an hour", r.prune(ctx, now))
				pruned = now
			}
			if !r.Degraded() { // otherwise the log tells what fails
				r.warn(ctx, "rolling up usage failed; retrying in ten seconds", r.store.RollUpUsage(ctx))
			}
		}
		tidy()
		each(ctx, rollUpEvery, tidy)
	})
	each(ctx, flushEvery, func() {
		_ = r.Flush(context.WithoutCancel(ctx)) // Degraded and the log report errors
	})
}

// each calls fn at an interval until ctx is done.
func each(ctx context.Context, interval time.Duration, fn func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			fn()
		}
	}
}

// Close flushes the rest. It must be called after Run has returned and the last event was recorded.
func (r *Recorder) Close(ctx context.Context) error { return r.Flush(ctx) }

func (r *Recorder) warn(ctx context.Context, message string, err error) {
	if err != nil && ctx.Err() == nil {
		r.log.Warn(message, "error", err)
	}
}

func (r *Recorder) prune(ctx context.Context, now time.Time) error {
	return r.store.PruneUsage(ctx, Retention{
		Now: now, Minutes: now.Add(-keepMinutes - keepMore), Hours: now.Add(-keepHours - keepMore), Days: now.AddDate(0, -keepMonths, 0),
	})
}

// Restore reads the costs charged in the current UTC day and month, to initialize the owners' counters. The returned
// function takes the time of its call into account: after the end of the day or month, it returns 0 for it.
func (r *Recorder) Restore(ctx context.Context) (func(ownerID string) (day, month int64), error) {
	now := r.now().UTC()
	today, thisMonth := now.Format(time.DateOnly), now.Format("2006-01")
	list, err := r.store.Quotas(ctx, []string{today, thisMonth})
	if err != nil {
		return nil, fmt.Errorf("read quotas of %s and %s: %w", today, thisMonth, err)
	}
	type used struct{ day, month int64 }
	owners := make(map[string]used, len(list)/2+1)
	for _, q := range list {
		u := owners[q.OwnerID]
		if q.Period == today {
			u.day = q.Charged
		} else {
			u.month = q.Charged
		}
		owners[q.OwnerID] = u
	}
	tomorrow := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.UTC)
	nextMonth := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	return func(ownerID string) (day, month int64) {
		u, now := owners[ownerID], r.now()
		if !now.Before(nextMonth) {
			return 0, 0
		}
		if !now.Before(tomorrow) {
			return 0, u.month
		}
		return u.day, u.month
	}, nil
}
