package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/problem"
	"keepsake/internal/store"
)

var _ store.Rewriter = (*database)(nil)

// Rewrite implements store.Rewriter. VACUUM alone leaves the bytes of deleted rows in their pages; VACUUM FULL writes the
// table to a new file and removes the old one. The write-ahead log, standbys, archives and backups still have them.
func (d *database) Rewrite(ctx context.Context, table string) error {
	_, err := d.Once(ctx, "VACUUM (FULL) "+pgx.Identifier{table}.Sanitize())
	if err != nil {
		return problem.NotAvailable("What was deleted cannot be erased from the database's files right now; try again.", 2*time.Second).
			Because(fmt.Errorf("rewrite table %s: %w", table, err))
	}
	return nil
}
