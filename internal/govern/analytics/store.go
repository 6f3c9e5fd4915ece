package analytics

import (
	"context"
	"time"

	"keepsake/internal/govern/usage"
)

// LogStore stores the log of requests and the counts of errors.
type LogStore interface {
	// AddRequests adds the batch in one transaction. It skips a batch whose number, or a later one, was added before.
	AddRequests(ctx context.Context, b Batch) error
	// Requests returns the requests of a query, newest first.
	Requests(ctx context.Context, q RequestQuery) ([]Request, error)
	// HasGap reports whether requests of a workspace, or of any if it is empty, were left out in a period.
	HasGap(ctx context.Context, workspaceID string, from, to time.Time) (bool, error)
	// EachError calls fn for the counts whose Start is in the period of a query. c is valid until fn returns.
	EachError(ctx context.Context, q ErrorQuery, fn func(c *ErrorCount)) error
	// RollUpErrors merges counts of minutes into hours, for hours that ended by before. It uses short transactions.
	RollUpErrors(ctx context.Context, before time.Time) error
	// PruneRequests deletes requests and gaps before a time. It uses short transactions.
	PruneRequests(ctx context.Context, before time.Time) error
	// PruneErrors deletes counts of errors before a time. It uses short transactions.
	PruneErrors(ctx context.Context, before time.Time) error
}

// UsageStore reads usage.
type UsageStore interface {
	// EachCell calls fn for cells of usage. See usage.Store.
	EachCell(ctx context.Context, q usage.CellQuery, fn func(c *usage.Cell) error) error
}

// CallStore reads when versions were called.
type CallStore interface {
	// LastCalls returns when each version was last called, for a workspace or, if it is empty, for all, with or
	// without the calls of the console.
	LastCalls(ctx context.Context, workspaceID string, noConsole bool) (map[int]time.Time, error)
}
