package app

import (
	"context"
	"errors"
	"math"

	"keepsake/internal/audit"
	"keepsake/internal/backup"
	"keepsake/internal/config"
	"keepsake/internal/folder"
	"keepsake/internal/store"
	"keepsake/internal/store/move"
	"keepsake/internal/store/postgres"
	"keepsake/internal/store/sqlite"
)

// copier is an engine that can copy its databases into a folder while they are in use.
type copier interface {
	Snapshot(ctx context.Context, dir string) error
	// Size is how many bytes there are to copy.
	Size() int64
}

// databaseCopier copies what a server has into the files of a folder.
type databaseCopier struct{ *postgres.Engine }

// Snapshot implements copier: the data as of one moment, then the secrets, row by row, and compared.
func (c databaseCopier) Snapshot(ctx context.Context, dir string) (err error) {
	view, err := c.Freeze(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	instance, err := store.New(view).InstanceID(ctx)
	if err != nil {
		return err
	}
	files, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Instance: instance})
	if err != nil {
		return err
	}
	err = transfer(ctx, move.Options{From: view, To: files, Source: "a backup"}, &Moved{}, nil)
	return errors.Join(err, files.Close())
}

func newSnapshots(p *parts, cfg *config.Config, deps *Deps) *backup.Snapshots {
	var engine copier
	switch e := p.data.engine.(type) {
	case *sqlite.Engine:
		engine = e
	case *postgres.Engine:
		engine = databaseCopier{e}
	}
	return backup.NewSnapshots(backup.Options{
		Dir: cfg.Data, Instance: p.data.store.journal.Instance(), Size: engine.Size, Now: deps.Now, Log: deps.Log,
		Free: func() int64 { return freeSpace(cfg.Data) },
		Take: func(ctx context.Context, dir string) error {
			// Checkpoints first: one that is newer than the copy of the log would say that the copy was cut off.
			if err := p.audit.Close(ctx); err != nil {
				return err
			}
			if err := backup.CopyCheckpoints(cfg.Data, dir); err != nil {
				return err
			}
			return engine.Snapshot(ctx, dir)
		},
		Made: func(ctx context.Context, actor, id string) error {
			return p.audit.Record(ctx, audit.Entry{Action: audit.BackupMade, Actor: actor, Target: id})
		},
	})
}

// freeSpace is how many bytes can still be written below a folder; the largest number where the system does not say.
func freeSpace(dir string) int64 {
	free, err := folder.Free(dir)
	if err != nil {
		return math.MaxInt64
	}
	return free
}
