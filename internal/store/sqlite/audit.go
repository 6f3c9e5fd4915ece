package sqlite

import (
	"context"

	"keepsake/internal/store"
)

// AppendAudit implements store.Dialect. A transaction costs no round trip, so there is nothing to save.
func (dialect) AppendAudit(context.Context, store.Database, *store.AuditAppend) (moved, ok bool, err error) {
	return false, false, nil
}
