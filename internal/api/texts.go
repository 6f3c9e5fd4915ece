package api

import (
	"strconv"
	"sync/atomic"
)

// texts remembers numbers as header values. It is as small as it is because the numbers that come often are few: the
// limits of the tiers, and the ends of at most sixty windows.
type texts [512]atomic.Pointer[numberText]

type numberText struct {
	number int64
	value  []string
}

// of gives a number as the value of a header. The value is shared and never written to.
func (t *texts) of(number int64) []string {
	const golden = 0x9e3779b97f4a7c15 // spreads neighbours over the places
	place := &t[uint64(number)*golden>>(64-9)]
	if known := place.Load(); known != nil && known.number == number {
		return known.value
	}
	made := &numberText{number, []string{strconv.FormatInt(number, 10)}}
	place.Store(made)
	return made.value
}
