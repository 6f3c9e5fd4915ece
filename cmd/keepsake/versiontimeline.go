package main

import (
	"fmt"
	"strings"
	"time"

	"keepsake/client"
)

// timelineWidth is the number of columns of a timeline, without the names of the versions.
const timelineWidth = 64

// The marks of the states in a timeline.
const (
	activeMark     = '█'
	deprecatedMark = '▓'
	sunsetMark     = '░'
	nothingMark    = ' '
)

// timeline draws the states of versions over time, a line each, and says below what is ahead and which checks have run. It is empty
// while no version has an end.
func timeline(versions []client.VersionRecord, now time.Time) string {
	from, to, ends := span(versions, now)
	if !ends {
		return ""
	}
	var b strings.Builder
	scale := to.Sub(from)
	column := func(t time.Time) int {
		return int(int64(timelineWidth) * int64(t.Sub(from)/time.Second) / int64(scale/time.Second))
	}
	first, last := day(from), day(to)
	fmt.Fprintf(&b, "     %s%*s\n", first, timelineWidth-len(first), last)
	for i := range versions {
		v := &versions[i]
		line := make([]rune, timelineWidth)
		for c := range line {
			line[c] = markOf(v, from.Add(scale/timelineWidth*time.Duration(c)+scale/timelineWidth/2))
		}
		fmt.Fprintf(&b, "%-4s %s\n", "v"+v.Version.Version, strings.TrimRight(string(line), " "))
	}
	fmt.Fprintf(&b, "     %s\n", pointer(min(column(now), timelineWidth-1), "now, "+day(now)))
	fmt.Fprintf(&b, "     %c active   %c deprecated   %c sunset (410)\n", activeMark, deprecatedMark, sunsetMark)
	for i := range versions {
		outlook(&b, &versions[i], now)
	}
	return b.String()
}

// span returns the time that a timeline shows, and whether a version has an end.
func span(versions []client.VersionRecord, now time.Time) (from, to time.Time, ends bool) {
	from, to = now, now
	for i := range versions {
		v := &versions[i]
		if v.Since.Before(from) {
			from = v.Since
		}
		if v.RetiresAt != nil {
			ends = true
			if v.RetiresAt.After(to) {
				to = *v.RetiresAt
			}
		}
	}
	return from, to.AddDate(0, 1, 0), ends
}

// markOf returns the mark of a version at a time.
func markOf(v *client.VersionRecord, at time.Time) rune {
	before := func(t *time.Time) bool { return t == nil || at.Before(*t) }
	switch {
	case at.Before(v.Since):
		return nothingMark
	case before(v.AnnouncedAt):
		return activeMark
	case before(v.SunsetAt):
		return deprecatedMark
	case before(v.RetiresAt):
		return sunsetMark
	default:
		return nothingMark
	}
}

// pointer puts a text at a column, or before it if there is no space behind.
func pointer(column int, text string) string {
	if column+2+len(text) > timelineWidth {
		return fmt.Sprintf("%*s", column+1, text+" ^")
	}
	return strings.Repeat(" ", column) + "^ " + text
}

// outlook writes what is ahead of a version, and which checks have run.
func outlook(b *strings.Builder, v *client.VersionRecord, now time.Time) {
	if v.SunsetAt == nil {
		return
	}
	fmt.Fprintf(b, "\nv%s  ", v.Version.Version)
	switch v.State {
	case "active", "deprecated":
		if v.CheckAt != nil {
			fmt.Fprintf(b, "traffic check %s, ", day(*v.CheckAt))
		}
		fmt.Fprintf(b, "sunset %s (in %d days)\n", day(*v.SunsetAt), int(v.SunsetAt.Sub(now)/(24*time.Hour)))
	case "sunset":
		fmt.Fprintf(b, "sunset since %s, retires %s\n", day(*v.SunsetAt), day(*v.RetiresAt))
	default:
		fmt.Fprintf(b, "retired since %s\n", day(*v.RetiresAt))
	}
	for i := range v.Checks {
		c := &v.Checks[i]
		fmt.Fprintf(b, "    check %s: sunset %s", day(c.CheckedAt), c.Verdict)
		if !c.NewSunsetAt.Equal(c.SunsetAt) {
			fmt.Fprintf(b, " to %s", day(c.NewSunsetAt))
		}
		if u := c.Traffic; u != nil {
			fmt.Fprintf(b, "; %d of %d requests, %d of %d API keys regularly", u.Requests, u.AllRequests, u.Keys, u.ActiveKeys)
		}
		b.WriteString("\n")
	}
}

func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
