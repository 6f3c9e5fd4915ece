package app

import (
	"context"
	"crypto/rand"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/event/sender"
)

// assembleEvents creates the outbox, in which other services record events, and what delivers from it. Call it before the other
// services are created.
func assembleEvents(i *instance.Instance, cfg *config.Config, deps *Deps, log *audit.Log, others *members) (e events) {
	var fresh func() bool
	if i.Engine.Shared() {
		fresh = func() bool { return others.peers != nil && others.peers.reader.Staleness() < event.Settle }
	}
	e.interests = event.NewInterests(i.Store.Events.Interests, fresh)
	added := func() {
		if e.deliverer != nil {
			e.deliverer.Wake()
		}
	}
	e.outbox = event.NewOutbox(event.OutboxOptions{
		Store: i.Store.Events, Units: i.Store, Interests: e.interests, Added: added, Random: rand.Reader, Now: deps.Now,
	})
	if !deps.Local { // a local process is over before a receiver has answered; the next server delivers
		e.deliverer = event.NewDeliverer(event.DelivererOptions{
			Store: i.Store.Events, Units: i.Store, Interests: e.interests, Audit: log, Events: e.outbox, Sealer: i.Binding, LogDays: cfg.Webhooks.LogDays,
			Sender: sender.New(sender.Options{
				AllowPrivate: cfg.Webhooks.AllowPrivate, Release: deps.Version, Now: deps.Now, Log: deps.Log,
			}),
			Now: deps.Now, Log: deps.Log,
		})
	}
	e.webhooks = event.NewService(event.Options{
		Store: i.Store.Events, Units: i.Store, Interests: e.interests, Audit: log, Events: e.outbox, Sealer: i.Binding, Shared: i.Engine.Shared(), Wait: wait,
		Added: added, Random: rand.Reader, Now: deps.Now,
	})
	return e
}

// newQuotaWatch creates what records events about quotas.
func newQuotaWatch(i *instance.Instance, deps *Deps, e events, callers identity) *event.QuotaWatch {
	return event.NewQuotaWatch(event.QuotaOptions{
		Owners: func(of func(workspaceID string) bool) []event.QuotaOwner {
			return quotaOwners(e.interests, callers, of)
		}, Interests: e.interests, Recorder: e.outbox, Now: deps.Now, Log: deps.Log,
		Used: func(ctx context.Context, owners, periods []string) ([]event.QuotaUse, error) {
			stored, err := i.Store.Usage.Counters.OwnerQuotas(ctx, owners, periods)
			used := make([]event.QuotaUse, len(stored))
			for i, q := range stored {
				used[i] = event.QuotaUse{OwnerID: q.OwnerID, Period: q.Period, Used: q.Charged}
			}
			return used, err
		},
	})
}

// quotaOwners lists the workspaces that of accepts, and their keys with a quota of their own.
func quotaOwners(interests *event.Interests, callers identity, of func(workspaceID string) bool) (list []event.QuotaOwner) {
	for _, workspaceID := range interests.Workspaces() {
		if w, ok := callers.accounts.Entry(workspaceID); ok && of(workspaceID) {
			tier := w.Tier()
			list = append(list, event.QuotaOwner{WorkspaceID: workspaceID, Daily: tier.Daily, Monthly: tier.Monthly})
		}
	}
	for _, k := range callers.keys.OwnQuotas(of) {
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
