package problem

import (
	"fmt"
	"time"
)

// Wait says how long to wait for a number of seconds: "in 40 seconds", "in 7 h 21 min (26450 seconds), at 00:00 UTC". The seconds
// are always among it. A zero now leaves the time of day out.
func Wait(seconds int64, now time.Time) string {
	if seconds < 120 {
		if seconds == 1 {
			return "in 1 second"
		}
		return fmt.Sprintf("in %d seconds", seconds)
	}
	text := fmt.Sprintf("in %s (%d seconds)", hours(seconds), seconds)
	if now.IsZero() {
		return text
	}
	// Seconds are rounded up already, so a fraction of one does not begin another minute.
	end := now.Add(time.Duration(seconds) * time.Second).Truncate(time.Second).Add(59 * time.Second).UTC()
	if seconds < 24*60*60 {
		return text + ", at " + end.Format("15:04 UTC")
	}
	return text + ", on " + end.Format("2006-01-02 at 15:04 UTC")
}

// hours formats seconds in the two largest units that they fill.
func hours(seconds int64) string {
	minutes := (seconds + 59) / 60
	units := []struct {
		name    string
		minutes int64
	}{{"d", 24 * 60}, {"h", 60}, {"min", 1}}
	for i, u := range units {
		if minutes < u.minutes {
			continue
		}
		text := fmt.Sprintf("%d %s", minutes/u.minutes, u.name)
		if i+1 < len(units) {
			if rest := minutes % u.minutes / units[i+1].minutes; rest > 0 {
				text += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return text
	}
	return "0 min"
}
