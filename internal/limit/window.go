package limit

import "time"

const (
	minute = 60
	day    = 24 * 60 * 60
)

// minuteOf numbers the 60-second window of a moment (Unix seconds) under a phase. Numbers are kept modulo 2^26.
func minuteOf(unix int64, phase uint32) uint32 {
	return uint32((unix+minute-int64(phase))/minute) & windowMask
}

// minuteStart is the Unix second at which the window of a moment started.
func minuteStart(unix int64, phase uint32) int64 {
	return (unix+minute-int64(phase))/minute*minute - minute + int64(phase)
}

// dayOf numbers the UTC day of a moment.
func dayOf(now time.Time) int64 { return max(0, now.Unix()) / day }

// monthOf numbers the UTC month of a day.
func monthOf(d int64) uint32 {
	year, month, _ := time.Unix(d*day, 0).UTC().Date()
	return uint32(year*12+int(month)-1) & windowMask
}

// monthEnd is the Unix second at which the UTC month of a day ends.
func monthEnd(d int64) int64 {
	year, month, _ := time.Unix(d*day, 0).UTC().Date()
	return time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC).Unix()
}
