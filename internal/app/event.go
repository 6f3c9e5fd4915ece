package app

import (
	"context"
	"crypto/rand"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/event/sender"
)

// assembleEvents creates the outbox, in which other services record events, and what delivers from it. Call it before the other
// services are created.
func (s *services) assembleEvents(cfg *config.Config, deps *Deps) {
	i := s.instance
	var fresh func() bool
	if i.Engine.Shared() {
		fresh = func() bool { return s.peers != nil && s.peers.reader.Staleness() < event.Settle }
	}
	s.interests = event.NewInterests(i.Store.Events.Interests, fresh)
	added := func() {
		if s.deliverer != nil {
			s.deliverer.Wake()
		}
	}
	s.events = event.NewOutbox(event.OutboxOptions{
		Store: i.Store.Events, Units: i.Store, Interests: s.interests, Added: added, Random: rand.Reader, Now: deps.Now,
	})
	if !deps.Local { // a local process is over before a receiver has answered; the next server delivers
		s.deliverer = event.NewDeliverer(event.DelivererOptions{
			Store: i.Store.Events, Units: i.Store, Interests: s.interests, Audit: s.audit, Events: s.events, Sealer: i.Binding, LogDays: cfg.Webhooks.LogDays,
			Sender: sender.New(sender.Options{
				AllowPrivate: cfg.Webhooks.AllowPrivate, Release: deps.Version, Now: deps.Now, Log: deps.Log,
			}),
			Now: deps.Now, Log: deps.Log,
		})
	}
	s.webhooks = event.NewService(event.Options{
		Store: i.Store.Events, Units: i.Store, Interests: s.interests, Audit: s.audit, Events: s.events, Sealer: i.Binding, Shared: i.Engine.Shared(), Wait: wait,
		Added: added, Random: rand.Reader, Now: deps.Now,
	})
}

// assembleQuotaWatch creates what records events about quotas.
func (s *services) assembleQuotaWatch(deps *Deps) {
	s.quotaWatch = event.NewQuotaWatch(event.QuotaOptions{
		Owners: s.quotaOwners, Interests: s.interests, Recorder: s.events, Now: deps.Now, Log: deps.Log,
		Used: func(ctx context.Context, owners, periods []string) ([]event.QuotaUse, error) {
			stored, err := s.instance.Store.Usage.Counters.OwnerQuotas(ctx, owners, periods)
			used := make([]event.QuotaUse, len(stored))
			for i, q := range stored {
				used[i] = event.QuotaUse{OwnerID: q.OwnerID, Period: q.Period, Used: q.Charged}
			}
			return used, err
		},
	})
}

// quotaOwners lists the workspaces that of accepts, and their keys with a quota of their own.
func (s *services) quotaOwners(of func(workspaceID string) bool) (list []event.QuotaOwner) {
	for _, workspaceID := range s.interests.Workspaces() {
		if w, ok := s.accounts.Entry(workspaceID); ok && of(workspaceID) {
			tier := w.Tier()
			list = append(list, event.QuotaOwner{WorkspaceID: workspaceID, Daily: tier.Daily, Monthly: tier.Monthly})
		}
	}
	for _, k := range s.keys.OwnQuotas(of) {
		list = append(list, event.QuotaOwner{WorkspaceID: k.WorkspaceID, KeyID: k.KeyID, Daily: k.Daily, Monthly: k.Monthly})
	}
	return list
}

// wait waits for a time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
