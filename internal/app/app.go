// Package app assembles the program. No other package knows all concrete types.
package app

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/base/trace"
	"keepsake/internal/base/vectors"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/memory/seal"
	"keepsake/internal/search/document"
	"keepsake/internal/web/endpoint"
)

// Deps is what the program takes from outside, except its configuration. The zero value is right for production.
type Deps struct {
	Now func() time.Time // time.Now if nil
	Log *slog.Logger     // JSON lines to Out at the configured level if nil
	Out io.Writer        // of the log if Log is nil; standard error if nil
	// DroppedLogLines returns how many lines of the log were not written; nil if that is not counted.
	DroppedLogLines func() int64
	Version         string // of the build

	// Local opens an existing instance without network listeners: only the folder's socket is served. Commands that work
	// directly on a data folder use it.
	Local bool
	// Listeners were opened by another process, by name (primary, backend, ai), and stay open there. They replace the settings
	// of addresses.
	Listeners map[string]net.Listener
	// Statement is called with every SQL statement before it runs. Tests count statements with it.
	Statement func(ctx context.Context, text string)
	// Demo loads samples at a first start.
	Demo bool
	// Declare adds operations to those of the build, and Steps says what they change. Tests serve a version with them that the
	// build does not have.
	Declare func(r *endpoint.Registry, documents *document.Service)
	Steps   []lifecycle.Step

	// MinTimeout is the shortest timeout of requests, the database and search indexes. Tests set it because a busy machine can be
	// slow.
	MinTimeout time.Duration
	// Steady is a monotonic clock that measures how long other processes were silent; time.Now if nil.
	Steady func() time.Time
	// PasswordCost is the cost of new password hashes. Tests lower it; the zero value is for production.
	PasswordCost account.PasswordCost
	// Sleep waits for shutdown.delay; time.Sleep if nil.
	Sleep func(time.Duration)

	tracer  *trace.Tracer         // of this process; nil if it traces nothing
	vectors func() *vectors.Table // of words; nil if recall compares words alone
}

func (d *Deps) complete(cfg *config.Config) error {
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.Sleep == nil {
		d.Sleep = time.Sleep
	}
	if d.Out == nil {
		d.Out = os.Stderr
	}
	if d.Log == nil {
		level, err := cfg.Log.SlogLevel()
		if err != nil {
			return err
		}
		d.Log = slog.New(slog.NewJSONHandler(d.Out, &slog.HandlerOptions{Level: level}))
	}
	return nil
}

// App is a Keepsake process: open databases and bound listeners. It serves nothing before Run.
type App struct {
	cfg  config.Config
	deps Deps

	instance *instance.Instance
	services *services
	primary  *listener
	backend  *listener
	agents   *listener // nil if the AI services are on the primary listener
	socket   *listener

	certificate *certificate // of primary and agents; nil without TLS

	served   []surface // for metrics
	secret   string    // of the backend listener; empty for a local process
	first    *instance.First
	stopping atomic.Bool
	closing  sync.Once
	closed   error
}

// New binds the listeners, opens the instance (and creates it if necessary) and assembles the services. So a wrong setting,
// folder or port is reported before the first request. Errors are one line and name the setting or the file.
func New(ctx context.Context, cfg config.Config, deps Deps) (*App, error) {
	if err := deps.complete(&cfg); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, deps: deps}
	if err := a.open(ctx); err != nil {
		_ = a.Close() // its errors would only follow from err
		return nil, err
	}
	return a, nil
}

// open does the work of New. Files that settings name and ports come first, so that a mistake in them creates nothing; then the folder's
// lock, which keeps other processes away.
func (a *App) open(ctx context.Context) (err error) {
	if a.deps.tracer, err = newTracer(&a.cfg, &a.deps); err != nil {
		return err
	}
	if a.deps.vectors, err = newVectors(&a.cfg); err != nil {
		return err
	}
	if err := a.bind(ctx); err != nil {
		return err
	}
	mode := instance.OpenOrCreate
	if a.deps.Local {
		mode = instance.OpenExisting
	}
	if a.instance, err = instance.Open(ctx, &a.cfg, a.instanceOptions(mode)); err != nil {
		return err
	}
	a.socket, err = bindSocket(a.cfg.Data)
	if withoutSockets(err) && !a.deps.Local {
		a.deps.Log.Warn("serving without the socket in the data folder; commands need --url and --key", "error", err)
		err = nil
	}
	if err != nil {
		return err
	}
	if err := a.start(ctx, Admin{}); err != nil {
		return err
	}
	if err := a.services.load(ctx, a.deps.Local); err != nil {
		return err
	}
	for _, number := range a.services.versions.releases.Undeclared() {
		a.deps.Log.Warn("released version is not declared by this build; serving it as its predecessor", "version", number)
	}
	if a.first != nil && a.deps.Demo {
		if err := a.services.loadDemo(ctx, a.first.WorkspaceID); err != nil {
			return err
		}
	}
	return a.surfaces()
}

func (a *App) instanceOptions(mode instance.Mode) instance.Options {
	return instance.Options{
		Mode: mode, Now: a.deps.Now, Log: a.deps.Log, Memory: memoryLimit(), Statement: a.deps.Statement, MinTimeout: a.deps.MinTimeout,
		Observer: observeStore(a.deps.tracer, &a.cfg),
	}
}

// start opens the secrets, assembles the services and, for a new instance, does the first start. Processes on one database
// start one after the other.
func (a *App) start(ctx context.Context, admin Admin) error {
	return a.instance.Start(ctx, func(ctx context.Context) (err error) {
		if err := a.instance.Unseal(ctx); err != nil {
			return err
		}
		if err := a.loadBackendSecret(ctx); err != nil {
			return err
		}
		if a.services, err = assemble(ctx, a.instance, &a.cfg, &a.deps); err != nil || a.instance.Initialised {
			return err
		}
		a.first, err = a.instance.FirstStart(ctx, instance.FirstStart{
			Admin: admin, URL: cmp.Or(a.cfg.PublicURL, a.PrimaryURL()),
			Accounts: a.services.identity.people, APIKeys: a.services.identity.apiKeys, Audit: a.services.records.audit,
		})
		return err
	})
}

// loadBackendSecret reads or creates the backend secret. An instance that has none yet also starts on a full disk; then no
// service has its backend secret.
func (a *App) loadBackendSecret(ctx context.Context) (err error) {
	if a.deps.Local {
		return nil
	}
	var shared *seal.Secrets
	if a.instance.Engine.Shared() {
		shared = a.instance.Secrets
	}
	a.secret, err = instance.BackendSecret(ctx, &a.cfg, shared)
	if err != nil && a.secret != "" && a.instance.Initialised {
		a.deps.Log.Warn("storing the backend secret failed; the next start tries again", "error", err)
		return nil
	}
	return err
}

// Admin is the user that Init creates. The zero value is admin@localhost with a generated password.
type Admin = account.Admin

// Init creates an instance without serving it. The error is instance.ErrInitialised, and nothing is changed, if there is
// one already.
func Init(ctx context.Context, cfg config.Config, deps Deps, admin Admin) (instance.First, error) {
	if err := deps.complete(&cfg); err != nil {
		return instance.First{}, err
	}
	deps.Local = false // the folder can be new
	a := &App{cfg: cfg, deps: deps}
	var err error
	if a.instance, err = instance.Open(ctx, &a.cfg, a.instanceOptions(instance.CreateNew)); err == nil {
		err = a.start(ctx, admin)
	}
	if err = errors.Join(err, a.Close()); err != nil {
		return instance.First{}, err
	}
	return *a.first, nil
}

// Close closes the listeners and then the databases. It can be called without Run, and more than once.
func (a *App) Close() error {
	a.closing.Do(func() {
		var all []error
		for _, l := range []*listener{a.primary, a.backend, a.agents, a.socket} {
			if err := l.close(); err != nil && !errors.Is(err, net.ErrClosed) {
				all = append(all, err)
			}
		}
		if a.services != nil {
			all = append(all, a.services.close())
		}
		if a.instance != nil {
			all = append(all, a.instance.Close())
		}
		a.closed = errors.Join(all...)
	})
	return a.closed
}

// PrimaryURL returns the base address of the API on this machine, such as http://127.0.0.1:8080, or "" without a listener.
func (a *App) PrimaryURL() string { return a.primary.url() }

// AIURL is like PrimaryURL, for the AI services. It is the same unless they have a listener of their own.
func (a *App) AIURL() string {
	if a.agents == nil {
		return a.PrimaryURL()
	}
	return a.agents.url()
}

// PrimaryAddress returns where the API is: its URL on this machine, or unix: and the path of its socket.
func (a *App) PrimaryAddress() string { return a.primary.address() }

// BackendURL is like PrimaryURL, for the backend listener.
func (a *App) BackendURL() string { return a.backend.url() }

// First returns what the first start created, if New did one. instance.FirstStartPath contains the same.
func (a *App) First() (instance.First, bool) {
	if a.first == nil {
		return instance.First{}, false
	}
	return *a.first, true
}
