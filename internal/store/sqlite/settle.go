package sqlite

import (
	"context"
	"fmt"
)

// Settle moves what main.db's log holds into the file itself. SQLite takes a damaged log for one whose tail was never
// written and drops it from there on; after a first start that tail is the whole instance, and a folder whose only
// workspace is gone would be taken for a new one.
func (e *Engine) Settle(ctx context.Context) error {
	if _, err := e.main.readers.db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return fmt.Errorf("settle %s: %w", mainFile, err)
	}
	return nil
}
