package lifecycle

import (
	"time"

	"keepsake/internal/base/id"
)

// Rehearsal lets one API key see a version as it will be after its sunset, so that the owner of the key can try a
// migration before the date.
type Rehearsal struct {
	Version     int
	KeyID       string
	WorkspaceID string // of the key
	Until       time.Time
}

// rehearsalKey is what a request looks a rehearsal up by.
type rehearsalKey struct {
	version int
	key     id.UUID
}

// rehearsalIndex finds the end of a rehearsal. The zero value has none.
type rehearsalIndex struct {
	byKey     map[rehearsalKey]time.Time
	byVersion map[int]time.Time // of the version's last rehearsal
}

func indexOf(rehearsals []Rehearsal) rehearsalIndex {
	if len(rehearsals) == 0 {
		return rehearsalIndex{}
	}
	x := rehearsalIndex{map[rehearsalKey]time.Time{}, map[int]time.Time{}}
	for _, r := range rehearsals {
		key, ok := id.Parse(id.APIKey, r.KeyID)
		if !ok {
			continue
		}
		x.byKey[rehearsalKey{r.Version, key}] = r.Until
		if r.Until.After(x.byVersion[r.Version]) {
			x.byVersion[r.Version] = r.Until
		}
	}
	return x
}

// Rehearsing reports whether any key rehearses the sunset of a version. If none does, the request's key does not matter.
func (s *Snapshot) Rehearsing(version int, now time.Time) bool {
	return s.until.byVersion != nil && now.Before(s.until.byVersion[version])
}

// Rehearses reports whether a key sees a version as sunset now.
func (s *Snapshot) Rehearses(version int, key id.UUID, now time.Time) bool {
	return now.Before(s.until.byKey[rehearsalKey{version, key}])
}

// Rehearsals lists the rehearsals of a version that are running now. The caller must not change them.
func (s *Snapshot) Rehearsals(version int, now time.Time) []Rehearsal {
	var list []Rehearsal
	for _, r := range s.rehearsals {
		if r.Version == version && now.Before(r.Until) {
			list = append(list, r)
		}
	}
	return list
}
