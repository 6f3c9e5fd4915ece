package account

import (
	"context"
	"net/netip"
	"time"
)

// HashSlots is how many passwords are hashed at once.
var HashSlots = hashSlots

// SetGuessTimeout changes how long an attempt waits for a store that does not answer.
func (s *LoginService) SetGuessTimeout(d time.Duration) { s.throttle.timeout = d }

// SetTryLife changes how long a try counts as running if its process died.
func (s *LoginService) SetTryLife(d time.Duration) { s.throttle.lifetime = d }

// SetSleep changes how an attempt waits in a queue.
func (s *LoginService) SetSleep(sleep func(ctx context.Context, d time.Duration) error) {
	s.throttle.sleep = sleep
}

// Visit counts a try that is right, without its hash.
func (s *LoginService) Visit(ctx context.Context, email string, from netip.Addr) error {
	v, err := s.throttle.enter(ctx, newAttemptKey(email, from))
	if err != nil {
		return err
	}
	defer v.leave(ctx)
	if err := v.begin(ctx); err != nil {
		return err
	}
	return v.end(ctx, right)
}

// HoldSuspects has tokens from addresses that guess wait until release is called.
func (b *Bearers) HoldSuspects() (release func()) {
	b.suspects <- struct{}{}
	return func() { <-b.suspects }
}
