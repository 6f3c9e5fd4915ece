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

	"keepsake/internal/account"
	"keepsake/internal/cluster"
	clusterpg "keepsake/internal/cluster/postgres"
	"keepsake/internal/config"
	"keepsake/internal/lifecycle"
	"keepsake/internal/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
)

// neighbours keep this process of one mind with the others on its database.
type neighbours struct {
	parts   *parts
	engine  *postgres.Engine
	log     *slog.Logger
	board   *clusterpg.Board
	table   *clusterpg.Table
	reader  *cluster.Reader
	members *cluster.Members

	joined  atomic.Bool
	dropped atomic.Bool // data keys were dropped of which another process may wait to hear
	closing sync.Once

	mu    sync.Mutex
	noted map[string]bool // what was logged of things that do not fit
}

// secretsEvery is how often the secrets are read anew: what changes them commits in a database that may be another one,
// so the news of them may be missing.
const secretsEvery = 5 * time.Second

// assembleNeighbours makes the part that listens to the others, on an engine that processes share. A process that serves
// nobody listens to nobody; the others still hear what it changes.
func (p *parts) assembleNeighbours(cfg *config.Config, deps *Deps) {
	engine, ok := p.instance.Engine.(*postgres.Engine)
	if !ok || deps.Local {
		return
	}
	n := &neighbours{
		parts: p, engine: engine, log: deps.Log, board: clusterpg.NewBoard(engine.Connect), table: clusterpg.NewTable(engine.Connect),
		noted: map[string]bool{},
	}
	n.reader = cluster.NewReader(cluster.ReaderOptions{
		Source: n.board, Hearer: n, Done: n.heard, Patience: cfg.Cluster.NewsPatience, Log: deps.Log, Now: deps.Steady,
		StartTimeout: cfg.Cluster.StartTimeout,
	})
	host, _ := os.Hostname() // only for people
	n.members = cluster.NewMembers(cluster.MembersOptions{
		Table: n.table, Log: deps.Log, Clock: deps.Now,
		Self:    cluster.Member{ID: rand.Text(), Name: p.instance.Member, Host: host, Release: deps.Version, Split: cfg.RedisURL == ""},
		Joining: n.forgetSubjects,
		Split:   p.shared.Partitioned, StartTimeout: cfg.Cluster.StartTimeout,
	})
	p.accounts.ReadMissing()
	p.signing.ReloadFrom(p.instance.Secrets.Reload)
	p.neighbours = n
	p.beside = append(
		p.beside,
		part{name: "news", run: n.listen, err: n.cutOff, close: n.close},
		part{name: "members", run: n.beat, err: n.away, spare: true, close: func(context.Context) error { return nil }},
	)
}

// begin hears from now on; what is kept in memory must be read after it.
func (n *neighbours) begin(ctx context.Context) error {
	if n == nil {
		return nil
	}
	return n.reader.Begin(ctx)
}

// join makes this process one that the others count.
func (n *neighbours) join(ctx context.Context) error {
	if n == nil {
		return nil
	}
	err := n.members.Join(ctx)
	n.joined.Store(err == nil)
	return err
}

// news is what says whether what is in memory is known to be true; nil where nobody else changes it.
func (n *neighbours) news() interface{ Current() bool } {
	if n == nil {
		return nil
	}
	return n.reader
}

// listen hears until ctx ends.
func (n *neighbours) listen(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { n.reader.Run(ctx) })
	all.Go(func() { n.followSecrets(ctx) })
	all.Go(func() { n.dropUnheard(ctx) })
	all.Wait()
	return nil
}

func (n *neighbours) beat(ctx context.Context) error {
	n.members.Run(ctx)
	return nil
}

func (n *neighbours) followSecrets(ctx context.Context) {
	every := time.NewTicker(secretsEvery)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
			n.hearSecrets(ctx)
		}
	}
}

// cutOff says that nobody can tell what others have changed.
func (n *neighbours) cutOff(context.Context) error {
	if n.reader.Current() {
		return nil
	}
	return fmt.Errorf("what other processes changed has not been heard for %s", n.reader.Heard().Round(time.Second))
}

// away says that the others may count without this process.
func (n *neighbours) away(context.Context) error {
	if n.members.Settled() {
		return nil
	}
	return errors.New("not every other process counts this one")
}

// clockWrong says that the times this process writes are not those of the others.
func (n *neighbours) clockWrong(context.Context) error { return n.members.ClockError() }

// close ends the membership and the connections. It may be called twice.
func (n *neighbours) close(ctx context.Context) error {
	if n == nil {
		return nil
	}
	n.closing.Do(func() {
		if n.joined.Load() {
			if err := n.members.Leave(ctx); err != nil {
				n.log.Warn("the other processes are not told that this one stops; they miss it soon", "error", err.Error())
			}
		}
		n.board.Close()
		n.table.Close()
	})
	return nil
}

// Hear implements cluster.Hearer. News name what is to be read, so their order among each other does not matter.
func (n *neighbours) Hear(ctx context.Context, news []cluster.News) error {
	n.engine.AwaitHooks() // what this process changed itself may be older than what is read now
	p := n.parts
	var keys []string
	for _, heard := range news {
		var err error
		switch heard.Kind {
		case cluster.APIKey:
			keys = append(keys, heard.Subject)
		case cluster.User:
			p.bearers.ForgetUser(heard.Subject)
		case cluster.Session:
			p.bearers.ForgetSession(heard.Subject)
		case cluster.Workspace:
			err = n.unfit(p.accounts.Reload(ctx, heard.Subject))
		case cluster.Tier:
			err = p.people.LoadTiers(ctx)
		case cluster.Version:
			err = n.unfit(p.releases.Hear(ctx))
		case cluster.Subject:
			err = n.forgetSubject(heard.Subject)
		case cluster.Secret:
			n.hearSecrets(ctx)
		default: // a newer release may tell of more
			return n.HearEverything(ctx)
		}
		if err != nil {
			return err
		}
	}
	return p.keys.Reload(ctx, keys)
}

// HearEverything implements cluster.Hearer.
func (n *neighbours) HearEverything(ctx context.Context) error {
	n.engine.AwaitHooks()
	p := n.parts
	n.forgetSubjects()
	p.bearers.ForgetAll()
	n.hearSecrets(ctx)
	if err := p.people.LoadTiers(ctx); err != nil {
		return err
	}
	if err := n.unfit(p.accounts.ReloadAll(ctx)); err != nil {
		return err
	}
	if err := n.unfit(p.releases.Hear(ctx)); err != nil {
		return err
	}
	return p.keys.ReloadAll(ctx)
}

// forgetSubject drops from memory what is there of an erased subject.
func (n *neighbours) forgetSubject(name string) error {
	workspaceID, subject, err := store.DestroyedSubject(name)
	if err != nil {
		return err
	}
	n.parts.subjects.Forget(workspaceID, subject)
	n.parts.memories.ForgetSubject(workspaceID, subject)
	n.dropped.Store(true)
	return nil
}

// forgetSubjects drops from memory what is there of all subjects.
func (n *neighbours) forgetSubjects() {
	n.parts.subjects.ForgetAll()
	n.parts.memories.ForgetSubjects()
	n.dropped.Store(true)
}

// heard says to those who erase subjects that what they told was heard, and done.
func (n *neighbours) heard(ctx context.Context, number int64) {
	if !n.dropped.Swap(false) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := n.table.Heard(ctx, n.members.Self.ID, number); err != nil {
		n.dropped.Store(true) // said with the next poll
	}
}

// keyLease is how long data keys stay in memory while nothing is heard. It ends before others give up waiting for an answer
// (cluster.AnswerWithin), so that who does not answer them has no key either.
const keyLease = 4 * time.Second

// dropUnheard drops all data keys when nothing was heard for keyLease: somebody may have been erased.
func (n *neighbours) dropUnheard(ctx context.Context) {
	every := time.NewTicker(cluster.PollEvery)
	defer every.Stop()
	deaf := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if now := n.reader.Heard() >= keyLease; now != deaf {
			if deaf = now; deaf {
				n.forgetSubjects()
			}
		} else if deaf {
			n.parts.subjects.ForgetAll() // what was opened since
		}
	}
}

// hearSecrets reads the secrets anew. Their database may be another one than that of the news; while it is away no keys
// are made, and what was signed with known ones stays good.
func (n *neighbours) hearSecrets(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := n.parts.signing.Reload(ctx)
	if errors.Is(err, seal.ErrMasterKeyReplaced) {
		_ = n.unfit(err)
		return
	}
	if err != nil && ctx.Err() == nil {
		n.log.Warn("the secrets were not read anew; it is tried again", "error", err.Error())
	}
}

// unfit logs, once, what another process has made that this one cannot take over: its settings or its build differ. It
// is for the operator to see to, and no reason to refuse everybody. Other errors it gives back.
func (n *neighbours) unfit(err error) error {
	if !errors.Is(err, account.ErrUnknownTier) && !errors.Is(err, lifecycle.ErrCannotServe) && !errors.Is(err, seal.ErrMasterKeyReplaced) {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if text := err.Error(); !n.noted[text] {
		n.noted[text] = true
		n.log.Error("this process does not fit the others on its database", "error", text)
	}
	return nil
}
