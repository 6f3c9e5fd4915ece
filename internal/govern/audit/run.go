package audit

import (
	"context"
	"errors"
	"sync"
	"time"
)

// checkpointEvery is how often counts and a checkpoint are written.
const checkpointEvery = time.Minute

// Run keeps counts and checkpoints up to date until ctx ends. Close follows it.
func (l *Log) Run(ctx context.Context) {
	err := l.compare(ctx)
	l.noteEnded(err)
	if err != nil && ctx.Err() == nil {
		l.Log.Error("comparing the audit log with its checkpoints failed", "error", err)
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
			err := l.note(ctx)
			l.noteEnded(err)
			if err != nil {
				l.Log.Error("writing an audit checkpoint failed", "error", err)
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

// Close writes queued rows, counts and a last checkpoint. It can be called again. Later reads wait for their rows.
func (l *Log) Close(ctx context.Context) error {
	return errors.Join(l.endReads(ctx), l.note(ctx))
}

// note writes counts and a checkpoint.
func (l *Log) note(ctx context.Context) error {
	return errors.Join(l.flush(ctx), l.Checkpoint(ctx))
}
