package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"keepsake/internal/api/backend"
	v1 "keepsake/internal/api/v1"
	"keepsake/internal/config"
)

// report wires what tells about the program itself.
func (p *parts) report(cfg *config.Config, now func() time.Time) {
	p.health = &v1.Health{
		Storage: p.data.store.Ready,
		Parts:   []func(context.Context) error{p.usageFlushes, p.indexFollows},
	}
	p.versionList = &v1.Versions{Registry: p.versions, Service: p.releases, PublicURL: strings.TrimSuffix(cfg.PublicURL, "/"), Now: now}
	p.caches = &v1.CacheStats{
		Caches: []v1.Cache{
			{Name: "apiKeys", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(p.keys.Stats()) }},
			{Name: "unknownApiKeys", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(p.keys.UnknownStats()) }},
			{Name: "accessTokens", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(p.bearers.Stats()) }},
			{Name: "addresses", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(p.addresses.Stats()) }},
			{Name: "indexes", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(p.indexer.Stats()) }},
		},
		Degraded: p.usage.Degraded, Started: now(), Now: now,
	}
}

// checks is what readiness follows from.
func (p *parts) checks() []backend.Check {
	return []backend.Check{
		{Name: "storage", Err: p.data.store.Ready},
		{Name: "index", Err: p.indexFollows},
		{Name: "usage", Err: p.usageFlushes},
	}
}

func (p *parts) usageFlushes(context.Context) error {
	if p.usage.Degraded() {
		return errors.New("the last flush of usage failed; its numbers are kept and tried again")
	}
	return nil
}

// tooFarBehind is where searches would wait longer for their index than they may: an index takes in some thousands of
// changes a second, and a search waits two.
const tooFarBehind = 5_000

func (p *parts) indexFollows(context.Context) error {
	if lag := p.indexer.Lag(); lag > tooFarBehind {
		return fmt.Errorf("the index is %d changes behind the documents", lag)
	}
	return nil
}
