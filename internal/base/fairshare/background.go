package fairshare

import (
	"context"
	"time"
)

// Patience is the longest time that a piece of background work waits until no task has a slot. 50 ms is longer than ordinary
// searches take, and an import still makes progress if the searches never pause.
const Patience = 50 * time.Millisecond

// Background runs a piece of work that no client waits for, such as a part of an import: at most as many pieces at once as
// there are slots, and each when no task has a slot, or after Patience. A piece must not wait for another one. The error is
// that of the piece or of ctx.
func (s *Scheduler) Background(ctx context.Context, piece func() error) error {
	if s == nil {
		return piece()
	}
	select {
	case s.background <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.background }()
	if err := s.waitForIdle(ctx); err != nil {
		return err
	}
	return piece()
}

func (s *Scheduler) waitForIdle(ctx context.Context) error {
	s.mu.Lock()
	if s.free == s.slots {
		s.mu.Unlock()
		return nil
	}
	idle := make(chan struct{})
	s.idle = append(s.idle, idle)
	s.mu.Unlock()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case <-idle:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range s.idle {
		if c == idle {
			s.idle = append(s.idle[:i], s.idle[i+1:]...)
			break
		}
	}
	return ctx.Err()
}
