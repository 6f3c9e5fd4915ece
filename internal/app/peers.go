package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/cluster"
	clusterpg "keepsake/internal/store/cluster/postgres"
	"keepsake/internal/store/postgres"
)

// peers connects this process to the others on its database. It applies their changes to what is held in memory.
type peers struct {
	services *services
	engine   *postgres.Engine
	log      *slog.Logger
	events   *clusterpg.EventReader
	table    *clusterpg.Table
	reader   *cluster.Reader
	members  *cluster.Members

	joined  atomic.Bool
	dropped atomic.Bool // data keys were dropped, and that is not confirmed yet
	closing sync.Once

	mu     sync.Mutex
	logged map[string]bool // incompatibilities that were logged
}

// reloadSecretsEvery is how often secrets are reloaded. Their changes can commit in a database of their own, so the event
// about a change can be missing.
const reloadSecretsEvery = 5 * time.Second

// joinMembers creates peers if processes share the engine. A local process does not read the others' changes, but they
// read its own.
func (s *services) joinMembers(cfg *config.Config, deps *Deps) {
	engine, ok := s.instance.Engine.(*postgres.Engine)
	if !ok || deps.Local {
		return
	}
	p := &peers{
		services: s, engine: engine, log: deps.Log, events: clusterpg.NewEventReader(engine.Connect),
		table: clusterpg.NewTable(engine.Connect), logged: map[string]bool{},
	}
	p.reader = cluster.NewReader(cluster.ReaderOptions{
		Source: p.events, Applier: p, Confirm: p.confirm, MaxStaleness: cfg.Cluster.NewsPatience, Log: deps.Log, Now: deps.Steady,
		StartTimeout: cfg.Cluster.StartTimeout,
	})
	host, _ := os.Hostname() // only shown to operators
	p.members = cluster.NewMembers(cluster.MembersOptions{
		Table: p.table, Log: deps.Log, Clock: deps.Now,
		Self: cluster.Member{
			ID: rand.Text(), Name: s.instance.Member, Host: host, Release: deps.Version, WithoutRedis: cfg.RedisURL == "",
		},
		Joining:      p.forgetSubjects,
		WithoutRedis: s.members.shared.Partitioned, StartTimeout: cfg.Cluster.StartTimeout,
	})
	s.identity.accounts.ReadMissing()
	s.identity.signing.ReloadFrom(s.instance.Secrets.Reload)
	s.members.peers = p
	s.members.background = append(
		s.members.background,
		backgroundTask{name: "news", run: p.runReader, err: p.stale, close: p.close},
		backgroundTask{name: "members", run: p.runMembers, err: p.notSettled, optional: true, close: func(context.Context) error { return nil }},
	)
}

// begin starts reading events. Load what is held in memory after it.
func (p *peers) begin(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.reader.Begin(ctx)
}

// join makes this process a member.
func (p *peers) join(ctx context.Context) error {
	if p == nil {
		return nil
	}
	err := p.members.Join(ctx)
	p.joined.Store(err == nil)
	return err
}

// freshness reports whether what is held in memory is current; nil if no other process changes it.
func (p *peers) freshness() interface{ Current() bool } {
	if p == nil {
		return nil
	}
	return p.reader
}

func (p *peers) runReader(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { p.reader.Run(ctx) })
	all.Go(func() { p.keepReloadingSecrets(ctx) })
	all.Go(func() { p.dropStaleKeys(ctx) })
	all.Wait()
	return nil
}

func (p *peers) runMembers(ctx context.Context) error {
	p.members.Run(ctx)
	return nil
}

func (p *peers) keepReloadingSecrets(ctx context.Context) {
	every := time.NewTicker(reloadSecretsEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			p.reloadSecrets(ctx)
		}
	}
}

// stale returns an error if changes of other processes cannot be read.
func (p *peers) stale(context.Context) error {
	if p.reader.Current() {
		return nil
	}
	return fmt.Errorf("changes of other processes have not been read for %s", p.reader.Staleness().Round(time.Second))
}

// notSettled returns an error if other processes may not count this one.
func (p *peers) notSettled(context.Context) error {
	if p.members.Settled() {
		return nil
	}
	return errors.New("not every other process counts this one")
}

// close ends the membership and the connections. It can be called more than once.
func (p *peers) close(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.closing.Do(func() {
		if p.joined.Load() {
			if err := p.members.Leave(ctx); err != nil {
				p.log.Warn("leaving the cluster failed", "error", err.Error())
			}
		}
		p.events.Close()
		p.table.Close()
	})
	return nil
}

// Apply implements cluster.Applier. It reloads what the events name, so their order does not matter.
func (p *peers) Apply(ctx context.Context, events []cluster.Event) error {
	p.engine.AwaitHooks() // else an older change of this process could overwrite what is read now
	s := p.services
	var keys []string
	for _, e := range events {
		var err error
		switch e.Kind {
		case cluster.APIKey:
			keys = append(keys, e.Subject)
		case cluster.User:
			s.identity.bearers.ForgetUser(e.Subject)
		case cluster.Session:
			s.identity.bearers.ForgetSession(e.Subject)
		case cluster.Workspace:
			err = p.logIncompatible(s.identity.accounts.Reload(ctx, e.Subject))
		case cluster.Tier:
			err = s.identity.people.LoadTiers(ctx)
		case cluster.Version:
			err = p.logIncompatible(s.versions.releases.Hear(ctx))
		case cluster.Webhook:
			err = s.events.interests.Reload(ctx, e.Subject)
		case cluster.Subject:
			err = p.forgetSubject(e.Subject)
		case cluster.Secret:
			p.reloadSecrets(ctx)
		default: // of a newer release
			return p.ApplyAll(ctx)
		}
		if err != nil {
			return err
		}
	}
	return s.identity.keys.Reload(ctx, keys)
}

// ApplyAll implements cluster.Applier.
func (p *peers) ApplyAll(ctx context.Context) error {
	p.engine.AwaitHooks()
	s := p.services
	p.forgetSubjects()
	s.identity.bearers.ForgetAll()
	p.reloadSecrets(ctx)
	if err := s.events.interests.Load(ctx); err != nil {
		return err
	}
	if err := s.identity.people.LoadTiers(ctx); err != nil {
		return err
	}
	if err := p.logIncompatible(s.identity.accounts.ReloadAll(ctx)); err != nil {
		return err
	}
	if err := p.logIncompatible(s.versions.releases.Hear(ctx)); err != nil {
		return err
	}
	return s.identity.keys.ReloadAll(ctx)
}

// forgetSubject drops an erased subject's key and index from memory.
func (p *peers) forgetSubject(name string) error {
	workspaceID, subject, err := store.DestroyedSubject(name)
	if err != nil {
		return err
	}
	p.services.secrets.subjects.Forget(workspaceID, subject)
	p.services.memory.service.Caches.DropSubject(workspaceID, subject)
	p.dropped.Store(true)
	return nil
}

// forgetSubjects drops all subjects' keys and indexes from memory.
func (p *peers) forgetSubjects() {
	p.services.secrets.subjects.ForgetAll()
	p.services.memory.service.Caches.DropSubjects()
	p.dropped.Store(true)
}

// confirm tells processes that wait for an erasure that this one has applied it.
func (p *peers) confirm(ctx context.Context, number int64) {
	if !p.dropped.Swap(false) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := p.table.Confirm(ctx, p.members.Self.ID, number); err != nil {
		p.dropped.Store(true) // the next poll tries again
	}
}

// keyLease is how long data keys stay in memory while no events can be read. It is shorter than cluster.AnswerWithin, so a
// member that others expel has dropped its keys by then.
const keyLease = 4 * time.Second

// dropStaleKeys drops all data keys while no events could be read for keyLease: a subject could have been erased.
func (p *peers) dropStaleKeys(ctx context.Context) {
	every := time.NewTicker(cluster.PollEvery)
	defer every.Stop()
	stale := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if now := p.reader.Staleness() >= keyLease; now != stale {
			if stale = now; stale {
				p.forgetSubjects()
			}
		} else if stale {
			p.services.secrets.subjects.ForgetAll() // keys that were opened since
		}
	}
}

// reloadSecrets reloads the secrets. While their database is unreachable, no new data keys are created; what was signed with
// known secrets stays valid.
func (p *peers) reloadSecrets(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := p.services.identity.signing.Reload(ctx)
	if errors.Is(err, seal.ErrMasterKeyReplaced) {
		_ = p.logIncompatible(err)
		return
	}
	if err != nil && ctx.Err() == nil {
		p.log.Warn("reloading secrets failed; retrying", "error", err.Error())
	}
}

// logIncompatible logs, once each, errors which mean that this process has other settings or another build than the
// process that made a change. The operator must fix that; requests are still served. It returns other errors.
func (p *peers) logIncompatible(err error) error {
	if !errors.Is(err, account.ErrUnknownTier) && !errors.Is(err, lifecycle.ErrCannotServe) && !errors.Is(err, seal.ErrMasterKeyReplaced) {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if text := err.Error(); !p.logged[text] {
		p.logged[text] = true
		p.log.Error("this process is incompatible with others on its database", "error", text)
	}
	return nil
}
