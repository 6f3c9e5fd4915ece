package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store/cluster/redis"
)

// assembleLimiter chooses a limiter: one for this process alone, or one that shares limits with the other processes on a
// database. Call it before services that charge requests are created.
func (s *services) assembleLimiter(cfg *config.Config, deps *Deps) error {
	s.limiter = limit.Local{}
	if !s.instance.Engine.Shared() || deps.Local {
		return nil
	}
	options := limit.SharedOptions{
		Peers: peerCounter{s, deps.Now}, Secret: s.instance.Secrets.Get(seal.Replay),
		Stored: func(ctx context.Context, subjects []string) ([]limit.Stored, error) {
			return s.storedQuotas(ctx, subjects, deps.Now().UTC())
		},
		Wait: cfg.Limits.RedisWait, Now: deps.Now, Log: deps.Log.With(slog.String("part", "limits")),
	}
	task := backgroundTask{
		name: "limits", optional: true,
		err:   func(context.Context) error { return nil },
		close: func(context.Context) error { return nil },
	}
	if cfg.RedisURL != "" {
		store, err := redis.Open(cfg.RedisURL)
		if err != nil {
			return &config.Error{Setting: "redisUrl", Reason: err.Error()}
		}
		options.Store, s.redis = store, store
		if s.tracer != nil {
			options.Store = tracedCounters{store, s.tracer}
		}
		task.err = s.limitsAreShared
		task.close = func(context.Context) error { return store.Close() }
	}
	s.shared = limit.NewShared(options)
	s.limiter = s.shared
	task.run = func(ctx context.Context) error {
		s.shared.Run(ctx)
		return nil
	}
	s.usage.OnFlushed(func(list []usage.Quota) { s.shared.SetStored(stored(list)) })
	s.background = append(s.background, task)
	return nil
}

var errNotShared = errors.New("redis does not answer: this process applies its share of every limit")

func (s *services) limitsAreShared(context.Context) error {
	if s.limiter.Degraded() {
		return errNotShared
	}
	return nil
}

// countedTimeout is how long the start waits until the other processes count this one. Only a member that was killed makes
// it wait that long.
const countedTimeout = 4 * time.Second

// awaitCounted waits until the other processes count this one. Before that, it could admit only what Redis grants for each
// request, and nothing without Redis. New connections wait in the listener's queue.
func (s *services) awaitCounted(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, countedTimeout)
	defer cancel()
	for s.peers != nil && s.counted(ctx) != nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// counted returns an error until all other processes have counted this one for the first time.
func (s *services) counted(context.Context) error {
	if s.joined.Load() || s.shared == nil || s.shared.Counted() {
		s.joined.Store(true)
		return nil
	}
	return errors.New("not every other process counts this one yet")
}

// storedQuotas reads what the database has as used of the current day and month.
func (s *services) storedQuotas(ctx context.Context, subjects []string, now time.Time) ([]limit.Stored, error) {
	list, err := s.instance.Store.Usage.Counters.OwnerQuotas(ctx, subjects, []string{now.Format(time.DateOnly), now.Format("2006-01")})
	return stored(list), err
}

func stored(list []usage.Quota) []limit.Stored {
	all := make([]limit.Stored, len(list))
	for i, q := range list {
		all[i] = limit.Stored{Subject: q.OwnerID, Period: q.Period, Used: q.Charged}
	}
	return all
}

// peerCounter implements limit.Peers. Before the process has joined, it counts only itself.
type peerCounter struct {
	services *services
	now      func() time.Time
}

// Count implements limit.Peers.
func (c peerCounter) Count() int {
	if p := c.services.peers; p != nil {
		return p.members.Count()
	}
	return 1
}

// CountSince implements limit.Peers.
func (c peerCounter) CountSince(at time.Time) int {
	if p := c.services.peers; p != nil {
		return p.members.CountSince(time.Now().Add(at.Sub(c.now()))) // members are timed by the real clock
	}
	return 1
}

// Partitioned implements limit.Peers.
func (c peerCounter) Partitioned() int {
	if p := c.services.peers; p != nil {
		return p.members.Partitioned()
	}
	return 0
}

// Settled implements limit.Peers.
func (c peerCounter) Settled() bool {
	p := c.services.peers
	return p != nil && p.members.Settled()
}
