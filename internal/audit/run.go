package audit

import (
	"context"
	"errors"
	"sync"
	"time"
)

// checkpointEvery is how often counts are written and the end of the chain is noted.
const checkpointEvery = time.Minute

// Run keeps counts and checkpoints up to date until ctx ends. Close follows it.
func (l *Log) Run(ctx context.Context) {
	if err := l.compare(ctx); err != nil && ctx.Err() == nil {
		l.Log.Error("the audit log was not compared with its checkpoints", "error", err)
	}
	var retention sync.WaitGroup
	retention.Go(func() { l.runRetention(ctx) })
	defer retention.Wait()
	tick := time.NewTicker(checkpointEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := l.note(ctx); err != nil {
				l.Log.Error("the audit log has no new checkpoint", "error", err)
			}
		}
	}
}

// runRetention removes old reads until ctx ends.
func (l *Log) runRetention(ctx context.Context) {
	if l.ReadDays == 0 {
		return
	}
	tick := time.NewTicker(removeEvery)
	defer tick.Stop()
	for {
		if err := l.RemoveReads(ctx); err != nil && ctx.Err() == nil {
			l.Log.ErrorContext(ctx, "removing old reads from the audit log failed", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Close writes what is queued and what was counted, and a last checkpoint. Nothing is lost by calling it more than once,
// and whoever reads after it waits for the row.
func (l *Log) Close(ctx context.Context) error {
	return errors.Join(l.endReads(ctx), l.note(ctx))
}

// note writes what was counted, and where the chains end.
func (l *Log) note(ctx context.Context) error {
	return errors.Join(l.flush(ctx), l.Checkpoint(ctx))
}
