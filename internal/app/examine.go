package app

import (
	"context"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/store/cluster"
	clusterpg "keepsake/internal/store/cluster/postgres"
	"keepsake/internal/store/cluster/redis"
	"keepsake/internal/store/postgres"
)

// Examined describes the servers that the settings name.
type Examined struct {
	postgres.Facts
	Members []cluster.Member // that are alive
	Redis   *redis.Facts     // nil if none is configured, or it does not answer
	// RedisProblem is why Redis does not answer.
	RedisProblem error
}

// Examine reads the state of the configured servers without changing it. The error is the database's; Redis is optional.
func Examine(ctx context.Context, cfg config.Config, now func() time.Time) (*Examined, error) {
	opt := postgres.Options{URL: cfg.DatabaseURL, KeysURL: cfg.KeysURL}
	facts, err := postgres.Examine(ctx, opt, now)
	if err != nil {
		return nil, err
	}
	e := &Examined{Facts: *facts}
	if e.Instance != "" && !e.Behind {
		if e.Members, err = serving(ctx, opt); err != nil {
			return nil, err
		}
	}
	if cfg.RedisURL != "" {
		e.Redis, e.RedisProblem = examineRedis(ctx, cfg.RedisURL)
	}
	return e, nil
}

// serving returns the living members.
func serving(ctx context.Context, opt postgres.Options) ([]cluster.Member, error) {
	connect, err := postgres.Connector(opt)
	if err != nil {
		return nil, err
	}
	membership, err := clusterpg.ReadMembership(ctx, connect)
	if err != nil {
		return nil, err
	}
	var list []cluster.Member
	for _, m := range membership.Members {
		if m.LeftAt == nil && membership.Silence(&m) < cluster.DeadAfter {
			list = append(list, m)
		}
	}
	return list, nil
}

func examineRedis(ctx context.Context, url string) (*redis.Facts, error) {
	store, err := redis.Open(url)
	if err != nil {
		return nil, &config.Error{Setting: "redisUrl", Reason: err.Error()}
	}
	defer store.Close()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return store.Examine(ctx)
}
