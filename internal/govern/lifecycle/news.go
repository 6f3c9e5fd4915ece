package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// turns counts changes, so that a state that was read before a change does not replace the change.
type turns struct {
	mu    sync.Mutex
	count uint64 // of changes made here
}

// replace publishes a changed state.
func (t *turns) replace(r *Registry, st *state) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count++
	// Two changes can arrive in either order. Each one increases a revision, so the greater sum is the later state.
	if revisions(st.versions) >= revisions(r.Snapshot().versions) {
		_ = r.Replace(st.versions, st.rehearsals...) // checked before the commit
	}
}

func revisions(versions []Version) (sum int64) {
	for i := range versions {
		sum += versions[i].Revision
	}
	return sum
}

// ErrCannotServe is the error if another process has released a version that this one cannot serve.
var ErrCannotServe = errors.New("it cannot be served by this process")

// Hear reads and publishes what another process has released or changed. With ErrCannotServe nothing is published.
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

// replaceUnless publishes a state that was read after before changes. It returns false if there was another change since.
func (s *Service) replaceUnless(before uint64, st *state, err *error) bool {
	s.changed.mu.Lock()
	defer s.changed.mu.Unlock()
	if s.changed.count != before {
		return false
	}
	*err = s.Registry.Replace(st.versions, st.rehearsals...)
	return true
}
