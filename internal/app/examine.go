package app

import (
	"context"
	"time"

	"keepsake/internal/cluster"
	clusterpg "keepsake/internal/cluster/postgres"
	"keepsake/internal/cluster/redis"
	"keepsake/internal/config"
	"keepsake/internal/store/postgres"
)

// Examined is what Examine found.
type Examined struct {
	postgres.Facts
	Members []cluster.Member // that serve at the moment
	Redis   *redis.Facts     // nil where no setting names one, or it does not answer
	// RedisProblem says why Redis does not answer.
	RedisProblem error
}

// Examine looks at the servers that the settings name, and changes nothing there. Its error is of the database; without
// Redis everything is served, if not as well.
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

// serving are the members that were heard of a moment ago.
func serving(ctx context.Context, opt postgres.Options) ([]cluster.Member, error) {
	connect, err := postgres.Connector(opt)
	if err != nil {
		return nil, err
	}
	muster, err := clusterpg.Look(ctx, connect)
	if err != nil {
		return nil, err
	}
	var list []cluster.Member
	for _, m := range muster.Members {
		if m.LeftAt == nil && muster.Unheard(&m) < cluster.DeadAfter {
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
