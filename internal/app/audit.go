package app

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"keepsake/internal/audit"
	"keepsake/internal/config"
	"keepsake/internal/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
)

// embeddedChain is the one chain of the audit log where one process has the databases. On a shared one each has its own.
const embeddedChain = "main"

// auditReads is how rows of reads are written. A program that works on the folder and ends waits for each.
func auditReads(cfg *config.Config, deps *Deps) audit.Reads {
	if cfg.Audit.Reads == config.ReadsRelaxed && !deps.Local {
		return audit.ReadsRelaxed
	}
	return audit.ReadsTogether
}

// CheckpointsPath is where the checkpoints of the audit log in a data folder are.
func CheckpointsPath(dir string) string { return filepath.Join(dir, "audit.checkpoints") }

// VerifyAudit verifies the audit log of a data folder without asking whatever serves it, and changes nothing there.
// checkpoints is a file of checkpoints that was kept elsewhere, empty for the folder's own.
func VerifyAudit(ctx context.Context, cfg config.Config, checkpoints string) (*audit.Verified, error) {
	checkpoints = cmp.Or(checkpoints, CheckpointsPath(cfg.Data))
	v, err := verifyAudit(ctx, cfg, checkpoints)
	if err == nil && v.Break() != nil {
		// A server that has just started, on a folder that nobody held a moment ago, may have been in the way: what is
		// broken is broken the second time, too.
		return verifyAudit(ctx, cfg, checkpoints)
	}
	return v, err
}

// view is databases that are opened to be looked at.
type view interface {
	store.Engine
	Close() error
}

func openView(ctx context.Context, cfg *config.Config) (view, error) {
	if cfg.DatabaseURL != "" {
		return postgres.OpenView(ctx, postgres.Options{URL: cfg.DatabaseURL, KeysURL: cfg.KeysURL})
	}
	return sqlite.OpenView(ctx, cfg.Data)
}

func verifyAudit(ctx context.Context, cfg config.Config, checkpoints string) (v *audit.Verified, err error) {
	view, err := openView(ctx, &cfg)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notInitialised(&cfg)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if folder, ok := view.(*sqlite.View); ok {
		if err := folder.OlderKeys(ctx); err != nil {
			return nil, err
		}
	}
	s := store.New(view)
	var master seal.MasterKey
	if cfg.MasterKey != "" {
		master, err = parseMasterKey(&cfg)
	} else {
		master, err = MasterKeyFile(cfg.Data).Find(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	secrets, err := seal.Open(ctx, s, master, false)
	if err != nil {
		return nil, err
	}
	chain := embeddedChain
	if cfg.DatabaseURL != "" {
		if chain, err = memberName(cfg.Data); err != nil {
			return nil, err
		}
	}
	log := audit.NewLog(audit.Options{
		Store: s, Units: s, Chain: chain, Secret: secrets.Get(seal.Log), Keyed: secrets.Authenticates(),
		Checkpoints: CheckpointsPath(cfg.Data), Now: time.Now, Log: slog.New(slog.DiscardHandler),
	})
	return log.Verify(ctx, checkpoints)
}
