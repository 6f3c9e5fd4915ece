// Package app assembles the program; it is the only place that knows concrete types.
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

	"keepsake/internal/account"
	"keepsake/internal/config"
	"keepsake/internal/instance"
)

// Deps is what the program takes from outside besides its configuration. The zero value is fit for production.
type Deps struct {
	Now     func() time.Time // the one clock; time.Now when nil
	Log     *slog.Logger     // JSON lines on Out, at the configured level, when nil
	Out     io.Writer        // where the log goes when Log is nil; standard error when nil too
	Version string           // of the build, for the log

	// Local opens an instance that exists without the two network listeners: only the folder's socket is served. Commands
	// that work directly on a data folder use it.
	Local bool
	// Listeners are open already, by name (primary, backend), and stay open elsewhere when this program closes them: the
	// settings of their addresses do not count.
	Listeners map[string]net.Listener
	// Statement is called with every statement before it runs, with the context it runs in. Tests count with it.
	Statement func(ctx context.Context, text string)
	// Demo loads the sample documents at a first start.
	Demo bool

	// MinTimeout is the shortest timeout of the database and of search indexes. Tests set it because a busy machine can be
	// slow.
	MinTimeout time.Duration
	// Steady is the clock that measures how long the other processes were not heard; time.Now when nil.
	Steady func() time.Time
	// PasswordCost is what new hashes of passwords cost. Tests set it; the zero value is the cost in life.
	PasswordCost account.PasswordCost
	// Sleep waits for shutdown.delay; time.Sleep when nil.
	Sleep func(time.Duration)
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

// App is a whole Keepsake: open databases, bound listeners, nothing served before Run.
type App struct {
	cfg  config.Config
	deps Deps

	instance *instance.Instance
	parts    *parts
	primary  *door
	backend  *door
	socket   *door
	first    *instance.First
	stopping atomic.Bool
	closing  sync.Once
	closed   error
}

// New opens the data folder (making and initialising it when it is new) and binds the listeners, so that everything
// that can be wrong with a setting, a folder or a port is known before the first request. Errors are one line each and
// name the setting or the file.
func New(ctx context.Context, cfg config.Config, deps Deps) (*App, error) {
	if err := deps.complete(&cfg); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, deps: deps}
	if err := a.open(ctx); err != nil {
		// What Close would say besides follows from what went wrong first.
		_ = a.Close()
		return nil, err
	}
	return a, nil
}

// open does what New promises; the order matters. Ports and certificates come first, because a mistake there should
// make nothing; then the folder's lock, so that nothing below meets another process.
func (a *App) open(ctx context.Context) (err error) {
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
		a.deps.Log.Warn("serving without the socket in the data folder, so commands need --url and --key", "error", err)
		err = nil
	}
	if err != nil {
		return err
	}
	if err := a.start(ctx, Admin{}); err != nil {
		return err
	}
	if err := a.parts.load(ctx); err != nil {
		return err
	}
	a.warn()
	for _, number := range a.parts.releases.Undeclared() {
		a.deps.Log.Warn("a version was released that this build does not declare; it is served as its predecessor", "version", number)
	}
	if a.first != nil && a.deps.Demo {
		if err := a.parts.loadDemo(ctx, a.first.WorkspaceID); err != nil {
			return err
		}
	}
	return a.surfaces()
}

func (a *App) instanceOptions(mode instance.Mode) instance.Options {
	return instance.Options{
		Mode: mode, Now: a.deps.Now, Log: a.deps.Log, Memory: memoryLimit(), Statement: a.deps.Statement, MinTimeout: a.deps.MinTimeout,
	}
}

// start opens the secrets, assembles the services and, for a new instance, does the first start. Processes on one database
// start one after the other.
func (a *App) start(ctx context.Context, admin Admin) error {
	return a.instance.Start(ctx, func(ctx context.Context) (err error) {
		if err := a.instance.Unseal(ctx); err != nil {
			return err
		}
		if a.parts, err = assemble(ctx, a.instance, &a.cfg, &a.deps); err != nil || a.instance.Initialised {
			return err
		}
		a.first, err = a.instance.FirstStart(ctx, instance.FirstStart{
			Admin: admin, URL: cmp.Or(a.cfg.PublicURL, a.PrimaryURL()),
			Accounts: a.parts.people, APIKeys: a.parts.apiKeys, Audit: a.parts.audit,
		})
		return err
	})
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

// Close closes listeners and databases, the databases last. It may be called without Run and more than once.
func (a *App) Close() error {
	a.closing.Do(func() {
		var all []error
		for _, d := range []*door{a.primary, a.backend, a.socket} {
			if err := d.close(); err != nil && !errors.Is(err, net.ErrClosed) {
				all = append(all, err)
			}
		}
		if a.parts != nil {
			all = append(all, a.parts.close())
		}
		if a.instance != nil {
			all = append(all, a.instance.Close())
		}
		a.closed = errors.Join(all...)
	})
	return a.closed
}

// PrimaryURL is the base address of the API on this machine, with the port that was bound: http://127.0.0.1:8080. It is
// empty without a listener.
func (a *App) PrimaryURL() string { return a.primary.url() }

// BackendURL is the same for the probes.
func (a *App) BackendURL() string { return a.backend.url() }

// First gives what the first start made, if New was that first start. The same is in FirstStartPath, for whoever
// started the program to show or to delete.
func (a *App) First() (instance.First, bool) {
	if a.first == nil {
		return instance.First{}, false
	}
	return *a.first, true
}
