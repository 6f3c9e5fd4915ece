package sqlite

import (
	"context"
	"fmt"
)

// Settle copies the logs of main.db and keys.db into the files. SQLite drops the tail of a damaged log as if it had never been
// written. After a first start that tail is the whole instance: without its only workspace a folder would look new, and without
// its secrets it is useless.
func (e *Engine) Settle(ctx context.Context) error {
	for _, d := range []*database{e.keys, e.main} {
		if _, err := d.readers.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return fmt.Errorf("checkpoint %s: %w", d.file, err)
		}
	}
	return nil
}
