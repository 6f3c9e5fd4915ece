package recall

import (
	"cmp"
	"slices"
	"time"
)

// span is a period that a query names, in microseconds. Its end is exclusive.
type span struct {
	from, to int64
	loose    bool // it is not exact to the day, and texts can contain it: "moved here four years ago"
}

const (
	second = int64(1_000_000)
	day    = 24 * 3600 * second
)

// dates are the times that a query names.
type dates struct {
	spans  []span
	yearly []yearly // in any year
	zone   *time.Location
}

// yearly is a month or, with a day, a day of any year.
type yearly struct {
	month time.Month
	day   int // 0: the whole month
}

func (d *dates) none() bool { return len(d.spans) == 0 && len(d.yearly) == 0 }

// maxYears is how many years before the newest memory a month without a year can be.
const maxYears = 60

// calendar contains spans sorted by their beginning, each with the latest end up to it, so that a time is compared only with
// spans near it.
type calendar []entry

type entry struct {
	span
	reach int64
}

// A time is near a span if it is at most this long after or before it.
const (
	longAfter  = 31 * day
	longBefore = 3 * day
)

// between returns the spans near the times from earliest to latest, with yearly ones in these years.
func (d *dates) between(earliest, latest int64) calendar {
	if earliest > latest {
		return nil
	}
	seen := map[span]bool{}
	var c calendar
	add := func(s span) {
		if !seen[s] && s.to > earliest-longAfter && s.from < latest+longBefore {
			seen[s] = true
			c = append(c, entry{span: s})
		}
	}
	for _, s := range d.spans {
		add(s)
	}
	last := time.UnixMicro(latest).In(d.zone).Year()
	first := max(time.UnixMicro(earliest).In(d.zone).Year(), last-maxYears)
	slices.SortFunc(d.yearly, func(a, b yearly) int { return cmp.Or(cmp.Compare(a.month, b.month), cmp.Compare(a.day, b.day)) })
	for _, y := range slices.Compact(d.yearly) {
		for year := first; year <= last; year++ {
			from := time.Date(year, y.month, max(y.day, 1), 0, 0, 0, 0, d.zone)
			to := from.AddDate(0, 0, 1)
			if y.day == 0 {
				to = from.AddDate(0, 1, 0)
			}
			add(span{from: from.UnixMicro(), to: to.UnixMicro()})
		}
	}
	slices.SortFunc(c, func(a, b entry) int { return cmp.Compare(a.from, b.from) })
	for i := range c {
		c[i].reach = c[i].to
		if i > 0 {
			c[i].reach = max(c[i].to, c[i-1].reach)
		}
	}
	return c
}

// near calls f with all spans that contain a time or are near it, and possibly others, until f returns true.
func (c calendar) near(at int64, f func(s *span) (enough bool)) {
	i, _ := slices.BinarySearchFunc(c, at+longBefore, func(e entry, t int64) int { return cmp.Compare(e.from, t) })
	for i--; i >= 0 && c[i].reach > at-longAfter; i-- {
		if f(&c[i].span) {
			return
		}
	}
}

func (c calendar) has(at int64) (found bool) {
	c.near(at, func(s *span) bool {
		found = s.has(at)
		return found
	})
	return found
}

// closeness returns how near a time is to a named one: 1 within it, less just after it, when people talk about it, and a
// little just before it, when they look forward to it.
func (c calendar) closeness(at int64) float64 {
	best := 0.0
	c.near(at, func(s *span) bool {
		best = max(best, s.closeness(at))
		return best == 1
	})
	return best
}

func (s *span) closeness(at int64) float64 {
	switch {
	case s.has(at) && s.loose:
		return 0.4
	case s.has(at):
		return 1
	case s.loose:
	case at >= s.to:
		if late, fade := at-s.to, min(max((s.to-s.from)/2, 7*day), longAfter); late < fade {
			return 0.5 * (1 - float64(late)/float64(fade))
		}
	default:
		if early := s.from - at; early < longBefore {
			return 0.25 * (1 - float64(early)/float64(longBefore))
		}
	}
	return 0
}

func (s *span) has(at int64) bool { return at >= s.from && at < s.to }
