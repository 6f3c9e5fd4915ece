package audit

import (
	"context"
	"errors"
	"time"
)

// checkpointEvery is how often counts are written and the end of the chain is noted.
const checkpointEvery = time.Minute

// Run keeps counts and checkpoints up to date until ctx ends. Close follows it.
func (l *Log) Run(ctx context.Context) {
	if err := l.compare(ctx); err != nil && ctx.Err() == nil {
		l.Log.Error("the audit log was not compared with its checkpoints", "error", err)
	}
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

// Close writes what is queued and what was counted, and a last checkpoint. Nothing is lost by calling it more than once,
// and whoever reads after it waits for the row.
func (l *Log) Close(ctx context.Context) error {
	return errors.Join(l.endReads(ctx), l.note(ctx))
}

// note writes what was counted, and where the chains end.
func (l *Log) note(ctx context.Context) error {
	return errors.Join(l.flush(ctx), l.Checkpoint(ctx))
}
