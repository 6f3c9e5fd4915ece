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

// assembleStatus creates the services that report on the program.
func (s *services) assembleStatus(cfg *config.Config, now func() time.Time) {
	s.health = &v1.Health{
		Storage: s.instance.Store.Readable,
		Parts:   []func(context.Context) error{s.instance.Store.Ready, s.usageFlushes, s.indexCurrent},
	}
	s.versionList = &v1.Versions{Registry: s.versions, Service: s.releases, PublicURL: strings.TrimSuffix(cfg.PublicURL, "/"), Now: now}
	s.caches = &v1.CacheStats{
		Caches: []v1.Cache{
			{Name: "apiKeys", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.keys.Stats()) }},
			{Name: "unknownApiKeys", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.keys.RefusalStats()) }},
			{Name: "accessTokens", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.bearers.Stats()) }},
			{Name: "addresses", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.addresses.Stats()) }},
			{Name: "indexes", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.indexer.Stats()) }},
			{Name: "subjectKeys", Stats: func() v1.CacheNumbers {
				return v1.CacheNumbers{Entries: int64(s.subjects.Cached()), Capacity: int64(s.subjects.CacheSize)}
			}},
			{Name: "recallIndexes", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.memories.RecallStats()) }},
		},
		Mode: string(s.limiter.Mode()), Degraded: s.limiterDegraded, Started: now(), Now: now,
	}
	for _, task := range s.background {
		s.health.Parts = append(s.health.Parts, task.err)
	}
}

// limiterDegraded reports whether usage cannot be stored, or a background task does not work.
func (s *services) limiterDegraded() bool {
	if s.usage.Degraded() {
		return true
	}
	for _, task := range s.background {
		if task.err(context.Background()) != nil {
			return true
		}
	}
	return false
}

// checks are the checks of readiness.
func (s *services) checks() []backend.Check {
	checks := []backend.Check{
		{Name: "storage", Err: s.instance.Store.Readable},
		{Name: "writes", Err: s.instance.Store.Ready, Optional: true}, // reads still work
		{Name: "index", Err: s.indexesReady},
		{Name: "usage", Err: s.usageFlushes},
	}
	if s.peers != nil {
		checks = append(
			checks,
			backend.Check{Name: "joined", Err: s.counted}, // only matters after a start
			backend.Check{Name: "clock", Err: s.peers.clockWrong, Optional: true},
		)
	}
	for _, task := range s.background {
		checks = append(checks, backend.Check{Name: task.name, Err: task.err, Optional: task.optional})
	}
	return checks
}

func (s *services) usageFlushes(context.Context) error {
	if s.usage.Degraded() {
		return errors.New("the last flush of usage failed; retrying")
	}
	return nil
}

// maxIndexLag is the number of changes that an index applies in about two seconds, the longest wait of a search.
const maxIndexLag = 5_000

// indexesReady returns an error while searches would have to wait. A new member is not ready until its indexes are built,
// because the other members can serve meanwhile.
func (s *services) indexesReady(ctx context.Context) error {
	if n := s.indexer.Awaited(); n != 0 && s.instance.Engine.Shared() {
		if n < 0 {
			return errors.New("the list of workspaces with documents is not loaded yet")
		}
		return fmt.Errorf("the indexes of %d workspaces are not up to date yet", n)
	}
	return s.indexCurrent(ctx)
}

func (s *services) indexCurrent(context.Context) error {
	if lag := s.indexer.Lag(); lag > maxIndexLag {
		return fmt.Errorf("the index is %d changes behind the documents", lag)
	}
	return nil
}
