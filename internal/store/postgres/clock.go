package postgres

import (
	"context"

	"keepsake/internal/store"
)

var (
	_ store.Clocked = (*Engine)(nil)
	_ store.Relaxed = (*Engine)(nil)
)

// Clock implements store.Clocked: not the time at which the transaction began, which may have waited for a row since.
func (*Engine) Clock() string { return "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint" }

// Relax implements store.Relaxed. What commits so is seen by all at once; a crash of the server, and only that, may take
// back what was committed in the last moments before it (three times wal_writer_delay, which is 200 ms).
func (e *Engine) Relax(ctx context.Context) error {
	_, err := e.main.In(ctx).Exec(ctx, "SET LOCAL synchronous_commit = off")
	return err
}
