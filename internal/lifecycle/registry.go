package lifecycle

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Registry holds the released versions. Every surface reads the same one, so all report the same version. Readers take
// a Snapshot, which never changes; a release or a new date replaces it whole.
type Registry struct {
	snapshot atomic.Pointer[Snapshot]

	mu      sync.Mutex
	prepare []func(number int) error
}

// Snapshot is the versions as they were at one moment.
type Snapshot struct {
	versions   []Version // by number, rising
	rehearsals []Rehearsal
	stage      stage
}

// First is version 1 as the interface specification has it: current since July 2026 (§9.4).
func First() Version {
	return Version{Number: 1, Since: time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC), Revision: 1}
}

// New makes a registry of released versions; see Replace for what is refused.
func New(versions ...Version) (*Registry, error) {
	r := &Registry{}
	if err := r.Replace(versions); err != nil {
		return nil, err
	}
	return r, nil
}

// Snapshot gives the versions as they are now. It costs one atomic read.
func (r *Registry) Snapshot() *Snapshot { return r.snapshot.Load() }

// Prepare asks for ready to be called with the number of a version before that is released: what must be made for it
// (its routes) is made outside any request, and a version that cannot be served is never put in place.
func (r *Registry) Prepare(ready func(number int) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prepare = append(r.prepare, ready)
}

// makeReady calls what Prepare was given.
func (r *Registry) makeReady(number int) error {
	r.mu.Lock()
	prepare := slices.Clone(r.prepare)
	r.mu.Unlock()
	for _, ready := range prepare {
		if err := ready(number); err != nil {
			return err
		}
	}
	return nil
}

// Replace puts other versions and rehearsals in place, in force for every request that begins after it. Refused are an
// empty list, a number below 1 or given twice, an end without an announcement or the reverse, dates out of order, and a
// newest version that is to end without a successor.
func (r *Registry) Replace(versions []Version, rehearsals ...Rehearsal) error {
	list := slices.Clone(versions)
	slices.SortFunc(list, func(a, b Version) int { return cmp.Compare(a.Number, b.Number) })
	if err := check(list); err != nil {
		return err
	}
	r.snapshot.Store(&Snapshot{versions: list, rehearsals: slices.Clone(rehearsals), stage: stageOf(rehearsals)})
	return nil
}

// check says what is wrong with a list of versions by number.
func check(list []Version) error {
	if len(list) == 0 {
		return errors.New("no version of the API is declared")
	}
	for i := range list {
		v := &list[i]
		switch {
		case v.Number < 1:
			return fmt.Errorf("version %d: numbers start at 1", v.Number)
		case i > 0 && list[i-1].Number == v.Number:
			return fmt.Errorf("version %d: declared twice", v.Number)
		case v.AnnouncedAt.IsZero() != v.SunsetAt.IsZero():
			return fmt.Errorf("version %d: an announcement and a sunset date belong together", v.Number)
		case v.SunsetAt.Before(v.AnnouncedAt):
			return fmt.Errorf("version %d: its sunset comes before the announcement", v.Number)
		case !v.RetiredAt.IsZero() && (v.SunsetAt.IsZero() || v.RetiredAt.Before(v.SunsetAt)):
			return fmt.Errorf("version %d: it retires before its sunset", v.Number)
		}
	}
	if newest := &list[len(list)-1]; !newest.AnnouncedAt.IsZero() {
		return fmt.Errorf("version %d: it is the newest and cannot end without a successor", newest.Number)
	}
	return nil
}

// All lists the versions by number, rising. The caller does not change them.
func (s *Snapshot) All() []Version { return s.versions }

// Version finds one by number; nil where it never was.
func (s *Snapshot) Version(number int) *Version {
	for i := range s.versions {
		if s.versions[i].Number == number {
			return &s.versions[i]
		}
	}
	return nil
}

// Current is the version a request gets that asks for none: the newest.
func (s *Snapshot) Current() *Version { return &s.versions[len(s.versions)-1] }

// Replacement is the version to move to from number: the oldest live one after it; nil where there is none.
func (s *Snapshot) Replacement(number int, now time.Time) *Version {
	for i := range s.versions {
		if v := &s.versions[i]; v.Number > number && v.Live(now) {
			return v
		}
	}
	return nil
}
