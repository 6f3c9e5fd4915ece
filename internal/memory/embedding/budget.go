package embedding

import (
	"context"
	"sync"
	"time"
)

// budget is how many texts can be sent in a UTC day. The number is stored, so that it survives restarts and holds for all
// processes together. A process takes texts in blocks, so that not every query is a write; what it does not use is lost.
type budget struct {
	limit int64
	count Count

	mu      sync.Mutex
	day     int64
	left    int64 // counted as sent, but not sent yet
	short   bool  // the limit of the day is too near for a batch
	reached bool  // the limit of the day
}

// Count adds texts to the number of a day since 1970, unless it would be greater than limit.
type Count func(ctx context.Context, day, texts, limit int64) (counted bool, err error)

const block = 64

// DayOf returns the UTC day of a time, in days since 1970.
func DayOf(t time.Time) int64 { return t.Unix() / (24 * 60 * 60) }

// take takes n texts.
func (b *budget) take(ctx context.Context, now time.Time, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if day := DayOf(now); day != b.day {
		b.day, b.left, b.reached, b.short = day, 0, false, false
	}
	if b.left < n {
		if b.reached {
			return ErrLimit
		}
		for _, more := range []int64{max(n-b.left, block), n - b.left} {
			counted, err := b.count(ctx, b.day, more, b.limit)
			if err != nil {
				return err
			}
			if counted {
				b.left += more
				break
			}
		}
	}
	if b.left < n {
		b.short = true
		b.reached = n == 1 // a single text can still fit if a batch does not
		return ErrLimit
	}
	b.left -= n
	return nil
}

// exhausted reports whether texts were refused today.
func (b *budget) exhausted(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.short && b.day == DayOf(now)
}
