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
	"sync"
	"sync/atomic"

	"keepsake/internal/account"
	v1 "keepsake/internal/api/v1"
	"keepsake/internal/apikey"
	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/backup"
	clusterpg "keepsake/internal/cluster/postgres"
	"keepsake/internal/config"
	"keepsake/internal/document"
	"keepsake/internal/fairshare"
	"keepsake/internal/id"
	"keepsake/internal/idempotency"
	"keepsake/internal/instance"
	"keepsake/internal/lifecycle"
	"keepsake/internal/limit"
	"keepsake/internal/memory"
	"keepsake/internal/page"
	"keepsake/internal/seal"
	"keepsake/internal/search"
	"keepsake/internal/usage"
)

// parts are the services over one open data folder, before anything of HTTP.
type parts struct {
	instance  *instance.Instance
	accounts  *account.Directory
	keys      *apikey.Directory
	bearers   *account.Bearers
	addresses *limit.Addresses
	usage     *usage.Recorder
	indexer   *search.Indexer
	shares    *fairshare.Scheduler // of the processors, for searches and recalls
	replays   *idempotency.Service
	claims    *clusterpg.Claims // nil where no other process has the databases open
	subjects  *seal.Subjects    // their data keys
	lookup    seal.Lookup
	versions  *lifecycle.Registry
	callers   *lifecycle.Callers
	snapshots *backup.Snapshots
	beside    []part

	neighbours *neighbours // nil where no other process has the databases open
	limiter    limit.Limiter
	shared     *limit.Shared // the limiter of a process with peers; nil where no other process has the databases open
	joined     atomic.Bool   // the others have counted this process since its start
	services
}

// part is what only a process on a shared database has: what processes tell each other, the limits they share.
type part struct {
	name string // as readiness calls it: news, limits
	// run does its work beside requests until ctx ends; an error before that takes the program down.
	run func(ctx context.Context) error
	// err says why it does not do its work at the moment, nil when it does.
	err func(ctx context.Context) error
	// spare says that requests are served without it: readiness stays, and says that it is degraded.
	spare bool
	// close ends it in order, after requests and run have ended and while the databases are still open.
	close func(ctx context.Context) error
}

// services are what operations call.
type services struct {
	audit     *audit.Log
	keeper    *seal.Keeper
	people    *account.Service
	logins    *account.LoginService
	signing   *auth.SigningKeys
	apiKeys   *apikey.Service
	documents *document.Service
	memories  *memory.Service
	receipts  *auth.ReceiptKey
	search    *search.Service
	releases  *lifecycle.Service
	cursors   *page.Sealer

	health      *v1.Health
	caches      *v1.CacheStats
	versionList *v1.Versions
}

func assemble(ctx context.Context, i *instance.Instance, cfg *config.Config, deps *Deps) (p *parts, err error) {
	tiers := cfg.TierList()
	p = &parts{instance: i}
	if p.versions, err = lifecycle.New(lifecycle.First()); err != nil {
		return nil, err
	}
	p.audit = audit.NewLog(audit.Options{
		Store: i.Store, Units: i.Store, Chain: i.Chain, Secret: i.Secrets.Get(seal.Log), Keyed: i.Secrets.Authenticates(),
		Checkpoints: instance.CheckpointsPath(cfg.Data), Reads: auditReads(cfg, deps), ReadDays: cfg.Audit.ReadRetentionDays,
		Alone: func(ctx context.Context, fn func(ctx context.Context) error) error {
			return i.Engine.Alone(ctx, "audit reads", fn)
		},
		Away: i.Engine.Shared(), Random: rand.Reader, Now: deps.Now, Log: deps.Log,
	})
	if err := p.audit.Begin(ctx, !i.Initialised); err != nil {
		return nil, fmt.Errorf("read the record of the audit log: %w", err)
	}
	p.keeper = &seal.Keeper{
		Secrets: i.Secrets, Audit: p.audit, Now: deps.Now,
		Alone: func(ctx context.Context, fn func(ctx context.Context) error) error {
			return i.Engine.Alone(ctx, "master key", fn)
		},
	}
	if cfg.MasterKey == "" {
		p.keeper.File = instance.MasterKeyFile(cfg.Data)
	}
	if err := p.assembleSubjects(ctx, deps); err != nil {
		return nil, err
	}
	p.addresses = limit.NewAddresses(tiers[0].Allowance(), cfg.Limits.Addresses) // anonymous comes first
	p.usage = usage.NewRecorder(i.Store, deps.Now, deps.Log)
	p.accounts = account.NewDirectory(i.Store, tiers, p.usage, deps.Now)
	hasher := apikey.NewHasher(i.Secrets.Get(seal.Pepper))
	p.keys = apikey.NewDirectory(i.Store, hasher, p.accounts, p.usage, deps.Now)
	p.indexer = search.NewIndexer(search.IndexerOptions{
		Dir: filepath.Join(cfg.Data, "index"), Source: i.Store, Log: deps.Log, Now: deps.Now, MaxOpen: cfg.Index.Open,
		Wait: deps.MinTimeout, Shared: i.Engine.Shared(), Memory: memoryLimit(),
	})
	p.shares = fairshare.New(max(1, runtime.GOMAXPROCS(0)-1)) // one processor is left for everything else
	p.assembleReplays(deps)
	p.cursors = page.NewSealer(i.Secrets.Get(seal.Cursor))
	if err := p.assembleLogin(ctx, cfg, deps); err != nil {
		return nil, err
	}
	if err := p.assembleLimiter(cfg, deps); err != nil {
		return nil, err
	}
	p.people = account.NewService(account.Options{
		Store: i.Store, Units: i.Store, Directory: p.accounts, Audit: p.audit, Sessions: p.logins, Hashing: p.logins,
		Anonymous: p.addresses.Allow, Cost: deps.PasswordCost, Random: rand.Reader, Now: deps.Now,
	})
	pending, err := instance.OpenPendingRevocations(cfg.Data, i.Binding)
	if err != nil {
		deps.Log.Warn("preallocating room for pending revocations failed", "error", err)
	}
	p.apiKeys = apikey.NewService(apikey.Options{
		Store: i.Store, Units: i.Store, Directory: p.keys, Accounts: p.accounts, Hasher: hasher, Uses: i.Store,
		Audit: p.audit, Limiter: p.limiter, PendingStore: pending, Random: rand.Reader, Now: deps.Now, Log: deps.Log,
	})
	p.documents = document.NewService(document.Options{
		Store: i.Store, Units: i.Store, Max: p.maxDocuments, MaxBytes: p.maxStorage, Changed: p.indexer.Notify, Pace: p.indexer.Pace,
		Together: i.Engine.Shared(),
		Now:      deps.Now, NewID: func() string { return id.New(id.Document) },
	})
	if err := p.assembleMemories(ctx, cfg, deps); err != nil {
		return nil, err
	}
	p.search = search.NewService(p.indexer, p.cursors, p.shares, deps.Now)
	p.callers = lifecycle.NewCallers(i.Store, deps.Now, deps.Log)
	p.releases = lifecycle.NewService(lifecycle.Options{
		Store: i.Store, Units: i.Store, Registry: p.versions, Callers: p.callers, Audit: p.audit,
		Newest: newest(), AllowUndeclared: cfg.Lifecycle.AllowUndeclared,
		AllowBackdating: cfg.Lifecycle.AllowBackdating, Now: deps.Now,
	})
	p.snapshots = newSnapshots(p, cfg, deps)
	p.assembleNeighbours(cfg, deps)
	p.report(cfg, deps.Now)
	return p, nil
}

// maxDocuments is what the workspace's tier allows, 0 for no limit.
func (p *parts) maxDocuments(workspaceID string) int64 {
	if w, ok := p.accounts.Entry(workspaceID); ok {
		return w.Tier().Documents
	}
	return 0
}

// maxStorage is how many bytes the workspace's tier allows, nil for no limit.
func (p *parts) maxStorage(workspaceID string) *int64 {
	w, ok := p.accounts.Entry(workspaceID)
	if !ok || w.Tier().Storage == limit.NoLimit {
		return nil
	}
	most := w.Tier().Storage
	return &most
}

// load fills what is kept in memory from the store.
func (p *parts) load(ctx context.Context) error {
	if err := p.neighbours.begin(ctx); err != nil {
		return err
	}
	if p.instance.Rekeyed {
		if err := p.keeper.Recovered(ctx); err != nil {
			return err
		}
	}
	if err := p.releases.Load(ctx); err != nil {
		return err
	}
	used, err := p.usage.Restore(ctx)
	if err != nil {
		return fmt.Errorf("read quotas: %w", err)
	}
	if err := p.people.LoadTiers(ctx); err != nil {
		return err
	}
	if err := p.accounts.Load(ctx, used); err != nil {
		return err
	}
	if err := p.keys.Load(ctx, used); err != nil {
		return err
	}
	if err := p.apiKeys.LoadPending(ctx); err != nil {
		return err
	}
	if err := p.neighbours.join(ctx); err != nil {
		return err
	}
	if p.shared != nil {
		p.shared.Start(ctx)
	}
	return nil
}

func (p *parts) close() error {
	errs := []error{p.neighbours.close(context.Background())} // where nobody has run, it is still open
	if p.snapshots != nil {
		errs = append(errs, p.snapshots.Close())
	}
	if err := p.indexer.Close(); err != nil {
		errs = append(errs, fmt.Errorf("close the index: %w", err))
	}
	return errors.Join(errs...)
}

// run does the work beside requests until ctx ends. A part that gives up before takes the program down with it.
func (p *parts) run(ctx context.Context, running *sync.WaitGroup, log *slog.Logger, fail func(error)) {
	running.Go(func() { p.usage.Run(ctx) })
	running.Go(func() { p.audit.Run(ctx) })
	running.Go(func() { p.callers.Run(ctx) })
	running.Go(func() { p.replays.Run(ctx, log) })
	running.Go(func() { p.subjects.Run(ctx, log) })
	running.Go(func() { p.memories.Run(ctx) })
	running.Go(func() { p.logins.Run(ctx) })
	running.Go(func() { p.apiKeys.Run(ctx) })
	p.runClaims(ctx, running)
	running.Go(func() {
		if err := p.indexer.Run(ctx); err != nil && ctx.Err() == nil {
			fail(fmt.Errorf("keep the index up to date: %w", err))
		}
	})
	for _, part := range p.beside {
		running.Go(func() {
			if err := part.run(ctx); err != nil && ctx.Err() == nil {
				fail(fmt.Errorf("%s: %w", part.name, err))
			}
		})
	}
}

// closeBeside ends the parts that only a process on a shared database has, the last one first.
func (p *parts) closeBeside(ctx context.Context) error {
	var errs []error
	for _, part := range slices.Backward(p.beside) {
		if err := part.close(ctx); err != nil {
			errs = append(errs, fmt.Errorf("close %s: %w", part.name, err))
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
