package limit

import (
	"sync/atomic"
	"time"
)

const (
	minute = 60           // seconds
	day    = 24 * 60 * 60 // seconds
)

// Windows are numbered modulo 2^26, which for minutes comes round after 127 years.

// minuteOf numbers the 60-second window in which a moment (Unix seconds) lies under a phase, and says when it ends.
func minuteOf(unix int64, phase uint32) (window uint32, end int64) {
	n := (unix + minute - int64(phase)) / minute
	return uint32(n) & windowMask, n*minute + int64(phase)
}

// dayOf counts the UTC days since 1970; a day's number is also the number of its window.
func dayOf(unix int64) int64 { return unix / day }

// monthOf numbers the UTC month of a day.
func monthOf(d int64) uint32 {
	if known := knownMonth.Load(); known != 0 && d == int64(known>>windowBits) {
		return uint32(known) & windowMask
	}
	year, month, _ := time.Unix(d*day, 0).UTC().Date()
	m := uint32(year*12+int(month)) & windowMask
	knownMonth.Store(uint64(d)<<windowBits | uint64(m))
	return m
}

// knownMonth is the day that monthOf was asked for last, and its month: nearly every charge asks for the same.
var knownMonth atomic.Uint64

// monthEnd is the Unix second at which the UTC month of a day ends.
func monthEnd(d int64) int64 {
	year, month, _ := time.Unix(d*day, 0).UTC().Date()
	return time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Unix()
}

// secondOf is the Unix second of a moment; moments before 1970 count as its first.
func secondOf(now time.Time) int64 { return max(0, now.Unix()) }
