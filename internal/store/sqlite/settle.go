package sqlite

import (
	"context"
	"fmt"
)

// Settle moves what the logs of main.db and keys.db hold into the files themselves. SQLite takes a damaged log for one
// whose tail was never written and drops it from there on; after a first start that tail is the whole instance: a folder
// whose only workspace is gone would be taken for a new one, and one without its secrets is of no use.
func (e *Engine) Settle(ctx context.Context) error {
	for _, d := range []*database{e.keys, e.main} {
		if _, err := d.readers.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return fmt.Errorf("settle %s: %w", d.file, err)
		}
	}
	return nil
}
