// Package lifecycle knows which versions of the API there are and what state each is in.
package lifecycle

import (
	"strconv"
	"time"
)

// State is where a version is in its life (§3.1).
type State string

// The states, in the order a version passes through them.
const (
	Active     State = "active"     // fully supported
	Deprecated State = "deprecated" // still served, its sunset announced
	Sunset     State = "sunset"     // 410, with the way out
	Retired    State = "retired"    // gone: as if it had never been
)

// What is promised about the dates of a version (decisions.md, I), in calendar months.
const (
	notice     = 6  // from the announcement of a sunset to the sunset
	retirement = 12 // from the sunset until the paths are gone
)

// Version is one major version of the API that has been released. Its state is never stored: it follows from the dates.
type Version struct {
	Number      int
	Since       time.Time // when it was released
	AnnouncedAt time.Time // when its end was announced; zero while it is active
	SunsetAt    time.Time // from when on it is 410; zero while it is active
	RetiredAt   time.Time // when its routes are removed, if an operator set that; zero: see Retires
	GuideURL    string    // of the migration guide, when it is published elsewhere
	Backdated   bool      // its notice was counted from its announcement alone
	Revision    int64     // 1 when it was released
}

// At gives the state at a moment.
func (v *Version) At(now time.Time) State {
	switch {
	case v.AnnouncedAt.IsZero() || now.Before(v.AnnouncedAt):
		return Active
	case now.Before(v.SunsetAt):
		return Deprecated
	case now.Before(v.Retires()):
		return Sunset
	default:
		return Retired
	}
}

// Live reports whether requests are served at a moment.
func (v *Version) Live(now time.Time) bool {
	return v.SunsetAt.IsZero() || now.Before(v.SunsetAt)
}

// Retires is when the routes of a version with a sunset are removed: twelve months after the sunset, or earlier if an
// operator set that.
func (v *Version) Retires() time.Time {
	if !v.RetiredAt.IsZero() {
		return v.RetiredAt
	}
	return AddMonths(v.SunsetAt, retirement)
}

// Guide is where the way to the next version is described: a path of this instance unless GuideURL says otherwise.
func (v *Version) Guide() string {
	if v.GuideURL != "" {
		return v.GuideURL
	}
	return "/docs/api/migration/v" + strconv.Itoa(v.Number) + "-to-v" + strconv.Itoa(v.Number+1)
}

// AddMonths adds calendar months and stays inside the month it arrives in: one month after 31 January is the last of
// February. Six months' notice and the three months of an extension are counted with it.
func AddMonths(t time.Time, months int) time.Time {
	year, month, day := t.Date()
	last := time.Date(year, month+time.Month(months)+1, 0, 0, 0, 0, 0, t.Location()).Day()
	hour, minute, second := t.Clock()
	return time.Date(year, month+time.Month(months), min(day, last), hour, minute, second, t.Nanosecond(), t.Location())
}
