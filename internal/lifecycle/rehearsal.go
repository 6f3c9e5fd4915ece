package lifecycle

import (
	"time"

	"keepsake/internal/id"
)

// Rehearsal lets one API key see a version as it will be after its sunset, so that the owner of the key can try a
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

// stage is the rehearsals as the way of a request asks for them. The zero one has none.
type stage struct {
	until map[rehearsed]time.Time
	last  map[int]time.Time // of a version's rehearsals the last moment
}

func stageOf(rehearsals []Rehearsal) stage {
	if len(rehearsals) == 0 {
		return stage{}
	}
	s := stage{map[rehearsed]time.Time{}, map[int]time.Time{}}
	for _, r := range rehearsals {
		key, ok := id.Parse(id.APIKey, r.KeyID)
		if !ok {
			continue
		}
		s.until[rehearsed{r.Version, key}] = r.Until
		if r.Until.After(s.last[r.Version]) {
			s.last[r.Version] = r.Until
		}
	}
	return s
}

// Rehearsing reports whether any key rehearses the sunset of a version. If none does, the request's key does not matter.
func (s *Snapshot) Rehearsing(version int, now time.Time) bool {
	return s.stage.last != nil && now.Before(s.stage.last[version])
}

// Rehearses reports whether a key is to see a version as sunset at a moment.
func (s *Snapshot) Rehearses(version int, key id.UUID, now time.Time) bool {
	return now.Before(s.stage.until[rehearsed{version, key}])
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
