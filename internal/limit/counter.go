package limit

import "sync/atomic"

// Counter counts one budget's use in the current window: 26 bits of window number and 38 bits of count in one word, so
// that a window's turn and its first charge are one step.
type Counter struct{ word atomic.Uint64 }

const (
	countBits  = 38
	maxCount   = 1<<countBits - 1
	windowMask = 1<<(64-countBits) - 1
)

func pack(window uint32, count int64) uint64 {
	return uint64(window&windowMask)<<countBits | uint64(count)
}

func windowIn(word uint64) uint32 { return uint32(word >> countBits) }

func countIn(word uint64) int64 { return int64(word & maxCount) }

// set makes the counter show count in window.
func (c *Counter) set(window uint32, count int64) {
	c.word.Store(pack(window, min(max(count, 0), maxCount)))
}

// refund gives back what was charged in window; a window that is over keeps nothing to give back to.
func (c *Counter) refund(window uint32, cost int64) {
	for {
		word := c.word.Load()
		if windowIn(word) != window {
			return
		}
		if c.word.CompareAndSwap(word, pack(window, max(0, countIn(word)-cost))) {
			return
		}
	}
}
