package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/base/fairshare"
	"keepsake/internal/base/id"
	"keepsake/internal/base/page"
	"keepsake/internal/base/trace"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/analytics"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/backup"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/idempotency"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
	"keepsake/internal/memory"
	"keepsake/internal/memory/seal"
	"keepsake/internal/search"
	"keepsake/internal/search/collection"
	"keepsake/internal/search/document"
	"keepsake/internal/search/opensearch"
	clusterpg "keepsake/internal/store/cluster/postgres"
	"keepsake/internal/store/cluster/redis"
	v1 "keepsake/internal/web/api/v1"
	"keepsake/internal/web/endpoint"
)

// services are everything that a process runs, except HTTP. Operations call some of them. Each part is assembled by a function of
// its own, from the parts before it.
type services struct {
	instance *instance.Instance
	data     string // the data folder
	now      func() time.Time
	tracer   *trace.Tracer                                           // nil if nothing is traced
	declare  func(r *endpoint.Registry, documents *document.Service) // can be nil

	records   records
	events    events
	secrets   secrets
	identity  identity
	members   *members
	search    searching
	memory    remembering
	versions  versions
	status    status
	snapshots *backup.Snapshots
}

// records are what is kept of requests.
type records struct {
	audit     *audit.Log
	usage     *usage.Recorder
	requests  *analytics.Log
	analytics *analytics.Service
	replays   *idempotency.Service
}

// events are what is recorded for webhooks, and what delivers it.
type events struct {
	outbox     *event.Outbox
	interests  *event.Interests
	webhooks   *event.Service
	deliverer  *event.Deliverer // nil in a local process
	quotaWatch *event.QuotaWatch
}

// secrets are keys, and what is sealed with them.
type secrets struct {
	keeper   *seal.Keeper
	subjects *seal.Subjects // the data keys of subjects
	lookup   seal.Lookup
	receipts *auth.ReceiptKey
	cursors  *page.Sealer
	rows     []byte // see document.Options.RowKey
}

// identity knows who calls and what they may use.
type identity struct {
	accounts  *account.Directory
	people    *account.Service
	logins    *account.LoginService
	setupLink func(token string) string // the link of a setup token; without a public URL, only its path; nil without a console
	bearers   *account.Bearers
	signing   *auth.SigningKeys
	keys      *apikey.Directory
	apiKeys   *apikey.Service
	addresses *limit.Addresses
}

// searching is search with its documents.
type searching struct {
	documents   *document.Service
	collections *collection.Service
	indexer     *search.Indexer
	service     *search.Service
	remote      *remoteSearch        // nil: no OpenSearch is set
	shares      *fairshare.Scheduler // of CPU time, for searches and recalls
}

// remembering is memory with the embeddings endpoint.
type remembering struct {
	service    *memory.Service
	embeddings *memory.Embeddings // nil without an endpoint
	dailyTexts int64              // that the endpoint gets at most
}

// versions are the versions of the API.
type versions struct {
	registry *lifecycle.Registry
	releases *lifecycle.Service
	calls    *lifecycle.Callers
}

// status reports on the program.
type status struct {
	health      *v1.Health
	caches      *v1.CacheStats
	versionList *v1.Versions
}

// members are the processes that share the database, and the limits that they share.
type members struct {
	limiter    limit.Limiter
	joined     atomic.Bool // all others have counted this process since its start
	background []backgroundTask

	// Nil unless processes share the database.
	peers  *peers
	shared *limit.Shared // also the limiter
	redis  *redis.Store  // nil if none is configured
	claims *clusterpg.Claims
}

// backgroundTask runs during the life of a process on a shared database.
type backgroundTask struct {
	name string // in readiness responses
	// run runs until ctx ends. An earlier error stops the program.
	run func(ctx context.Context) error
	// err returns why the task does not work right now, or nil.
	err func(ctx context.Context) error
	// optional means that requests are served without it. Readiness then reports degraded.
	optional bool
	// close is called after requests and run have ended, while the databases are open.
	close func(ctx context.Context) error
}

func assemble(ctx context.Context, i *instance.Instance, cfg *config.Config, deps *Deps) (s *services, err error) {
	s = &services{instance: i, data: cfg.Data, declare: deps.Declare, now: deps.Now, tracer: deps.tracer}
	if s.versions.registry, err = lifecycle.New(lifecycle.First()); err != nil {
		return nil, err
	}
	if s.records.audit, err = openAuditLog(ctx, i, cfg, deps); err != nil {
		return nil, err
	}
	s.records.usage = usage.NewRecorder(i.Store.Usage.Counters, deps.Now, deps.Log)
	if s.members, err = assembleMembers(i, cfg, deps, s.records.usage); err != nil {
		return nil, err
	}
	s.events = assembleEvents(i, cfg, deps, s.records.audit, s.members)
	if s.secrets, err = assembleSecrets(ctx, i, cfg, deps, s.records.audit); err != nil {
		return nil, err
	}
	wakeBackfill := func(string) { s.memory.service.Backfiller.Wake() }
	if s.identity, err = assembleIdentity(ctx, i, cfg, deps, s.records, s.events.outbox, s.members.limiter, wakeBackfill); err != nil {
		return nil, err
	}
	s.events.quotaWatch = newQuotaWatch(i, deps, s.events, s.identity)
	s.records.replays = newReplays(i, deps, s.secrets.subjects, s.identity.maxStorage, s.members.claims)
	if s.search, err = assembleSearch(i, cfg, deps, s.events.outbox, s.records.audit, s.identity, s.secrets, s.members); err != nil {
		return nil, err
	}
	s.memory = assembleMemory(i, cfg, deps, s)
	s.versions = assembleVersions(i, cfg, deps, s.versions.registry, s.records.audit, s.events.outbox)
	s.records.requests = analytics.NewLog(i.Store.Usage.Requests, cfg.Analytics.RequestLogDays, deps.Now, deps.Log)
	s.records.analytics = analytics.NewService(analytics.Options{
		Usage: i.Store.Usage.Counters, Requests: i.Store.Usage.Requests, Calls: i.Store.Usage.Callers, Accounts: s.identity.accounts,
		Keys: s.identity.keys, Limiter: s.members.limiter, Log: s.records.requests, Flush: s.versions.calls.Flush, Now: deps.Now,
	})
	s.snapshots = newSnapshots(i, cfg, deps, s.records.audit)
	s.joinMembers(cfg, deps)
	s.status = assembleStatus(s, cfg, deps.Now)
	return s, nil
}

func openAuditLog(ctx context.Context, i *instance.Instance, cfg *config.Config, deps *Deps) (*audit.Log, error) {
	log := audit.NewLog(audit.Options{
		Store: i.Store.Audit, Units: i.Store, Chain: i.Chain, Secret: i.Secrets.Get(seal.Log),
		Checkpoints: instance.CheckpointsPath(cfg.Data), Reads: auditReads(cfg, deps), ReadDays: cfg.Audit.ReadRetentionDays,
		Alone: func(ctx context.Context, fn func(ctx context.Context) error) error {
			return i.Engine.Alone(ctx, "audit reads", fn)
		},
		Away: i.Engine.Shared(), Random: rand.Reader, Now: deps.Now, Log: deps.Log,
	})
	if err := log.Begin(ctx, !i.Initialised); err != nil {
		return nil, fmt.Errorf("read the audit log's record: %w", err)
	}
	return log, nil
}

func assembleVersions(i *instance.Instance, cfg *config.Config, deps *Deps, registry *lifecycle.Registry, log *audit.Log, outbox *event.Outbox) versions {
	calls := lifecycle.NewCallers(i.Store.Usage.Callers, deps.Now, deps.Log)
	releases := lifecycle.NewService(lifecycle.Options{
		Store: i.Store.Versions, History: i.Store.Versions, Units: i.Store, Registry: registry, Callers: calls, Audit: log, Events: outbox,
		PublicURL: strings.TrimSuffix(cfg.PublicURL, "/"), Newest: deps.newest(), AllowUndeclared: cfg.Lifecycle.AllowUndeclared,
		AllowBackdating: cfg.Lifecycle.AllowBackdating, Thresholds: lifecycle.Thresholds(cfg.Lifecycle.Traffic),
		EachUse: func(ctx context.Context, from, to time.Time, fn func(lifecycle.Use)) error {
			return eachUse(ctx, i.Store.Usage.Counters, from, to, fn)
		},
		Now: deps.Now, Log: deps.Log,
	})
	return versions{registry: registry, releases: releases, calls: calls}
}

func assembleSearch(
	i *instance.Instance, cfg *config.Config, deps *Deps, outbox *event.Outbox, log audit.Recorder, callers identity, keys secrets,
	m *members,
) (searching, error) {
	shares := fairshare.New(max(1, runtime.GOMAXPROCS(0)-1)) // one CPU is left for everything else
	var remote *remoteSearch
	indexer := search.NewIndexer(search.IndexerOptions{
		Dir: filepath.Join(cfg.Data, "index"), Source: i.Store.Documents, Settings: i.Store.Documents, Log: deps.Log, Now: deps.Now, MaxOpen: cfg.Index.Open,
		Wait: deps.MinTimeout, Shared: i.Engine.Shared(), Background: shares.Background, DiskBudget: cfg.Search.DiskBudget,
		Elsewhere: func(workspaceID string) bool { return remote != nil && remote.left(workspaceID) },
	})
	background := shares.Background
	if i.Engine.Shared() {
		background = nil // the database does the work
	}
	var claims opensearch.Claims
	if m.claims != nil {
		claims = m.claims
	}
	remote, err := newRemoteSearch(i, cfg, deps, callers.people, callers.accounts, indexer, claims, shares.Background)
	if err != nil {
		return searching{}, err
	}
	service := search.NewService(indexer, keys.cursors, shares, deps.Now)
	changed := indexer.Notify
	if remote != nil {
		service.SetElsewhere(remote.cluster)
		changed = func(workspaceID string, change int64) {
			indexer.Notify(workspaceID, change)
			remote.follower.Notify(workspaceID)
		}
		if !deps.Local {
			m.background = append(m.background, backgroundTask{name: "opensearch", run: remote.run, err: remote.err, optional: true, close: remote.close})
		}
	}
	documents := document.NewService(document.Options{
		Store: i.Store.Documents, Units: i.Store, Events: outbox, Max: callers.maxDocuments, MaxBytes: callers.maxStorage,
		Changed: changed, Stored: indexer.Record, Pace: indexer.Pace, Together: i.Engine.Shared(), Background: background,
		Now: deps.Now, NewID: func() string { return id.New(id.Document) }, RowKey: keys.rows,
	})
	collections := collection.NewService(collection.Options{
		Store: i.Store.Documents, Units: i.Store, Audit: log, MaxBytes: callers.maxStorage, Changed: changed, Now: deps.Now,
	})
	return searching{documents: documents, collections: collections, indexer: indexer, service: service, remote: remote, shares: shares}, nil
}

// load fills the caches that must be complete, joins the other processes and, unless the process is local, brings the versions
// of the API up to date.
func (s *services) load(ctx context.Context, local bool) error {
	if err := s.members.peers.begin(ctx); err != nil {
		return err
	}
	if s.instance.Rekeyed {
		if err := s.secrets.keeper.Recovered(ctx); err != nil {
			return err
		}
	}
	if err := s.versions.releases.Load(ctx); err != nil {
		return err
	}
	if err := s.events.interests.Load(ctx); err != nil {
		return err
	}
	used, err := s.records.usage.Restore(ctx)
	if err != nil {
		return fmt.Errorf("read quotas: %w", err)
	}
	if err := s.identity.people.LoadTiers(ctx); err != nil {
		return err
	}
	if err := s.identity.accounts.Load(ctx, used); err != nil {
		return err
	}
	if err := s.identity.keys.Load(ctx, used); err != nil {
		return err
	}
	if err := s.identity.apiKeys.LoadPending(ctx); err != nil {
		return err
	}
	if err := s.members.peers.join(ctx); err != nil {
		return err
	}
	if s.members.shared != nil {
		s.members.shared.Start(ctx)
	}
	if !local {
		s.versions.releases.AdvanceOrLog(ctx)
	}
	return nil
}

// eachUse calls fn with the authenticated requests of a range of time, for the traffic check of a version.
func eachUse(ctx context.Context, store usage.Store, from, to time.Time, fn func(lifecycle.Use)) error {
	q := usage.CellQuery{From: from, To: to, Step: 24 * time.Hour}
	return store.EachCell(ctx, q, func(c *usage.Cell) error {
		if c.WorkspaceID == "" || c.Version == 0 { // requests to other services, which reported them, have no version
			return nil
		}
		use := lifecycle.Use{At: c.Start, KeyID: c.KeyID, Version: c.Version, Route: c.Route, Requests: c.Requests}
		if use.KeyID == usage.Other {
			use.KeyID = "" // many keys, of which it is not known how regularly each called
		}
		fn(use)
		return nil
	})
}

func (s *services) close() error {
	errs := []error{s.members.peers.close(context.Background())} // still open if run was never called
	if s.snapshots != nil {
		errs = append(errs, s.snapshots.Close())
	}
	if err := s.search.indexer.Close(); err != nil {
		errs = append(errs, fmt.Errorf("close the index: %w", err))
	}
	return errors.Join(errs...)
}

// run starts background work until ctx ends. It calls fail if a task ends with an error.
func (s *services) run(ctx context.Context, running *sync.WaitGroup, log *slog.Logger, fail func(error)) {
	running.Go(func() { s.records.usage.Run(ctx) })
	running.Go(func() { s.records.audit.Run(ctx) })
	running.Go(func() { s.versions.calls.Run(ctx) })
	running.Go(func() { s.records.requests.Run(ctx) })
	if s.tracer != nil {
		running.Go(func() { s.tracer.Run(ctx) })
	}
	running.Go(func() { s.versions.releases.Run(ctx) })
	running.Go(func() { s.records.replays.Run(ctx, log) })
	running.Go(func() { s.secrets.subjects.Run(ctx, log) })
	running.Go(func() { s.memory.service.Sweeper.Run(ctx) })
	running.Go(func() { s.memory.service.Backfiller.Run(ctx) })
	running.Go(func() { s.identity.logins.Run(ctx) })
	running.Go(func() { s.identity.apiKeys.Run(ctx) })
	if s.events.deliverer != nil {
		running.Go(func() { s.events.deliverer.Run(ctx) })
		running.Go(func() { s.events.quotaWatch.Run(ctx) })
	}
	if claims := s.members.claims; claims != nil { // which outlive the last request
		running.Go(func() { claims.Run(ctx) })
	}
	running.Go(func() {
		if err := s.search.indexer.Run(ctx); err != nil && ctx.Err() == nil {
			fail(fmt.Errorf("keep the index up to date: %w", err))
		}
	})
	for _, task := range s.members.background {
		running.Go(func() {
			if err := task.run(ctx); err != nil && ctx.Err() == nil {
				fail(fmt.Errorf("%s: %w", task.name, err))
			}
		})
	}
}

// closeBackground closes the background tasks, the last one first.
func (s *services) closeBackground(ctx context.Context) error {
	var errs []error
	for _, task := range slices.Backward(s.members.background) {
		if err := task.close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", task.name, err))
		}
	}
	return errors.Join(errs...)
}

// auditReads returns how rows of reads are written. A local program waits for each of them.
func auditReads(cfg *config.Config, deps *Deps) audit.Reads {
	if cfg.Audit.Reads == config.ReadsRelaxed && !deps.Local {
		return audit.ReadsRelaxed
	}
	return audit.ReadsTogether
}
