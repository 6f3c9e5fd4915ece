package audit

import (
	"context"
	"net/netip"
	"time"
)

// maxCounted is how many different events are counted at a time. Clients can cause different events without signing in, so
// further ones are counted together: otherwise an attacker could fill the disk.
const maxCounted = 256

// counted identifies equal events.
type counted struct {
	action    Action
	workspace string
	actor     string
	target    string
	outcome   Outcome
	address   netip.Addr
}

type occurrences struct {
	n     int64
	first time.Time
}

// Count is Record for frequent events, such as failed sign-ins. It only changes memory. Equal events within a minute
// become one row with their number. A killed process loses those of its last minute. Details and RequestID are not
// recorded.
func (l *Log) Count(ctx context.Context, e Entry) {
	source, _ := ctx.Value(SourceKey).(Source)
	if !e.Address.IsValid() {
		e.Address = source.Address
	}
	if e.At.IsZero() {
		e.At = l.Now()
	}
	k := counted{e.Action, e.WorkspaceID, e.Actor, e.Target, e.Outcome, e.Address}
	l.countMu.Lock()
	defer l.countMu.Unlock()
	if _, known := l.counts[k]; !known && len(l.counts) >= maxCounted {
		k = counted{action: e.Action, outcome: e.Outcome}
	}
	l.add(k, occurrences{max(e.Count, 1), e.At})
}

// add adds to a count. The caller holds the lock.
func (l *Log) add(k counted, t occurrences) {
	if old, known := l.counts[k]; known {
		t.n += old.n
		if old.first.Before(t.first) {
			t.first = old.first
		}
	}
	l.counts[k] = t
}

// flush writes the counts. Counts that cannot be written stay for the next flush.
func (l *Log) flush(ctx context.Context) error {
	l.countMu.Lock()
	counts := l.counts
	l.counts = map[counted]occurrences{}
	l.countMu.Unlock()
	if len(counts) == 0 {
		return nil
	}
	err := l.Units.Run(ctx, func(ctx context.Context) error {
		for k, t := range counts {
			err := l.Record(ctx, Entry{
				Action: k.action, WorkspaceID: k.workspace, Actor: k.actor, Target: k.target, Outcome: k.outcome, Count: t.n,
				At: t.first, Address: k.address,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		l.countMu.Lock()
		defer l.countMu.Unlock()
		for k, t := range counts {
			l.add(k, t)
		}
	}
	return err
}
