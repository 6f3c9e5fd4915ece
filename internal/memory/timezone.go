package memory

import (
	"regexp"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // hosts without time zones

	"keepsake/internal/base/problem"
)

// zones are the time zones that were asked for. Only names that exist are kept, so their number is bounded.
var zones sync.Map

var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]{1,31}(/[A-Za-z0-9_+-]{1,31}){0,2}$`)

// zoneOf returns the time zone with an IANA name; UTC without a name. The host's own time zone and files that only some hosts have
// are not accepted.
func zoneOf(given *string) (*time.Location, error) {
	if given == nil {
		return time.UTC, nil
	}
	name := *given
	if known, ok := zones.Load(name); ok {
		return known.(*time.Location), nil
	}
	if zoneName.MatchString(name) && name != "Local" && name != "Factory" && !strings.HasPrefix(name, "SystemV/") {
		if zone, err := time.LoadLocation(name); err == nil {
			zones.Store(name, zone)
			return zone, nil
		}
	}
	return nil, problem.Validation("timeZone", problem.InvalidVal, "timeZone must be the IANA name of a time zone, such as Europe/Berlin.")
}
