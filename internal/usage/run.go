package usage

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// How long usage is kept (decisions.md, K).
const (
	keepMinutes = 48 * time.Hour
	keepHours   = 90 * 24 * time.Hour
)

const (
	flushEvery = time.Second
	tidyEvery  = time.Hour
)

// Run flushes each second and tidies the store each hour, beginning now, until ctx is done. It then completes the
// current flush.
func (r *Recorder) Run(ctx context.Context) {
	var tidying sync.WaitGroup
	defer tidying.Wait()
	tidying.Go(func() {
		r.tidyAndTell(ctx)
		each(ctx, tidyEvery, func() { r.tidyAndTell(ctx) })
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

func (r *Recorder) tidyAndTell(ctx context.Context) {
	if err := r.tidy(ctx); err != nil && ctx.Err() == nil {
		r.log.Warn("tidying usage failed; retrying in an hour", "error", err)
	}
}

// tidy rolls up old minutes into hours and deletes old hours.
func (r *Recorder) tidy(ctx context.Context) error {
	now := r.now()
	if err := r.store.RollUpUsage(ctx, now.Add(-keepMinutes)); err != nil {
		return fmt.Errorf("roll up usage: %w", err)
	}
	if err := r.store.PruneUsage(ctx, now.Add(-keepHours)); err != nil {
		return fmt.Errorf("prune usage: %w", err)
	}
	return nil
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
