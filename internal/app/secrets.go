package app

import (
	"context"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/base/page"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/memory/seal"
)

// assembleSecrets creates what holds keys, and what is sealed with them.
func assembleSecrets(ctx context.Context, i *instance.Instance, cfg *config.Config, deps *Deps, log *audit.Log) (k secrets, err error) {
	k.subjects = seal.NewSubjects(seal.SubjectsOptions{Store: i.Store.SubjectKeys, Secrets: i.Secrets, Now: deps.Now})
	k.keeper = &seal.Keeper{
		Secrets: i.Secrets, Audit: log, Now: deps.Now, Subjects: k.subjects,
		Alone: func(ctx context.Context, fn func(ctx context.Context) error) error {
			return i.Engine.Alone(ctx, "master key", fn)
		},
	}
	if cfg.MasterKey == "" {
		k.keeper.File = instance.MasterKeyFile(cfg.Data)
	}
	// A new secret would make every memory unfindable. But it is stored with the data keys, so losing it alone is unlikely.
	lookup, err := i.Secrets.Ensure(ctx, seal.LookupSecret)
	if err != nil {
		return k, err
	}
	k.lookup = seal.NewLookup(lookup)
	// A new secret would make old receipts unverifiable. It is stored with the data keys, too.
	receipts, err := i.Secrets.Ensure(ctx, seal.Receipts)
	if err != nil {
		return k, err
	}
	k.receipts = auth.NewReceiptKey(receipts)
	// With a new secret, a file whose rows have no IDs would be imported beside its older documents. It is stored with the data keys.
	if k.rows, err = i.Secrets.Ensure(ctx, seal.Rows); err != nil {
		return k, err
	}
	k.cursors = page.NewSealer(i.Secrets.Get(seal.Cursor))
	return k, nil
}
