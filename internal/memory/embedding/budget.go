package embedding

import (
	"context"
	"sync"
	"time"
)

// budget is how many texts can be sent in a UTC day, and how many of them by each workspace (see Usage). The numbers are stored,
// so that they survive restarts and hold for all processes together. A process takes texts for queries in blocks, so that not
// every query is a write; what it does not use is lost.
type budget struct {
	limit      int64
	count      Count
	workspaces func() int

	mu      sync.Mutex
	day     int64
	left    map[spender]int64 // counted as sent, but not sent yet
	refused map[spender]int   // with the number of workspaces then
}

type spender struct {
	workspaceID string
	kind        Kind
}

// Count lets grant decide on what was sent on a day since 1970, and adds what it grants. Own is that of the workspace.
type Count func(ctx context.Context, day int64, workspaceID string, grant func(texts, own int64) (granted, ownGranted int64)) (granted int64, err error)

// block is the largest number of texts that a process takes at once for queries. For a small limit it is less.
const block = 64

// DayOf returns the UTC day of a time, in days since 1970.
func DayOf(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

// reserve makes n texts available to take, or as many as there are; ErrLimit if there is none.
func (b *budget) reserve(ctx context.Context, now time.Time, s spender, n int64) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reserveLocked(ctx, now, s, n)
}

func (b *budget) reserveLocked(ctx context.Context, now time.Time, s spender, n int64) (int64, error) {
	b.turn(now)
	workspaces := b.workspaces()
	before, refused := b.refused[s]
	if refused = refused && before == workspaces; b.left[s] < n && !refused {
		wanted := n - b.left[s]
		if s.kind == ForQuery {
			wanted = max(wanted, min(block, b.limit/1000))
		}
		granted, err := b.count(ctx, b.day, s.workspaceID, func(texts, own int64) (int64, int64) {
			return Usage{Texts: texts, Own: own, Workspaces: int64(workspaces), Limit: b.limit}.Grant(s.kind, wanted)
		})
		if err != nil {
			return 0, err
		}
		if b.left[s] += granted; b.left[s] < n {
			b.refused[s] = workspaces
		}
	}
	if b.left[s] == 0 {
		return 0, ErrLimit
	}
	return min(n, b.left[s]), nil
}

// take takes n texts, all or none.
func (b *budget) take(ctx context.Context, now time.Time, s spender, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if available, err := b.reserveLocked(ctx, now, s, n); err != nil {
		return err
	} else if available < n {
		return ErrLimit
	}
	b.left[s] -= n
	return nil
}

// turn forgets what it knows of an earlier day.
func (b *budget) turn(now time.Time) {
	if day := DayOf(now); day != b.day || b.left == nil {
		b.day, b.left, b.refused = day, map[spender]int64{}, map[spender]int{}
	}
}

// exhausted reports whether a workspace has no texts left today, as far as this process knows.
func (b *budget) exhausted(now time.Time, s spender) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	before, refused := b.refused[s]
	return refused && before == b.workspaces() && b.left[s] == 0
}

// limited reports whether texts of memories of a workspace were refused today.
func (b *budget) limited(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.turn(now)
	for s := range b.refused {
		if s.kind == ForMemories {
			return true
		}
	}
	return false
}
