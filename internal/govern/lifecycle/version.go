// Package lifecycle manages the versions of the API: their releases, announcements and ends, and who still calls them.
package lifecycle

import (
	"strconv"
	"time"
)

// State is the state of a version (docs/spec/interface-spec.md, §3.1).
type State string

// The states, in the order a version passes through them.
const (
	Active     State = "active"     // fully supported
	Deprecated State = "deprecated" // still served; its sunset is announced
	Sunset     State = "sunset"     // 410, with links to the guide and the replacement
	Retired    State = "retired"    // 404, like a version that does not exist
)

// The periods that are promised for a version (docs/spec/versions.md), in calendar months.
const (
	notice     = 6  // from the announcement of a sunset to the sunset
	retirement = 12 // from the sunset until its routes are removed
)

// Version is a released major version of the API. Its state follows from its dates and is never stored.
type Version struct {
	Number      int
	Since       time.Time // when it was released
	AnnouncedAt time.Time // when its end was announced; zero while it is active
	SunsetAt    time.Time // when it becomes 410; zero while it is active
	RetiredAt   time.Time // when its routes are removed, if an operator set that; zero: see Retires
	GuideURL    string    // of the migration guide, if it is published elsewhere
	Backdated   bool      // the notice was counted from an announcement in the past
	Revision    int64     // 1 when it was released

	DatedAt    time.Time // when SunsetAt was set; zero: unknown
	Checks     []Check   // the traffic checks that have run, by time
	Checked    bool      // the one for SunsetAt is among them
	NoticeDays int       // the days before SunsetAt of the last notice; 0 for none
}

// date sets the sunset date.
func (v *Version) date(at, now time.Time) {
	if !at.Equal(v.SunsetAt) {
		v.SunsetAt, v.DatedAt, v.Checked, v.NoticeDays = at, now, false, 0
	}
}

// At returns the state at now. A version is not sunset before the traffic check for its date has run, unless its announcement
// was backdated.
func (v *Version) At(now time.Time) State {
	switch {
	case v.AnnouncedAt.IsZero() || now.Before(v.AnnouncedAt):
		return Active
	case v.Live(now):
		return Deprecated
	case now.Before(v.Retires()):
		return Sunset
	default:
		return Retired
	}
}

// Live reports whether requests are served at now.
func (v *Version) Live(now time.Time) bool {
	return v.SunsetAt.IsZero() || now.Before(v.SunsetAt) || !v.Checked && !v.Backdated
}

// Retires is when the routes of a version with a sunset are removed: twelve months after the sunset, or earlier if an
// operator set that.
func (v *Version) Retires() time.Time {
	if !v.RetiredAt.IsZero() {
		return v.RetiredAt
	}
	return AddMonths(v.SunsetAt, retirement)
}

// Guide is the URL of the migration guide to the next version: a path of this instance, or GuideURL.
func (v *Version) Guide() string {
	if v.GuideURL != "" {
		return v.GuideURL
	}
	return "/docs/api/migration/v" + strconv.Itoa(v.Number) + "-to-v" + strconv.Itoa(v.Number+1)
}

// AddMonths adds calendar months. The day is clamped to the end of the month: one month after 31 January is the last day of
// February.
func AddMonths(t time.Time, months int) time.Time {
	year, month, day := t.Date()
	last := time.Date(year, month+time.Month(months)+1, 0, 0, 0, 0, 0, t.Location()).Day()
	hour, minute, second := t.Clock()
	return time.Date(year, month+time.Month(months), min(day, last), hour, minute, second, t.Nanosecond(), t.Location())
}
