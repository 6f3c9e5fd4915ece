// Package app assembles the program; it is the only place that knows concrete types.
package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"keepsake/internal/config"
)

// Deps is what the program takes from outside besides its configuration. The zero value is fit for production.
type Deps struct {
	Now     func() time.Time // the one clock; time.Now when nil
	Log     *slog.Logger     // JSON lines on Out, at the configured level, when nil
	Out     io.Writer        // where the log goes when Log is nil; standard error when nil too
	Version string           // of the build, for the log

	// Local starts without the two network listeners: only the folder's socket is served. Commands that work directly
	// on a data folder use it.
	Local bool
}

// App is a whole Keepsake: open databases, bound listeners, nothing served before Run.
type App struct{}

// New opens the data folder (making and initialising it when it is new) and binds the listeners, so that everything
// that can be wrong with a setting, a folder or a port is known before the first request. Errors are one line each and
// name the setting or the file.
func New(ctx context.Context, cfg config.Config, deps Deps) (*App, error) {
	return nil, errors.New("not assembled yet")
}

// Run serves until ctx ends, then stops: readiness says no, running requests finish within shutdown.grace, and usage is
// flushed. It returns nil after an orderly stop. Close still has to be called.
func (a *App) Run(ctx context.Context) error { return nil }

// Close closes listeners and databases, the databases last. It may be called without Run and more than once.
func (a *App) Close() error { return nil }

// PrimaryURL is the base address of the API on this machine, with the port that was bound: http://127.0.0.1:8080.
func (a *App) PrimaryURL() string { return "" }

// BackendURL is the same for the probes.
func (a *App) BackendURL() string { return "" }

// First gives what the first start made, if New was that first start. It is the only time the secrets can be read.
func (a *App) First() (First, bool) { return First{}, false }
