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
	"keepsake/internal/search/document"
	clusterpg "keepsake/internal/store/cluster/postgres"
	"keepsake/internal/store/cluster/redis"
	v1 "keepsake/internal/web/api/v1"
	"keepsake/internal/web/endpoint"
)

// services are everything that a process runs, except HTTP. Operations call some of them.
type services struct {
	instance *instance.Instance
	data     string // the data folder

	accounts   *account.Directory
	people     *account.Service
	logins     *account.LoginService
	bearers    *account.Bearers
	signing    *auth.SigningKeys
	keys       *apikey.Directory
	apiKeys    *apikey.Service
	addresses  *limit.Addresses
	usage      *usage.Recorder
	audit      *audit.Log
	events     *event.Outbox
	interests  *event.Interests
	webhooks   *event.Service
	deliverer  *event.Deliverer // nil in a local process
	quotaWatch *event.QuotaWatch
	keeper     *seal.Keeper
	replays    *idempotency.Service
	cursors    *page.Sealer

	documents *document.Service
	indexer   *search.Indexer
	search    *search.Service
	subjects  *seal.Subjects // the data keys of subjects
	lookup    seal.Lookup
	memories  *memory.Service

	embeddings     *memory.Embeddings // nil without an endpoint
	embeddingLimit int64              // texts of a day

	receipts  *auth.ReceiptKey
	shares    *fairshare.Scheduler // of CPU time, for searches and recalls
	snapshots *backup.Snapshots

	declare  func(r *endpoint.Registry, documents *document.Service) // can be nil
	versions *lifecycle.Registry
	releases *lifecycle.Service
	callers  *lifecycle.Callers

	requests  *analytics.Log
	analytics *analytics.Service

	now    func() time.Time
	tracer *trace.Tracer // nil if nothing is traced

	health      *v1.Health
	caches      *v1.CacheStats
	versionList *v1.Versions

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
	tiers := cfg.TierList()
	s = &services{instance: i, data: cfg.Data, declare: deps.Declare, now: deps.Now, tracer: deps.tracer}
	if s.versions, err = lifecycle.New(lifecycle.First()); err != nil {
		return nil, err
	}
	s.audit = audit.NewLog(audit.Options{
		Store: i.Store.Audit, Units: i.Store, Chain: i.Chain, Secret: i.Secrets.Get(seal.Log),
		Checkpoints: instance.CheckpointsPath(cfg.Data), Reads: auditReads(cfg, deps), ReadDays: cfg.Audit.ReadRetentionDays,
		Alone: func(ctx context.Context, fn func(ctx context.Context) error) error {
			return i.Engine.Alone(ctx, "audit reads", fn)
		},
		Away: i.Engine.Shared(), Random: rand.Reader, Now: deps.Now, Log: deps.Log,
	})
	if err := s.audit.Begin(ctx, !i.Initialised); err != nil {
		return nil, fmt.Errorf("read the audit log's record: %w", err)
	}
	s.assembleEvents(cfg, deps)
	s.keeper = &seal.Keeper{
		Secrets: i.Secrets, Audit: s.audit, Now: deps.Now,
		Alone: func(ctx context.Context, fn func(ctx context.Context) error) error {
			return i.Engine.Alone(ctx, "master key", fn)
		},
	}
	if cfg.MasterKey == "" {
		s.keeper.File = instance.MasterKeyFile(cfg.Data)
	}
	if err := s.assembleSubjects(ctx, deps); err != nil {
		return nil, err
	}
	s.addresses = limit.NewAddresses(tiers[0].Allowance(), cfg.Limits.Addresses) // anonymous comes first
	s.usage = usage.NewRecorder(i.Store.Usage.Counters, deps.Now, deps.Log)
	s.accounts = account.NewDirectory(i.Store.Accounts, tiers, s.usage, deps.Now)
	hasher := apikey.NewHasher(i.Secrets.Get(seal.Pepper))
	s.keys = apikey.NewDirectory(i.Store.APIKeys, hasher, s.accounts, s.usage, deps.Now)
	s.shares = fairshare.New(max(1, runtime.GOMAXPROCS(0)-1)) // one CPU is left for everything else
	s.indexer = search.NewIndexer(search.IndexerOptions{
		Dir: filepath.Join(cfg.Data, "index"), Source: i.Store.Documents, Log: deps.Log, Now: deps.Now, MaxOpen: cfg.Index.Open,
		Wait: deps.MinTimeout, Shared: i.Engine.Shared(), Background: s.shares.Background,
	})
	s.assembleIdempotency(deps)
	s.cursors = page.NewSealer(i.Secrets.Get(seal.Cursor))
	if err := s.assembleLogin(ctx, cfg, deps); err != nil {
		return nil, err
	}
	if err := s.assembleLimiter(cfg, deps); err != nil {
		return nil, err
	}
	s.people = account.NewService(account.Options{
		Store: i.Store.Accounts, Units: i.Store, Directory: s.accounts, Audit: s.audit, Sessions: s.logins, Hashing: s.logins,
		Anonymous: s.addresses.Allow, Changed: func(string) { s.memories.WakeBackfill() }, Cost: deps.PasswordCost, Random: rand.Reader, Now: deps.Now,
	})
	pending, err := instance.OpenPendingRevocations(cfg.Data, i.Binding)
	if err != nil {
		deps.Log.Warn("preallocating room for pending revocations failed", "error", err)
	}
	s.apiKeys = apikey.NewService(apikey.Options{
		Store: i.Store.APIKeys, Units: i.Store, Directory: s.keys, Accounts: s.accounts, Hasher: hasher, Uses: i.Store.Usage.Counters, Reports: i.Store.Usage.Counters,
		Audit: s.audit, Events: s.events, Limiter: s.limiter, PendingStore: pending, Random: rand.Reader, Now: deps.Now, Log: deps.Log,
	})
	s.assembleQuotaWatch(deps)
	background := s.shares.Background
	if i.Engine.Shared() {
		background = nil // the database does the work
	}
	s.documents = document.NewService(document.Options{
		Store: i.Store.Documents, Units: i.Store, Events: s.events, Max: s.maxDocuments, MaxBytes: s.maxStorage, Changed: s.indexer.Notify, Stored: s.indexer.Record, Pace: s.indexer.Pace,
		Together: i.Engine.Shared(), Background: background,
		Now: deps.Now, NewID: func() string { return id.New(id.Document) },
	})
	s.assembleEmbeddings(cfg, deps)
	if err := s.assembleMemories(ctx, cfg, deps); err != nil {
		return nil, err
	}
	s.search = search.NewService(s.indexer, s.cursors, s.shares, deps.Now)
	s.callers = lifecycle.NewCallers(i.Store.Usage.Callers, deps.Now, deps.Log)
	s.releases = lifecycle.NewService(lifecycle.Options{
		Store: i.Store.Versions, History: i.Store.Versions, Units: i.Store, Registry: s.versions, Callers: s.callers, Audit: s.audit, Events: s.events,
		PublicURL: strings.TrimSuffix(cfg.PublicURL, "/"), Newest: deps.newest(), AllowUndeclared: cfg.Lifecycle.AllowUndeclared,
		AllowBackdating: cfg.Lifecycle.AllowBackdating, Thresholds: lifecycle.Thresholds(cfg.Lifecycle.Traffic), EachUse: s.eachUse,
		Now: deps.Now, Log: deps.Log,
	})
	s.requests = analytics.NewLog(i.Store.Usage.Requests, cfg.Analytics.RequestLogDays, deps.Now, deps.Log)
	s.analytics = analytics.NewService(analytics.Options{
		Usage: i.Store.Usage.Counters, Requests: i.Store.Usage.Requests, Calls: i.Store.Usage.Callers,
		Accounts: s.accounts, Keys: s.keys, Limiter: s.limiter, Log: s.requests, Flush: s.callers.Flush, Now: deps.Now,
	})
	s.snapshots = newSnapshots(s, cfg, deps)
	s.assemblePeers(cfg, deps)
	s.assembleStatus(cfg, deps.Now)
	return s, nil
}

// maxDocuments returns the limit of the workspace's tier; nil means no limit.
func (s *services) maxDocuments(workspaceID string) *int64 {
	if w, ok := s.accounts.Entry(workspaceID); ok {
		return w.Tier().Documents
	}
	return nil
}

// maxStorage returns the limit of the workspace's tier in bytes; nil means no limit.
func (s *services) maxStorage(workspaceID string) *int64 {
	if w, ok := s.accounts.Entry(workspaceID); ok {
		return w.Tier().Storage
	}
	return nil
}

// load fills the caches that must be complete, joins the other processes and, unless the process is local, brings the versions
// of the API up to date.
func (s *services) load(ctx context.Context, local bool) error {
	if err := s.peers.begin(ctx); err != nil {
		return err
	}
	if s.instance.Rekeyed {
		if err := s.keeper.Recovered(ctx); err != nil {
			return err
		}
	}
	if err := s.releases.Load(ctx); err != nil {
		return err
	}
	if err := s.interests.Load(ctx); err != nil {
		return err
	}
	used, err := s.usage.Restore(ctx)
	if err != nil {
		return fmt.Errorf("read quotas: %w", err)
	}
	if err := s.people.LoadTiers(ctx); err != nil {
		return err
	}
	if err := s.accounts.Load(ctx, used); err != nil {
		return err
	}
	if err := s.keys.Load(ctx, used); err != nil {
		return err
	}
	if err := s.apiKeys.LoadPending(ctx); err != nil {
		return err
	}
	if err := s.peers.join(ctx); err != nil {
		return err
	}
	if s.shared != nil {
		s.shared.Start(ctx)
	}
	if !local {
		s.releases.AdvanceOrLog(ctx)
	}
	return nil
}

// eachUse calls fn with the authenticated requests of a range of time, for the traffic check of a version.
func (s *services) eachUse(ctx context.Context, from, to time.Time, fn func(lifecycle.Use)) error {
	q := usage.CellQuery{From: from, To: to, Step: 24 * time.Hour}
	return s.instance.Store.Usage.Counters.EachCell(ctx, q, func(c *usage.Cell) error {
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
	errs := []error{s.peers.close(context.Background())} // still open if run was never called
	if s.snapshots != nil {
		errs = append(errs, s.snapshots.Close())
	}
	if err := s.indexer.Close(); err != nil {
		errs = append(errs, fmt.Errorf("close the index: %w", err))
	}
	return errors.Join(errs...)
}

// run starts background work until ctx ends. It calls fail if a task ends with an error.
func (s *services) run(ctx context.Context, running *sync.WaitGroup, log *slog.Logger, fail func(error)) {
	running.Go(func() { s.usage.Run(ctx) })
	running.Go(func() { s.audit.Run(ctx) })
	running.Go(func() { s.callers.Run(ctx) })
	running.Go(func() { s.requests.Run(ctx) })
	if s.tracer != nil {
		running.Go(func() { s.tracer.Run(ctx) })
	}
	running.Go(func() { s.releases.Run(ctx) })
	running.Go(func() { s.replays.Run(ctx, log) })
	running.Go(func() { s.subjects.Run(ctx, log) })
	running.Go(func() { s.memories.Run(ctx) })
	running.Go(func() { s.memories.RunBackfill(ctx) })
	running.Go(func() { s.logins.Run(ctx) })
	running.Go(func() { s.apiKeys.Run(ctx) })
	if s.deliverer != nil {
		running.Go(func() { s.deliverer.Run(ctx) })
		running.Go(func() { s.quotaWatch.Run(ctx) })
	}
	s.runClaims(ctx, running)
	running.Go(func() {
		if err := s.indexer.Run(ctx); err != nil && ctx.Err() == nil {
			fail(fmt.Errorf("keep the index up to date: %w", err))
		}
	})
	for _, task := range s.background {
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
	for _, task := range slices.Backward(s.background) {
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
