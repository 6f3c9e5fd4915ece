// Package usage counts what was charged and what was observed, and makes it durable each second.
package usage

import (
	"context"
	"time"
)

// Cell is what one combination of dimensions did in one minute. Quotas are the sum of Charged, so that quota and
// analytics cannot disagree.
type Cell struct {
	Minute      int64 // Unix minute in which the requests were charged
	WorkspaceID string
	KeyID       string // empty where no key was used
	Route       string // template, /api/v1/documents/{id}; never a raw path
	Method      string
	Status      int
	Version     int
	Surface     string // primary, ai, backend
	Requests    int64
	Charged     int64
	BytesIn     int64
	BytesOut    int64
}

// Quota is what an owner (a workspace's or a key's id) has used of a UTC day or month.
type Quota struct {
	OwnerID string
	Period  string // "2026-11-21" or "2026-11"
	Charged int64
	Added   int64 // what of it came with the flush that tells of it; 0 where it was only read
}

// LastUse is when a key's secret was last used.
type LastUse struct {
	KeyID string
	Hint  string // which of its secrets
	At    time.Time
}

// Delta is what one flush adds. Two of its cells may be of the same minute and dimensions: both count.
type Delta struct {
	// Recorder and Number name the flush, so that one whose commit nobody heard of can be sent again. Numbers rise from 1;
	// without one the delta is added whatever was added before.
	Recorder string
	Number   int64
	At       time.Time
	Totals   bool // the quotas of the cells' owners are asked for

	Cells    []Cell
	LastUses []LastUse
}

// Point is a step of a key's usage series.
type Point struct {
	At        time.Time // start of the step
	Requests  int64
	Errors    int64 // 4xx but 429, and 5xx
	Throttled int64 // 429
	Charged   int64
}

// Store keeps usage; it has a writer of its own so that a flush never delays a write of a client.
type Store interface {
	// AddUsage adds d to the cells and to the quotas of their workspaces and keys, in one transaction. Cells of a number
	// that was added before, or of a smaller one, are not added again; last uses only move forward, so they may be. With
	// d.Totals it answers the quotas of the cells' owners as they stand then, all recorders together.
	AddUsage(ctx context.Context, d Delta) ([]Quota, error)
	// Quotas reads what was charged to every owner in the periods.
	Quotas(ctx context.Context, periods []string) ([]Quota, error)
	// OwnerQuotas reads what was charged to some owners in the periods; those that were charged nothing are absent.
	OwnerQuotas(ctx context.Context, ownerIDs, periods []string) ([]Quota, error)
	// LastUses reads when each secret of the keys was last used.
	LastUses(ctx context.Context, keyIDs []string) ([]LastUse, error)
	// KeySeries sums a key's cells from a moment up to another into steps, rising; steps without requests are absent.
	KeySeries(ctx context.Context, workspaceID, keyID string, from, to time.Time, step time.Duration) ([]Point, error)
	// RollUpUsage turns the minute cells of hours that ended by a moment into hour cells, in transactions short enough
	// for a flush to pass between two of them; each leaves every sum and quota as it was. A minute that is added late is
	// a cell of its own until the next roll-up.
	RollUpUsage(ctx context.Context, before time.Time) error
	// PruneUsage deletes cells, of minutes and of hours, that lie before a moment, and the quotas of the
	// days and months before its month.
	PruneUsage(ctx context.Context, before time.Time) error
}
