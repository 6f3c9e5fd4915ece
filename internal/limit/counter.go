package limit

import "sync/atomic"

// Counter counts what was used of one budget in its latest window: 26 bits of window number and 38 bits of count in one
// word, so that the turn of a window and its first charge are one step. It never counts past the limit it is asked to
// keep.
type Counter struct{ word atomic.Uint64 }

const (
	countBits  = 38
	maxCount   = 1<<countBits - 1 // a limit as large as this counts and refuses nothing
	windowBits = 64 - countBits
	windowMask = 1<<windowBits - 1
)

func pack(window uint32, count int64) uint64 {
	return uint64(window&windowMask)<<countBits | uint64(count)
}

func windowIn(word uint64) uint32 { return uint32(word >> countBits) }

// used is what a word shows as used of a window: nothing, when it counts another one.
func used(word uint64, window uint32) int64 {
	if windowIn(word) != window {
		return 0
	}
	return int64(word & maxCount)
}

// next is the number of the window after this one.
func next(window uint32) uint32 { return (window + 1) & windowMask }

// take charges cost to window unless that would pass limit, and gives the count it led to. stale is the window that may
// give way to window; when the counter shows a third one, it moved on since the caller looked, and take answers !taken.
func (c *Counter) take(window, stale uint32, cost, limit int64) (count int64, taken bool) {
	for {
		word := c.word.Load()
		if w := windowIn(word); w != window && w != stale {
			return 0, false
		}
		count = used(word, window) + cost
		if count > limit {
			if limit < maxCount {
				return 0, false
			}
			count = maxCount
		}
		if c.word.CompareAndSwap(word, pack(window, count)) {
			return count, true
		}
	}
}

// giveBack returns cost to window; a window that is over has nothing to be given back to.
func (c *Counter) giveBack(window uint32, cost int64) {
	for {
		word := c.word.Load()
		if windowIn(word) != window {
			return
		}
		if c.word.CompareAndSwap(word, pack(window, max(0, used(word, window)-cost))) {
			return
		}
	}
}

// set makes the counter show count in window.
func (c *Counter) set(window uint32, count int64) {
	c.word.Store(pack(window, min(max(count, 0), maxCount)))
}
