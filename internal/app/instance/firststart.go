package instance

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"keepsake/internal/app/config"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/audit"
)

// First is what a first start creates: the workspace `default`, its admin and a key with all scopes (docs/spec/commandline.md).
type First struct {
	WorkspaceID string `json:"workspaceId"`
	UserID      string `json:"userId"`
	Email       string `json:"email"`
	Password    string `json:"password,omitempty"` // only if it was generated
	APIKey      string `json:"apiKey"`
	URL         string `json:"url,omitempty"` // only in the file
}

// FirstStart is what a first start works with.
type FirstStart struct {
	Admin    account.Admin
	URL      string // of the API, for the file; empty if nothing listens
	Accounts *account.Service
	APIKeys  *apikey.Service
	Audit    *audit.Log
}

// FirstStart creates the workspace, the admin and the key in one transaction. Their secrets are written to FirstStartPath
// before the commit: a crash can leave a file whose secrets never worked, which the next start replaces, but never an
// instance whose only key is lost.
func (i *Instance) FirstStart(ctx context.Context, s FirstStart) (*First, error) {
	var first First
	err := i.Store.Run(ctx, func(ctx context.Context) error {
		var key string
		created, err := s.Accounts.FirstStart(ctx, s.Admin, func(ctx context.Context, workspaceID string) (err error) {
			key, err = s.APIKeys.CreateFirst(ctx, workspaceID)
			return err
		})
		if err != nil {
			return err
		}
		err = s.Audit.Record(ctx, audit.Entry{Action: audit.InstanceInitialised, Actor: "local", Target: created.WorkspaceID})
		if err != nil {
			return err
		}
		first = First{
			WorkspaceID: created.WorkspaceID, UserID: created.UserID, Email: created.Email, Password: created.Password,
			APIKey: key, URL: s.URL,
		}
		return first.write(FirstStartPath(i.cfg.Data))
	})
	if err != nil {
		os.Remove(FirstStartPath(i.cfg.Data)) // its content was not committed
		return nil, firstStartProblem(err)
	}
	if err := settle(ctx, i.Engine); err != nil {
		i.opt.Log.Warn("checkpointing the databases failed", "error", err)
	}
	return &first, nil
}

// settle checkpoints an engine that keeps commits in a log at first.
func settle(ctx context.Context, engine any) error {
	if s, ok := engine.(interface {
		Settle(ctx context.Context) error
	}); ok {
		return s.Settle(ctx)
	}
	return nil
}

func (f First) write(path string) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encode first-start.json: %w", err)
	}
	return writeFile(path, append(text, '\n'))
}

// firstStartProblem names the flag that has an invalid value.
func firstStartProblem(err error) error {
	p, ok := problem.As(err)
	if !ok || p.Kind != problem.Invalid {
		return err
	}
	flags := map[string]string{"email": "--admin-email", "password": "--admin-password-file"}
	return &config.Error{Setting: flags[p.Details.Field], Reason: p.Message}
}
