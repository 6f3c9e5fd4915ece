package limit

import "time"

const (
	minute = 60           // seconds
	day    = 24 * 60 * 60 // seconds
)

// Kind is the length of a budget's window.
type Kind uint8

// The kinds.
const (
	Minute Kind = iota
	Day
	Month
	kinds = 3
)

func (k Kind) String() string { return [...]string{"minute", "day", "month"}[k] }

// minuteOf gives the number and the end of the 60-second window that contains unix, for windows that are shifted by phase
// seconds.
func minuteOf(unix int64, phase uint8) (window int32, end int64) {
	n := (unix + minute - int64(phase)) / minute
	return int32(n), n*minute + int64(phase)
}

// dayOf counts the UTC days since 1970; a day's number is also the number of its window.
func dayOf(unix int64) int64 { return unix / day }

// monthOf numbers the UTC month of a day.
func monthOf(d int64) int32 {
	year, month, _ := time.Unix(d*day, 0).UTC().Date()
	return int32(year*12 + int(month))
}

// monthEnd is the Unix second at which the UTC month of a day ends.
func monthEnd(d int64) int64 {
	year, month, _ := time.Unix(d*day, 0).UTC().Date()
	return time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Unix()
}

// secondOf is the Unix second of a time, and 0 for a time before 1970.
func secondOf(now time.Time) int64 { return max(0, now.Unix()) }
