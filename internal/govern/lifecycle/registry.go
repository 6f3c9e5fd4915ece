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

// Registry holds the released versions. All surfaces share one, so they report the same versions. Readers get a Snapshot,
// which is immutable; a release or a changed date replaces it.
type Registry struct {
	snapshot atomic.Pointer[Snapshot]

	mu      sync.Mutex
	prepare []func(number int) error
}

// Snapshot is the versions and rehearsals that are in force at one time.
type Snapshot struct {
	versions   []Version // by number, rising
	rehearsals []Rehearsal
	until      rehearsalIndex
}

// First is version 1, current since July 2026 (docs/spec/interface-spec.md, §9.4).
func First() Version {
	return Version{Number: 1, Since: time.Date(2026, time.July, 1, 0, 0, 0, 0, time.UTC), Revision: 1}
}

// New creates a registry of released versions. See Replace for the errors.
func New(versions ...Version) (*Registry, error) {
	r := &Registry{}
	if err := r.Replace(versions); err != nil {
		return nil, err
	}
	return r, nil
}

// Snapshot returns the versions in force. It costs one atomic read.
func (r *Registry) Snapshot() *Snapshot { return r.snapshot.Load() }

// Prepare has ready called with the number of a version before it is released, so that its routes are built outside of any
// request, and a version that cannot be served is never published.
func (r *Registry) Prepare(ready func(number int) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prepare = append(r.prepare, ready)
}

// makeReady calls the functions that Prepare was given.
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

// Replace publishes versions and rehearsals for all requests that begin after it. It is an error if the list is empty, if a
// number is below 1 or appears twice, if a version has a sunset without an announcement or the reverse, if dates are out of
// order, or if the newest version is to end.
func (r *Registry) Replace(versions []Version, rehearsals ...Rehearsal) error {
	list := slices.Clone(versions)
	slices.SortFunc(list, func(a, b Version) int { return cmp.Compare(a.Number, b.Number) })
	if err := check(list); err != nil {
		return err
	}
	r.snapshot.Store(&Snapshot{versions: list, rehearsals: slices.Clone(rehearsals), until: indexOf(rehearsals)})
	return nil
}

// check validates a list of versions in the order of their numbers.
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

// All lists the versions by number, ascending. The caller must not change them.
func (s *Snapshot) All() []Version { return s.versions }

// Version finds a version by number; nil if there is none.
func (s *Snapshot) Version(number int) *Version {
	for i := range s.versions {
		if s.versions[i].Number == number {
			return &s.versions[i]
		}
	}
	return nil
}

// Current is the newest version. It serves requests that name none.
func (s *Snapshot) Current() *Version { return &s.versions[len(s.versions)-1] }

// Replacement is the version that clients of number move to: the oldest live one after it; nil if there is none.
func (s *Snapshot) Replacement(number int, now time.Time) *Version {
	for i := range s.versions {
		if v := &s.versions[i]; v.Number > number && v.Live(now) {
			return v
		}
	}
	return nil
}
