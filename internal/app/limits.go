package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/memory/seal"
	clusterpg "keepsake/internal/store/cluster/postgres"
	"keepsake/internal/store/cluster/redis"
	"keepsake/internal/store/postgres"
)

// assembleMembers chooses a limiter: one for this process alone, or one that shares limits with the other processes on a database.
func assembleMembers(i *instance.Instance, cfg *config.Config, deps *Deps, recorder *usage.Recorder) (*members, error) {
	m := &members{limiter: limit.Local{}}
	engine, ok := i.Engine.(*postgres.Engine)
	if !ok || deps.Local {
		return m, nil
	}
	m.claims = clusterpg.NewClaims(engine.Connect, deps.Log)
	options := limit.SharedOptions{
		Peers: peerCounter{m, deps.Now}, Secret: i.Secrets.Get(seal.Replay),
		Stored: func(ctx context.Context, subjects []string) ([]limit.Stored, error) {
			return storedQuotas(ctx, i.Store.Usage.Counters, subjects, deps.Now().UTC())
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
			return nil, &config.Error{Setting: "redisUrl", Reason: err.Error()}
		}
		options.Store, m.redis = store, store
		if deps.tracer != nil {
			options.Store = tracedCounters{store, deps.tracer}
		}
		task.err = m.limitsAreShared
		task.close = func(context.Context) error { return store.Close() }
	}
	m.shared = limit.NewShared(options)
	m.limiter = m.shared
	task.run = func(ctx context.Context) error {
		m.shared.Run(ctx)
		return nil
	}
	recorder.OnFlushed(func(list []usage.Quota) { m.shared.SetStored(stored(list)) })
	m.background = append(m.background, task)
	return m, nil
}

var errNotShared = errors.New("redis does not answer: this process applies its share of every limit")

func (m *members) limitsAreShared(context.Context) error {
	if m.limiter.Degraded() {
		return errNotShared
	}
	return nil
}

// countedTimeout is how long the start waits until the other processes count this one. Only a member that was killed makes
// it wait that long.
const countedTimeout = 4 * time.Second

// awaitCounted waits until the other processes count this one. Before that, it could admit only what Redis grants for each
// request, and nothing without Redis. New connections wait in the listener's queue.
func (m *members) awaitCounted(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, countedTimeout)
	defer cancel()
	for m.peers != nil && m.counted(ctx) != nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// counted returns an error until all other processes have counted this one for the first time.
func (m *members) counted(context.Context) error {
	if m.joined.Load() || m.shared == nil || m.shared.Counted() {
		m.joined.Store(true)
		return nil
	}
	return errors.New("not every other process counts this one yet")
}

// storedQuotas reads what the database has as used of the current day and month.
func storedQuotas(ctx context.Context, store usage.Store, subjects []string, now time.Time) ([]limit.Stored, error) {
	list, err := store.OwnerQuotas(ctx, subjects, []string{now.Format(time.DateOnly), now.Format("2006-01")})
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
	members *members
	now     func() time.Time
}

// Count implements limit.Peers.
func (c peerCounter) Count() int {
	if p := c.members.peers; p != nil {
		return p.members.Count()
	}
	return 1
}

// CountSince implements limit.Peers.
func (c peerCounter) CountSince(at time.Time) int {
	if p := c.members.peers; p != nil {
		return p.members.CountSince(time.Now().Add(at.Sub(c.now()))) // members are timed by the real clock
	}
	return 1
}

// Partitioned implements limit.Peers.
func (c peerCounter) Partitioned() int {
	if p := c.members.peers; p != nil {
		return p.members.Partitioned()
	}
	return 0
}

// Settled implements limit.Peers.
func (c peerCounter) Settled() bool {
	p := c.members.peers
	return p != nil && p.members.Settled()
}
