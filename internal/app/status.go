package app

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/store"
	"keepsake/internal/store/cluster"
	"keepsake/internal/web/api/backend"
	v1 "keepsake/internal/web/api/v1"
)

// assembleStatus creates the services that report on the program.
func assembleStatus(s *services, cfg *config.Config, now func() time.Time) (out status) {
	out.health = &v1.Health{
		Storage: s.instance.Store.Readable,
		Parts:   []func(context.Context) error{s.instance.Store.Ready, s.usageFlushes, s.indexCurrent, s.logsSmall},
	}
	out.versionList = &v1.Versions{Registry: s.versions.registry, Service: s.versions.releases, PublicURL: strings.TrimSuffix(cfg.PublicURL, "/"), Now: now}
	out.caches = &v1.CacheStats{
		Caches: []v1.Cache{
			{Name: "apiKeys", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.identity.keys.Stats()) }},
			{Name: "unknownApiKeys", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.identity.keys.RefusalStats()) }},
			{Name: "accessTokens", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.identity.bearers.Stats()) }},
			{Name: "addresses", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.identity.addresses.Stats()) }},
			{Name: "indexes", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.search.indexer.Stats()) }},
			{Name: "subjectKeys", Stats: func() v1.CacheNumbers {
				return v1.CacheNumbers{Entries: int64(s.secrets.subjects.Cached()), Capacity: int64(s.secrets.subjects.CacheSize)}
			}},
			{Name: "recallIndexes", Stats: func() v1.CacheNumbers { return v1.CacheNumbers(s.memory.service.Caches.RecallStats()) }},
		},
		Indexes: s.indexNumbers, OpenSearch: s.openSearchNumbers, Embeddings: s.embeddingNumbers,
		Parts: s.parts, Members: s.memberCount, Shared: s.instance.Engine.Shared(),
		Mode: string(s.members.limiter.Mode()), Degraded: s.limiterDegraded, Started: now(), Now: now,
	}
	for _, task := range s.members.background {
		out.health.Parts = append(out.health.Parts, task.err)
	}
	return out
}

func (s *services) indexNumbers() v1.IndexNumbers {
	n := s.search.indexer.State()
	return v1.IndexNumbers{
		Documents: n.Size.Docs, DeadDocuments: n.Size.Dead, Segments: int64(n.Size.Segments), FileBytes: n.Size.Files, MemoryBytes: n.Size.Memory,
		LagChanges: n.Lag, Flushes: n.Work.Flushes, Merges: n.Work.Merges, Rewritten: n.Work.Rewritten,
		Renewing: n.Renewing, Renewed: n.Renewed,
		Held: n.Held, DiskBudget: n.DiskBudget, Built: n.Builds.Total(), Dropped: n.Dropped,
		Building: n.Building, BuildingDone: n.BuildingDone, BuildingAll: n.BuildingAll,
	}
}

// limiterDegraded reports whether usage cannot be stored, or a background task does not work.
func (s *services) limiterDegraded() bool {
	if s.records.usage.Degraded() {
		return true
	}
	for _, task := range s.members.background {
		if task.err(context.Background()) != nil {
			return true
		}
	}
	return false
}

// checks are the checks of readiness. Every instance has the first eight; those that it does not need are off.
func (s *services) checks() []backend.Check {
	checks := []backend.Check{
		{Name: "storage", Run: timed(s.instance.Store.Readable)},
		{Name: "writes", Run: plain(s.instance.Store.Ready), Optional: true}, // reads still work
		// Other members can serve while the indexes of this one are behind. Without others, searches only wait.
		{Name: "index", Run: s.checkIndexes, Optional: !s.instance.Engine.Shared()},
		{Name: "usage", Run: plain(s.usageFlushes), Optional: true}, // counted in memory meanwhile
		{Name: "disk", Run: func(context.Context) (backend.Measured, error) { return checkDisk(freeSpace(s.data)) }, Optional: true},
		{Name: "wal", Run: s.checkLogs, Optional: true},
		{Name: "clock", Run: s.checkClock, Optional: true},
		{Name: "redis", Run: s.checkRedis, Optional: true},
	}
	if s.memory.embeddings != nil {
		checks = append(checks, backend.Check{Name: "embeddings", Run: plain(s.checkEmbeddings), Optional: true}) // recalls work without it
	}
	if s.members.peers != nil {
		checks = append(checks, backend.Check{Name: "joined", Run: plain(s.members.counted)}) // only matters after a start
	}
	for _, task := range s.members.background {
		checks = append(checks, backend.Check{Name: task.name, Run: plain(task.err), Optional: task.optional})
	}
	return checks
}

// parts returns the results of the checks.
func (s *services) parts(ctx context.Context) []v1.Part {
	var list []v1.Part
	for _, check := range s.checks() {
		status, measured := check.Status(ctx)
		list = append(list, v1.Part{Name: check.Name, Status: status, FreeBytes: measured.FreeBytes})
	}
	return list
}

// memberCount counts the processes of the instance that respond.
func (s *services) memberCount() int {
	if s.members.peers == nil {
		return 1
	}
	return max(s.members.peers.members.Count(), 1)
}

// plain makes a check of a function that measures nothing.
func plain(check func(context.Context) error) func(context.Context) (backend.Measured, error) {
	return func(ctx context.Context) (backend.Measured, error) { return backend.Measured{}, check(ctx) }
}

// timed makes a check that measures how long the function takes.
func timed(check func(context.Context) error) func(context.Context) (backend.Measured, error) {
	return func(ctx context.Context) (backend.Measured, error) {
		began := time.Now()
		err := check(ctx)
		ms := float64(time.Since(began).Microseconds()) / 1000
		return backend.Measured{Milliseconds: &ms}, err
	}
}

func (s *services) checkIndexes(ctx context.Context) (backend.Measured, error) {
	n, most := s.search.indexer.State(), int64(maxIndexLag)
	return backend.Measured{ChangesBehind: &n.Lag, MaxChangesBehind: &most, IndexesBuilding: &n.Building}, s.indexesReady(ctx)
}

// minFree is the free space below which readiness reports degraded: soon nothing can be written.
const minFree = 64 << 20

func checkDisk(free int64) (backend.Measured, error) {
	if free == math.MaxInt64 {
		return backend.Measured{Off: true}, nil // the system does not report it
	}
	least := int64(minFree)
	m := backend.Measured{FreeBytes: &free, MinFreeBytes: &least}
	if free < least {
		return m, fmt.Errorf("only %d MiB are free", free>>20)
	}
	return m, nil
}

// checkLogs measures the largest write-ahead log. It is off where the database is not a file of this process.
func (s *services) checkLogs(ctx context.Context) (backend.Measured, error) {
	engine, ok := s.instance.Engine.(store.Logging)
	if !ok {
		return backend.Measured{Off: true}, nil
	}
	var m backend.Measured
	for _, l := range engine.Logs() {
		if m.WALBytes == nil || l.Bytes > *m.WALBytes {
			m.WALBytes, m.MaxWALBytes = &l.Bytes, &l.Max
		}
	}
	return m, s.logsSmall(ctx)
}

// logsSmall returns an error if a write-ahead log is too large. Then a program that reads the file does not end its transaction.
func (s *services) logsSmall(context.Context) error {
	engine, ok := s.instance.Engine.(store.Logging)
	if !ok {
		return nil
	}
	for _, l := range engine.Logs() {
		if l.Bytes > l.Max {
			return fmt.Errorf("the write-ahead log of %s.db has %d MiB, because a program that reads the file does not end its transaction", l.Database, l.Bytes>>20)
		}
	}
	return nil
}

// checkClock compares the clock of this machine with those of the database and of Redis.
func (s *services) checkClock(context.Context) (backend.Measured, error) {
	if s.members.peers == nil {
		return backend.Measured{Off: true}, nil
	}
	most := cluster.ClockTolerance.Milliseconds()
	database := s.members.peers.members.ClockOffset()
	ahead := database.Milliseconds()
	m := backend.Measured{DatabaseOffsetMs: &ahead, MaxOffsetMs: &most}
	err := clockError("database", database)
	if offset, known := s.members.shared.ClockOffset(); known {
		ahead := offset.Milliseconds()
		m.RedisOffsetMs = &ahead
		err = errors.Join(err, clockError("Redis", offset))
	}
	return m, err
}

// clockError returns an error if the clock of this machine is too far ahead of another clock, or behind it.
func clockError(other string, ahead time.Duration) error {
	if ahead.Abs() <= cluster.ClockTolerance {
		return nil
	}
	return fmt.Errorf("the clock of this machine is ahead of that of the %s by %s", other, ahead.Round(time.Millisecond))
}

// redisTimeout is how long readiness waits for Redis.
const redisTimeout = 500 * time.Millisecond

func (s *services) checkRedis(ctx context.Context) (backend.Measured, error) {
	if s.members.redis == nil {
		return backend.Measured{Off: true}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	return timed(func(ctx context.Context) error {
		_, _, err := s.members.redis.Ping(ctx)
		return err
	})(ctx)
}

func (s *services) usageFlushes(context.Context) error {
	if s.records.usage.Degraded() {
		return errors.New("the last flush of usage failed; retrying")
	}
	return nil
}

// maxIndexLag is the number of changes that an index applies in about two seconds, the longest wait of a search.
const maxIndexLag = 5_000

// indexesReady returns an error while searches would have to wait. No index needs to be built before: that of a workspace is built at
// its first search.
func (s *services) indexesReady(ctx context.Context) error {
	if !s.search.indexer.Loaded() && s.instance.Engine.Shared() {
		return errors.New("the list of workspaces with documents is not loaded yet")
	}
	return s.indexCurrent(ctx)
}

func (s *services) indexCurrent(context.Context) error {
	if lag := s.search.indexer.Lag(); lag > maxIndexLag {
		return fmt.Errorf("the index is %d changes behind the documents", lag)
	}
	return nil
}
