package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// turns keeps what was read before a change from taking the place of the change.
type turns struct {
	mu    sync.Mutex
	count uint64 // of changes made here
}

// replace puts a changed state in force.
func (t *turns) replace(r *Registry, st *state) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	// Two changes may come here in either order. Every one of a version makes a revision greater.
	if revisions(st.versions) >= revisions(r.Snapshot().versions) {
		_ = r.Replace(st.versions, st.rehearsals...) // it was checked
	}
}

func revisions(versions []Version) (sum int64) {
	for i := range versions {
		sum += versions[i].Revision
	}
	return sum
}

// ErrCannotServe says that another process has released a version which this one cannot serve.
var ErrCannotServe = errors.New("it cannot be served by this process")

// Hear puts in force what another process has released or changed; with ErrCannotServe nothing of it.
func (s *Service) Hear(ctx context.Context) error {
	for {
		s.changed.mu.Lock()
		before := s.changed.count
		s.changed.mu.Unlock()
		state, err := s.read(ctx)
		if err != nil {
			return err
		}
		for i := range state.versions {
			if n := state.versions[i].Number; s.Registry.Snapshot().Version(n) == nil {
				if err := s.Registry.makeReady(n); err != nil {
					return fmt.Errorf("version %d: %w: %w", n, ErrCannotServe, err)
				}
			}
		}
		if s.replaceUnless(before, state, &err) {
			return err
		}
	}
}

// replaceUnless puts a state in force that was read after so many changes; false where there was another one since.
func (s *Service) replaceUnless(before uint64, st *state, err *error) bool {
	s.changed.mu.Lock()
	defer s.changed.mu.Unlock()
	if s.changed.count != before {
		return false
	}
	*err = s.Registry.Replace(st.versions, st.rehearsals...)
	return true
}
