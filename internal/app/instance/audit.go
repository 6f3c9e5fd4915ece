package instance

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"

	"keepsake/internal/app/config"
	"keepsake/internal/govern/audit"
	"keepsake/internal/memory/seal"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
)

// embeddedChain is the only audit chain of an instance on SQLite. On PostgreSQL every member has its own.
const embeddedChain = "main"

// auditLog returns the audit log of an instance that is not served.
func auditLog(st *store.Store, chain, dir string, secrets *seal.Secrets, opt *Options) *audit.Log {
	return audit.NewLog(audit.Options{
		Store: st.Audit, Units: st, Chain: chain, Secret: secrets.Get(seal.Log),
		Checkpoints: CheckpointsPath(dir), Random: rand.Reader, Now: opt.Now, Log: opt.Log,
	})
}

// VerifyAudit verifies the audit log of an instance without changing anything, and while another process serves it.
// checkpoints is a file that was kept elsewhere; empty means the folder's own.
func VerifyAudit(ctx context.Context, cfg config.Config, checkpoints string) (*audit.Verified, error) {
	checkpoints = cmp.Or(checkpoints, CheckpointsPath(cfg.Data))
	v, err := verifyAudit(ctx, cfg, checkpoints)
	if err == nil && v.Break() != nil {
		// A server that was starting meanwhile can cause a false break. A real one is found again.
		return verifyAudit(ctx, cfg, checkpoints)
	}
	return v, err
}

func openView(ctx context.Context, cfg *config.Config) (Engine, error) {
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
	s := store.New(view)
	var master seal.MasterKey
	if cfg.MasterKey != "" {
		master, err = parseMasterKey(&cfg)
	} else {
		master, err = MasterKeyFile(cfg.Data).Find(ctx, s.Secrets)
	}
	if err != nil {
		return nil, err
	}
	secrets, err := seal.Open(ctx, s.Secrets, master, false)
	if err != nil {
		return nil, err
	}
	chain := embeddedChain
	if cfg.DatabaseURL != "" {
		m, err := readMember(cfg.Data)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		chain = m.Name
	}
	var opt Options
	opt.complete()
	return auditLog(s, chain, cfg.Data, secrets, &opt).Verify(ctx, checkpoints)
}
