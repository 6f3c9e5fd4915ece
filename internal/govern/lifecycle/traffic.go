package lifecycle

import (
	"math/bits"
	"slices"
	"strings"
	"time"
)

// Use is the number of authenticated requests of a caller by a route in a part of a day.
type Use struct {
	At       time.Time
	KeyID    string // empty for a signed-in user
	Version  int
	Route    string // the template: /api/v1/documents/{id}
	Requests int64
}

// Window returns the beginnings of the days that a check counts, in order. ran are days in which the service ran, the latest
// first, as far back as they were recorded; what ran before that is not known, so the days before it count, too.
func Window(now time.Time, ran []time.Time, days int) []time.Time {
	list := append([]time.Time{startOfDay(now)}, ran...)
	slices.SortFunc(list, func(a, b time.Time) int { return b.Compare(a) })
	list = slices.CompactFunc(list, time.Time.Equal)
	for len(list) < days {
		list = append(list, list[len(list)-1].AddDate(0, 0, -1))
	}
	list = list[:days]
	slices.Reverse(list)
	return list
}

// startOfDay returns the beginning of t's UTC day.
func startOfDay(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// census counts the traffic of a version.
type census struct {
	version    int
	thresholds Thresholds
	days       map[time.Time]int // positions in the window
	traffic    Traffic
	keys       map[string]*keyUse
}

// keyUse is how an API key uses the version. Only the keys of other versions have no requests.
type keyUse struct {
	requests int64
	days     uint64 // bit set of positions in the window
}

// newCensus counts the days of a window, which Window returns.
func newCensus(version int, t Thresholds, window []time.Time) *census {
	c := &census{version: version, thresholds: t, days: map[time.Time]int{}, keys: map[string]*keyUse{}}
	for i, day := range window {
		c.days[day] = i
	}
	c.traffic.From, c.traffic.Days = window[0], len(window)
	return c
}

func (c *census) add(u Use) {
	day, ok := c.days[startOfDay(u.At)]
	if !ok || u.Requests <= 0 || !counts(u.Route) {
		return
	}
	c.traffic.AllRequests += u.Requests
	key := c.keys[u.KeyID]
	if key == nil && u.KeyID != "" {
		key = &keyUse{}
		c.keys[u.KeyID] = key
	}
	if u.Version != c.version {
		return
	}
	c.traffic.Requests += u.Requests
	if key != nil {
		key.requests += u.Requests
		key.days |= 1 << day
	}
}

// count returns the traffic.
func (c *census) count() Traffic {
	u := c.traffic
	u.ActiveKeys = int64(len(c.keys))
	for _, key := range c.keys {
		if key.requests >= max(1, c.thresholds.KeyRequests) && bits.OnesCount64(key.days) >= c.thresholds.KeyDays {
			u.Keys++
		}
	}
	return u
}

// counts reports whether requests of a route count as traffic. Monitoring calls /health, and operators who prepare a sunset
// call /admin/versions: neither is a client that must migrate. A path without a route was served by no version.
func counts(route string) bool {
	if route == "" {
		return false
	}
	if _, named := InPath(route); !named {
		return true
	}
	_, rest, _ := strings.Cut(route[len("/api/v"):], "/")
	return rest != "health" && rest != "admin/versions" && !strings.HasPrefix(rest, "admin/versions/")
}
