package lifecycle

import "time"

const (
	checkBefore = 30 * 24 * time.Hour // from the traffic check to the sunset
	extension   = 3                   // calendar months that significant traffic adds to the sunset date

	// onTime is how late a check can be without having been missed. Checks run every minute.
	onTime = 2 * time.Minute
	// shortest is the time to a backdated sunset below which the date was chosen on purpose, for a test.
	shortest = 24 * time.Hour
)

// Thresholds say which traffic of a deprecated version is significant.
type Thresholds struct {
	Days        int   // the last days in which the service ran
	Percent     int64 // of all authenticated requests
	Keys        int64 // API keys that use the version regularly; or, if that is more,
	KeysPercent int64 // of all API keys that were used
	KeyRequests int64 // a regular API key has at least this many requests
	KeyDays     int   // on at least this many days
}

// MaxDays is the greatest number of Thresholds.Days.
const MaxDays = 60

// Traffic is the traffic of a version in the days that a check counts.
type Traffic struct {
	From        time.Time // beginning of the first day
	Days        int       // in which the service ran
	Requests    int64     // authenticated requests to the version
	AllRequests int64     // authenticated requests to all versions
	Keys        int64     // API keys that use the version regularly
	ActiveKeys  int64     // API keys with a request to any version
}

// Significant reports whether so much traffic remains that a sunset would hurt.
func (t Thresholds) Significant(u Traffic) bool {
	if u.Requests > 0 && u.Requests*100 >= t.Percent*u.AllRequests {
		return true
	}
	return u.Keys > 0 && u.Keys >= t.Keys && u.Keys*100 >= t.KeysPercent*u.ActiveKeys
}

// Verdict is the result of a traffic check.
type Verdict string

// The verdicts.
const (
	Kept      Verdict = "kept"      // the sunset date stays
	Extended  Verdict = "extended"  // significant traffic remains: three calendar months later
	Postponed Verdict = "postponed" // the check was missed: thirty days after it
)

// Check is a traffic check with its inputs. There is one for each version and sunset date.
type Check struct {
	Version     int
	SunsetAt    time.Time // the date before the check
	At          time.Time
	Traffic     Traffic
	Thresholds  Thresholds
	Verdict     Verdict
	NewSunsetAt time.Time // the date after the check
}

// CheckAt is when the traffic check for the sunset date is due.
func (v *Version) CheckAt() time.Time { return v.SunsetAt.Add(-checkBefore) }

// NextCheck is when the next traffic check runs: now, if it is overdue. It is zero if there will be none for the sunset date.
func (v *Version) NextCheck(now time.Time) time.Time {
	switch {
	case v.CheckDue(now):
		return now
	case v.SunsetAt.IsZero() || v.Checked || !now.Before(v.CheckAt()):
		return time.Time{}
	default:
		return v.CheckAt()
	}
}

// CheckDue reports whether the traffic check for the sunset date must run now.
func (v *Version) CheckDue(now time.Time) bool {
	switch {
	case v.SunsetAt.IsZero() || v.Checked || now.Before(v.CheckAt()):
		return false
	case v.Backdated:
		return !v.SunsetAt.Before(now.Add(shortest))
	default:
		return true
	}
}

// Decide returns the result of the traffic check at now. Significant traffic moves the sunset date by three calendar months.
// A check that was missed, because the service did not run, leaves clients at least thirty days after it. It was not missed
// if the date was set later than thirty days before it.
func (v *Version) Decide(u Traffic, t Thresholds, now time.Time) Check {
	c := Check{
		Version: v.Number, SunsetAt: v.SunsetAt, At: now, Traffic: u, Thresholds: t, Verdict: Kept, NewSunsetAt: v.SunsetAt,
	}
	if t.Significant(u) {
		c.Verdict, c.NewSunsetAt = Extended, AddMonths(v.SunsetAt, extension)
	}
	due := v.CheckAt()
	if due.Before(v.DatedAt) {
		due = v.DatedAt
	}
	earliest := now.Add(checkBefore)
	if now.Sub(due) > onTime && !v.Backdated && c.NewSunsetAt.Before(earliest) {
		c.NewSunsetAt = earliest
		if c.Verdict == Kept {
			c.Verdict = Postponed
		}
	}
	if c.NewSunsetAt.After(farthest) && !v.SunsetAt.After(farthest) {
		c.Verdict, c.NewSunsetAt = Kept, v.SunsetAt
	}
	return c
}

// Transition is a change of a version's state.
type Transition struct {
	Version int
	State   State // the new one
	At      time.Time
}

// Transitions lists the changes of state until now, in order.
func (v *Version) Transitions(now time.Time) []Transition {
	var list []Transition
	add := func(to State, at time.Time) { list = append(list, Transition{Version: v.Number, State: to, At: at}) }
	state := v.At(now)
	if state == Active {
		return nil
	}
	add(Deprecated, v.AnnouncedAt)
	if state != Deprecated {
		add(Sunset, v.SunsetAt)
	}
	if state == Retired {
		add(Retired, v.Retires())
	}
	return list
}

// noticeDays are the days before a sunset at which remaining callers are notified.
var noticeDays = [...]int{90, 30, 14, 7, 1}

// NoticeDue returns the days before the sunset whose notice must be sent now; 0 for none. If several are due, because the
// service did not run, it is the last one. None is due for a time before the date was set.
func (v *Version) NoticeDue(now time.Time) (days int) {
	if v.At(now) != Deprecated || !now.Before(v.SunsetAt) {
		return 0
	}
	for _, d := range noticeDays {
		at := v.SunsetAt.AddDate(0, 0, -d)
		if !now.Before(at) && v.DatedAt.Before(at) && (v.NoticeDays == 0 || d < v.NoticeDays) {
			days = d
		}
	}
	return days
}
