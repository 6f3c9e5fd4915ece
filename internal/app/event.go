package app

import (
	"crypto/rand"

	"keepsake/internal/event"
)

// assembleEvents creates the outbox, in which other services record events. Call it before they are created.
func (s *services) assembleEvents(deps *Deps) {
	i := s.instance
	var fresh func() bool
	if i.Engine.Shared() {
		fresh = func() bool { return s.peers != nil && s.peers.reader.Staleness() < event.Settle }
	}
	s.interests = event.NewInterests(i.Store.Interests, fresh)
	s.events = event.NewOutbox(event.OutboxOptions{
		Store: i.Store, Units: i.Store, Interests: s.interests, Random: rand.Reader, Now: deps.Now,
	})
}
