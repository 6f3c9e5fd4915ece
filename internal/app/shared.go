package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"keepsake/internal/cluster/redis"
	"keepsake/internal/config"
	"keepsake/internal/limit"
	"keepsake/internal/seal"
	"keepsake/internal/usage"
)

// assembleLimiter chooses how limits are counted: in this process alone, or together with the other processes on a shared
// database. It is before the parts that charge anything.
func (p *parts) assembleLimiter(cfg *config.Config, deps *Deps) error {
	p.limiter = limit.Local{}
	if !p.instance.Engine.Shared() || deps.Local {
		return nil
	}
	options := limit.SharedOptions{
		Peers: peers{p, deps.Now}, Secret: p.instance.Secrets.Get(seal.Replay),
		Stored: func(ctx context.Context, subjects []string) ([]limit.Stored, error) {
			return p.storedQuotas(ctx, subjects, deps.Now().UTC())
		},
		Wait: cfg.Limits.RedisWait, Now: deps.Now, Log: deps.Log.With(slog.String("part", "limits")),
	}
	part := part{
		name: "limits", spare: true,
		err:   func(context.Context) error { return nil },
		close: func(context.Context) error { return nil },
	}
	if cfg.RedisURL != "" {
		store, err := redis.Open(cfg.RedisURL)
		if err != nil {
			return &config.Error{Setting: "redisUrl", Reason: err.Error()}
		}
		options.Store = store
		part.err = p.limitsAreShared
		part.close = func(context.Context) error { return store.Close() }
	}
	p.shared = limit.NewShared(options)
	p.limiter = p.shared
	part.run = func(ctx context.Context) error {
		p.shared.Run(ctx)
		return nil
	}
	p.usage.OnFlushed(func(list []usage.Quota) { p.shared.SetStored(stored(list)) })
	p.beside = append(p.beside, part)
	return nil
}

var errNotShared = errors.New("redis does not answer: this process applies its share of every limit")

func (p *parts) limitsAreShared(context.Context) error {
	if p.limiter.Degraded() {
		return errNotShared
	}
	return nil
}

// introduceTime is how long requests wait at a start for the others to count this process. Only a member that died
// without a word keeps them waiting so long.
const introduceTime = 4 * time.Second

// introduce waits until the others count this process: before, it could only admit what Redis grants, request by request,
// and nothing while Redis does not answer. Connections that come meanwhile stay in the listener's queue.
func (p *parts) introduce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, introduceTime)
	defer cancel()
	for p.neighbours != nil && p.counted(ctx) != nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// counted says, once after a start, that the others do not know yet of this process. They serve meanwhile.
func (p *parts) counted(context.Context) error {
	if p.joined.Load() || p.shared == nil || p.shared.Counted() {
		p.joined.Store(true)
		return nil
	}
	return errors.New("not every other process counts this one yet")
}

// storedQuotas reads what the database has as used of the present day and month.
func (p *parts) storedQuotas(ctx context.Context, subjects []string, now time.Time) ([]limit.Stored, error) {
	list, err := p.instance.Store.OwnerQuotas(ctx, subjects, []string{now.Format(time.DateOnly), now.Format("2006-01")})
	return stored(list), err
}

func stored(list []usage.Quota) []limit.Stored {
	all := make([]limit.Stored, len(list))
	for i, q := range list {
		all[i] = limit.Stored{Subject: q.OwnerID, Period: q.Period, Used: q.Charged}
	}
	return all
}

// peers implements limit.Peers. Before the process has joined it is alone, and no other process counts it.
type peers struct {
	parts *parts
	now   func() time.Time
}

// Count implements limit.Peers.
func (p peers) Count() int {
	if n := p.parts.neighbours; n != nil {
		return n.members.Count()
	}
	return 1
}

// CountSince implements limit.Peers.
func (p peers) CountSince(at time.Time) int {
	if n := p.parts.neighbours; n != nil {
		return n.members.CountSince(time.Now().Add(at.Sub(p.now()))) // the membership goes by the real clock
	}
	return 1
}

// Partitioned implements limit.Peers.
func (p peers) Partitioned() int {
	if n := p.parts.neighbours; n != nil {
		return n.members.Partitioned()
	}
	return 0
}

// Settled implements limit.Peers.
func (p peers) Settled() bool {
	n := p.parts.neighbours
	return n != nil && n.members.Settled()
}
