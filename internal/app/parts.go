package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"keepsake/internal/account"
	v1 "keepsake/internal/api/v1"
	"keepsake/internal/apikey"
	"keepsake/internal/audit"
	"keepsake/internal/auth"
	"keepsake/internal/backup"
	"keepsake/internal/config"
	"keepsake/internal/document"
	"keepsake/internal/id"
	"keepsake/internal/idempotency"
	"keepsake/internal/lifecycle"
	"keepsake/internal/limit"
	"keepsake/internal/page"
	"keepsake/internal/seal"
	"keepsake/internal/search"
	"keepsake/internal/usage"
)

// parts are the services over one open data folder, before anything of HTTP.
type parts struct {
	data      *data
	accounts  *account.Directory
	keys      *apikey.Directory
	bearers   *account.Bearers
	addresses *limit.Addresses
	usage     *usage.Recorder
	indexer   *search.Indexer
	replays   *idempotency.Service
	versions  *lifecycle.Registry
	callers   *lifecycle.Callers
	snapshots *backup.Snapshots
	services
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
	search    *search.Service
	releases  *lifecycle.Service
	cursors   *page.Sealer

	health      *v1.Health
	caches      *v1.CacheStats
	versionList *v1.Versions
}

func assemble(ctx context.Context, d *data, cfg *config.Config, deps *Deps) (p *parts, err error) {
	tiers := cfg.TierList()
	p = &parts{data: d}
	if p.versions, err = lifecycle.New(lifecycle.First()); err != nil {
		return nil, err
	}
	p.audit = audit.NewLog(audit.Options{
		Store: d.store, Units: d.store, Chain: auditChain, Secret: d.secrets.Get(seal.Log),
		Checkpoints: CheckpointsPath(cfg.Data), Random: rand.Reader, Now: deps.Now, Log: deps.Log,
	})
	p.keeper = &seal.Keeper{Secrets: d.secrets, Audit: p.audit, Now: deps.Now}
	if cfg.MasterKey == "" {
		p.keeper.File = MasterKeyFile(cfg.Data)
	}
	p.addresses = limit.NewAddresses(tiers[0].Allowance(), cfg.Limits.Addresses) // anonymous comes first
	p.usage = usage.NewRecorder(d.store, deps.Now, deps.Log)
	p.accounts = account.NewDirectory(d.store, tiers, p.usage, deps.Now)
	hasher := apikey.NewHasher(d.secrets.Get(seal.Pepper))
	p.keys = apikey.NewDirectory(d.store, hasher, p.accounts, p.usage, deps.Now)
	p.indexer = search.NewIndexer(search.IndexerOptions{
		Dir: filepath.Join(cfg.Data, "index"), Source: d.store, Log: deps.Log, Now: deps.Now, MaxOpen: cfg.Index.Open,
	})
	p.replays = idempotency.NewService(d.store, d.store, d.secrets.Get(seal.Replay), deps.Now)
	p.cursors = page.NewSealer(d.secrets.Get(seal.Cursor))
	if err := p.assembleLogin(ctx, cfg, deps); err != nil {
		return nil, err
	}
	p.people = account.NewService(account.Options{
		Store: d.store, Units: d.store, Directory: p.accounts, Audit: p.audit, Sessions: p.logins, Hashing: p.logins,
		Anonymous: p.addresses.Allow, Random: rand.Reader, Now: deps.Now,
	})
	p.apiKeys = apikey.NewService(apikey.Options{
		Store: d.store, Units: d.store, Directory: p.keys, Accounts: p.accounts, Hasher: hasher, Uses: d.store,
		Audit: p.audit, Random: rand.Reader, Now: deps.Now,
	})
	p.documents = document.NewService(document.Options{
		Store: d.store, Units: d.store, Max: p.maxDocuments, Changed: p.indexer.Notify, Pace: p.indexer.Pace,
		Now: deps.Now, NewID: func() string { return id.New(id.Document) },
	})
	p.search = search.NewService(p.indexer, p.cursors, deps.Now)
	p.callers = lifecycle.NewCallers(d.store, deps.Now, deps.Log)
	p.releases = lifecycle.NewService(lifecycle.Options{
		Store: d.store, Units: d.store, Registry: p.versions, Callers: p.callers, Audit: p.audit,
		Newest: operations(services{}).Newest(), AllowUndeclared: cfg.Lifecycle.AllowUndeclared,
		AllowBackdating: cfg.Lifecycle.AllowBackdating, Now: deps.Now,
	})
	p.snapshots = newSnapshots(p, cfg, deps)
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

// load fills what is kept in memory from the store.
func (p *parts) load(ctx context.Context) error {
	if p.data.rekeyed {
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
	return p.keys.Load(ctx, used)
}

func (p *parts) close() error {
	var errs []error
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
	running.Go(func() { p.logins.Run(ctx) })
	running.Go(func() {
		if err := p.indexer.Run(ctx); err != nil && ctx.Err() == nil {
			fail(fmt.Errorf("keep the index up to date: %w", err))
		}
	})
}
