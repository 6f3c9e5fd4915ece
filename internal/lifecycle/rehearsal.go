package lifecycle

import (
	"time"

	"keepsake/internal/id"
)

// Rehearsal lets one API key see a version as it will be after its sunset, so that whoever owns the key can try a
// migration before the date.
type Rehearsal struct {
	Version     int
	KeyID       string
	WorkspaceID string // of the key
	Until       time.Time
}

// rehearsed is what a rehearsal is found by on the way of a request.
type rehearsed struct {
	version int
	key     id.UUID
}

func indexOf(rehearsals []Rehearsal) map[rehearsed]time.Time {
	if len(rehearsals) == 0 {
		return nil
	}
	index := make(map[rehearsed]time.Time, len(rehearsals))
	for _, r := range rehearsals {
		if key, ok := id.Parse(id.APIKey, r.KeyID); ok {
			index[rehearsed{r.Version, key}] = r.Until
		}
	}
	return index
}

// Rehearsing reports whether any key rehearses a sunset, so that the way of a request asks for more only where one does.
func (s *Snapshot) Rehearsing() bool { return s.index != nil }

// Rehearses reports whether a key is to see a version as sunset at a moment.
func (s *Snapshot) Rehearses(version int, key id.UUID, now time.Time) bool {
	until, ok := s.index[rehearsed{version, key}]
	return ok && now.Before(until)
}

// Rehearsals lists those of a version that still run at a moment. The caller does not change them.
func (s *Snapshot) Rehearsals(version int, now time.Time) []Rehearsal {
	var list []Rehearsal
	for _, r := range s.rehearsals {
		if r.Version == version && now.Before(r.Until) {
			list = append(list, r)
		}
	}
	return list
}
