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
		Storage: p.instance.Store.Readable,
		Parts:   []func(context.Context) error{p.instance.Store.Ready, p.usageFlushes, p.indexFollows},
	}
	p.versionList = &v1.Versions{Registry: p.versions, Service: p.releases, PublicURL: strings.TrimSuffix(cfg.PublicURL, "/"), Now: now}
	p.caches = &v1.CacheStats{
		Caches: []v1.Cache{
			{Name: "apiKeys", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(p.keys.Stats()) }},
			{Name: "unknownApiKeys", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(p.keys.RefusalStats()) }},
			{Name: "accessTokens", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(p.bearers.Stats()) }},
			{Name: "addresses", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(p.addresses.Stats()) }},
			{Name: "indexes", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(p.indexer.Stats()) }},
			{Name: "subjectKeys", Stats: func() v1.CacheNumbers {
				return v1.CacheNumbers{Entries: int64(p.subjects.Cached()), Capacity: int64(p.subjects.CacheSize)}
			}},
			{Name: "recallIndexes", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(p.memories.RecallStats()) }},
		},
		Mode: string(p.limiter.Mode()), Degraded: p.limiterDegraded, Started: now(), Now: now,
	}
	for _, part := range p.beside {
		p.health.Parts = append(p.health.Parts, part.err)
	}
}

// limiterDegraded says that what is counted cannot be stored, or cannot be shared.
func (p *parts) limiterDegraded() bool {
	if p.usage.Degraded() {
		return true
	}
	for _, part := range p.beside {
		if part.err(context.Background()) != nil {
			return true
		}
	}
	return false
}

// checks is what readiness follows from.
func (p *parts) checks() []backend.Check {
	checks := []backend.Check{
		{Name: "storage", Err: p.instance.Store.Readable},
		{Name: "writes", Err: p.instance.Store.Ready, Spare: true}, // what is there can still be read
		{Name: "index", Err: p.indexesMade},
		{Name: "usage", Err: p.usageFlushes},
	}
	if p.neighbours != nil {
		checks = append(
			checks,
			backend.Check{Name: "joined", Err: p.counted}, // later it is no reason to refuse anybody
			backend.Check{Name: "clock", Err: p.neighbours.clockWrong, Spare: true},
		)
	}
	for _, part := range p.beside {
		checks = append(checks, backend.Check{Name: part.name, Err: part.err, Spare: part.spare})
	}
	return checks
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

// indexesMade says that searches would have to wait. Where there are others, they answer until the indexes of a new member
// are made.
func (p *parts) indexesMade(ctx context.Context) error {
	if n := p.indexer.Awaited(); n != 0 && p.instance.Engine.Shared() {
		if n < 0 {
			return errors.New("it is not known yet which workspaces have documents")
		}
		return fmt.Errorf("the indexes of %d workspaces are not up to date since the start", n)
	}
	return p.indexFollows(ctx)
}

func (p *parts) indexFollows(context.Context) error {
	if lag := p.indexer.Lag(); lag > tooFarBehind {
		return fmt.Errorf("the index is %d changes behind the documents", lag)
	}
	return nil
}
