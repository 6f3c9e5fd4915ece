package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"keepsake/internal/account"
	"keepsake/internal/audit"
	"keepsake/internal/config"
	"keepsake/internal/problem"
)

// Admin is the user that Init makes: nothing said is admin@localhost with a password that is generated.
type Admin = account.Admin

// Init does only the first-start part: it makes the folder and everything in it, and serves nothing. It answers
// ErrInitialised, and changes nothing, where that was done before.
func Init(ctx context.Context, cfg config.Config, deps Deps, admin Admin) (First, error) {
	if err := deps.complete(&cfg); err != nil {
		return First{}, err
	}
	deps.Local = false // the folder may be new
	a := &App{cfg: cfg, deps: deps}
	err := a.init(ctx, admin)
	if err = errors.Join(err, a.Close()); err != nil {
		return First{}, err
	}
	return *a.first, nil
}

func (a *App) init(ctx context.Context, admin Admin) (err error) {
	a.data, err = openData(ctx, &a.cfg, &a.deps)
	if errors.Is(err, ErrInUse) {
		return fmt.Errorf("%s %w: another keepsake process is using it", a.cfg.Data, ErrInitialised)
	}
	if err != nil {
		return err
	}
	return a.begin(ctx, admin, func(initialised bool) error {
		if initialised {
			return fmt.Errorf("%s %w", place(&a.cfg), ErrInitialised)
		}
		return nil
	})
}

// firstStart makes workspace, admin and key, all or nothing. Their secrets are in the folder before they are valid: a
// crash at any moment leaves at worst a file that the next first start replaces.
func (a *App) firstStart(ctx context.Context, admin Admin) (*First, error) {
	var first First
	err := a.data.store.Run(ctx, func(ctx context.Context) error {
		var key string
		made, err := a.parts.people.FirstStart(ctx, admin, func(ctx context.Context, workspaceID string) (err error) {
			key, err = a.parts.apiKeys.CreateFirst(ctx, workspaceID)
			return err
		})
		if err != nil {
			return err
		}
		err = a.parts.audit.Record(ctx, audit.Entry{Action: audit.InstanceInitialised, Actor: "local", Target: made.WorkspaceID})
		if err != nil {
			return err
		}
		first = First{
			WorkspaceID: made.WorkspaceID, UserID: made.UserID, Email: made.Email, Password: made.Password,
			APIKey: key, URL: a.baseURL(),
		}
		return first.keep(a.cfg.Data)
	})
	if err != nil {
		os.Remove(FirstStartPath(a.cfg.Data)) // what it says was not committed
		return nil, firstStartProblem(err)
	}
	if err := a.data.settle(ctx); err != nil {
		a.deps.Log.Warn("what the first start made is only in the logs of the databases for now", "error", err)
	}
	return &first, nil
}

// baseURL is where clients are told to go; empty where nothing listens and no setting says.
func (a *App) baseURL() string {
	if a.cfg.PublicURL != "" {
		return a.cfg.PublicURL
	}
	return a.PrimaryURL()
}

// firstStartProblem names the flag whose value will not do.
func firstStartProblem(err error) error {
	p, ok := problem.As(err)
	if !ok || p.Kind != problem.Invalid {
		return err
	}
	flags := map[string]string{"email": "--admin-email", "password": "--admin-password-file"}
	return &config.Error{Setting: flags[p.Details.Field], Reason: p.Message}
}
