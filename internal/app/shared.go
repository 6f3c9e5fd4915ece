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

// assembleShared makes the limits that processes on a shared database keep together: over Redis where there is one, else
// each process has its share. It is before the parts that charge anything.
func (p *parts) assembleShared(cfg *config.Config, deps *Deps) error {
	if !p.data.engine.Shared() || deps.Local {
		return nil
	}
	options := limit.SharedOptions{
		Members: company{p, deps.Now}, Addresses: cfg.Limits.Addresses, Secret: p.data.secrets.Get(seal.Replay),
		Durable: func(ctx context.Context) ([]limit.Durable, error) { return p.quotas(ctx, deps.Now().UTC()) },
		Wait:    cfg.Limits.RedisWait, Now: deps.Now, Log: deps.Log.With(slog.String("part", "limits")),
	}
	part := part{
		name: "limits", spare: true,
		err:   func(context.Context) error { return nil },
		close: func(context.Context) error { return nil },
	}
	if cfg.RedisURL != "" {
		ledger, err := redis.Open(cfg.RedisURL)
		if err != nil {
			return &config.Error{Setting: "redisUrl", Reason: err.Error()}
		}
		options.Ledger = ledger
		part.err = p.limitsAreShared
		part.close = func(context.Context) error { return ledger.Close() }
	}
	p.shared = limit.NewShared(options)
	part.run = func(ctx context.Context) error {
		p.shared.Run(ctx)
		return nil
	}
	p.usage.OnFlushed(func(list []usage.Quota) { p.shared.Durable(durable(list)) })
	p.beside = append(p.beside, part)
	return nil
}

var errNotShared = errors.New("limits are not shared: Redis does not answer, and this process admits its share of every limit")

func (p *parts) limitsAreShared(context.Context) error {
	if p.shared.Degraded() {
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
	if p.joined.Load() || p.shared.Counted() {
		p.joined.Store(true)
		return nil
	}
	return errors.New("not every other process counts this one yet")
}

// quotas reads what is stored as used of the present day and month.
func (p *parts) quotas(ctx context.Context, now time.Time) ([]limit.Durable, error) {
	list, err := p.data.store.Quotas(ctx, []string{now.Format(time.DateOnly), now.Format("2006-01")})
	return durable(list), err
}

func durable(list []usage.Quota) []limit.Durable {
	all := make([]limit.Durable, len(list))
	for i, q := range list {
		all[i] = limit.Durable{Subject: q.OwnerID, Period: q.Period, Used: q.Charged}
	}
	return all
}

// company is who counts together. Before the process has joined it is alone, and nobody knows of it.
type company struct {
	parts *parts
	now   func() time.Time
}

func (c company) Count() int {
	if n := c.parts.neighbours; n != nil {
		return n.members.Count()
	}
	return 1
}

func (c company) MostSince(at time.Time) int {
	if n := c.parts.neighbours; n != nil {
		return n.members.MostSince(time.Now().Add(at.Sub(c.now()))) // members live by the real clock
	}
	return 1
}

func (c company) Apart() int {
	if n := c.parts.neighbours; n != nil {
		return n.members.Apart()
	}
	return 0
}

func (c company) Settled() bool {
	n := c.parts.neighbours
	return n != nil && n.members.Settled()
}
