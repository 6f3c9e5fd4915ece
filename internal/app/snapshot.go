package app

import (
	"context"
	"math"

	"golang.org/x/sys/unix"

	"keepsake/internal/audit"
	"keepsake/internal/backup"
	"keepsake/internal/config"
)

func newSnapshots(p *parts, cfg *config.Config, deps *Deps) *backup.Snapshots {
	return backup.NewSnapshots(backup.Options{
		Dir: cfg.Data, Instance: p.data.store.journal.Instance(), Size: p.data.engine.Size, Now: deps.Now, Log: deps.Log,
		Free: func() int64 { return freeSpace(cfg.Data) },
		Take: func(ctx context.Context, dir string) error {
			// Checkpoints first: one that is newer than the copy of the log would say that the copy was cut off.
			if err := p.audit.Close(ctx); err != nil {
				return err
			}
			if err := backup.CopyCheckpoints(cfg.Data, dir); err != nil {
				return err
			}
			return p.data.engine.Snapshot(ctx, dir)
		},
		Made: func(ctx context.Context, actor, id string) error {
			return p.audit.Record(ctx, audit.Entry{Action: audit.BackupMade, Actor: actor, Target: id})
		},
	})
}

// freeSpace is how many bytes can still be written below a folder; as much as one likes where that cannot be told.
func freeSpace(dir string) int64 {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return math.MaxInt64
	}
	return int64(s.Bavail) * int64(s.Bsize) // whose types differ between systems
}
