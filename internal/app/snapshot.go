package app

import (
	"context"
	"math"

	"keepsake/internal/app/config"
	"keepsake/internal/app/instance"
	"keepsake/internal/base/folder"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/backup"
)

func newSnapshots(i *instance.Instance, cfg *config.Config, deps *Deps, log *audit.Log) *backup.Snapshots {
	return backup.NewSnapshots(backup.Options{
		Dir: cfg.Data, Instance: i.Store.Journal.Instance(), Size: i.Size, Now: deps.Now, Log: deps.Log,
		Free: func() int64 { return freeSpace(cfg.Data) },
		Take: func(ctx context.Context, dir string) error {
			// Checkpoints first: if one were newer than the copied log, the copy would look truncated.
			if err := log.Close(ctx); err != nil {
				return err
			}
			if err := backup.CopyCheckpoints(cfg.Data, dir); err != nil {
				return err
			}
			return i.Snapshot(ctx, dir)
		},
		Made: func(ctx context.Context, actor, id string) error {
			return log.Record(ctx, audit.Entry{Action: audit.BackupMade, Actor: actor, Target: id})
		},
	})
}

// freeSpace returns the bytes that can still be written below a folder, or math.MaxInt64 if the system does not report it.
func freeSpace(dir string) int64 {
	free, err := folder.Free(dir)
	if err != nil {
		return math.MaxInt64
	}
	return free
}
