// Package usage records charged and observed requests and stores them each second.
package usage

import (
	"context"
	"time"
)

// Cell contains the counts of one combination of dimensions in one minute, hour or day. Quotas are the sum of Charged, so
// that quotas and analytics agree.
type Cell struct {
	Start       time.Time // of the minute, hour or day in which the requests were charged, in UTC
	WorkspaceID string
	KeyID       string // empty if no key was used; Other for those beyond MaxPairs
	Route       string // template, /api/v1/documents/{id}; never a raw path; Other for those beyond MaxPairs
	Method      string
	Status      int
	Version     int
	Surface     string // primary, ai, backend, console
	Requests    int64
	Charged     int64
	BytesIn     int64
	BytesOut    int64
	Latency     Histogram // of the requests whose duration was recorded
}

// Add adds the counts of o to c.
func (c *Cell) Add(o *Cell) {
	c.Requests += o.Requests
	c.Charged += o.Charged
	c.BytesIn += o.BytesIn
	c.BytesOut += o.BytesOut
	c.Latency.Merge(&o.Latency)
}

// Other is the key and the route of requests that were counted together, because their minute had more combinations of key and
// route than MaxPairs.
const Other = "__other__"

// CellQuery selects cells.
type CellQuery struct {
	WorkspaceID string        // empty for all workspaces
	KeyIDs      []string      // empty for all keys; an empty ID is requests without a key
	From, To    time.Time     // at multiples of Step; To is exclusive
	Step        time.Duration // time.Minute, time.Hour or 24*time.Hour
}

// Quota is the usage of an owner, identified by a workspace's or a key's ID, in a UTC day or month.
type Quota struct {
	OwnerID string
	Period  string // "2026-11-21" or "2026-11"
	Charged int64
	Added   int64 // the part that the current flush added; 0 for a read
}

// LastUse is when a key's secret was last used.
type LastUse struct {
	KeyID string
	Hint  string // identifies the secret
	At    time.Time
}

// Delta is the content of a flush. Two of its cells can have the same minute and dimensions; both count.
type Delta struct {
	// Recorder and Number identify the flush, so that one with an unknown outcome can be sent again. Numbers rise from
	// 1. A delta with number 0 is always added.
	Recorder string
	Number   int64
	At       time.Time
	Totals   bool // requests the quotas of the cells' owners

	Cells    []Cell
	LastUses []LastUse
}

// Point is a step of a key's usage series.
type Point struct {
	At        time.Time // start of the step
	Requests  int64
	Errors    int64 // 4xx except 429, and 5xx
	Throttled int64 // 429
	Charged   int64
}

// Store stores usage. It has a writer of its own, so that a flush never delays a client's write.
type Store interface {
	// AddUsage adds d to the cells and to the quotas of their workspaces and keys, in one transaction. It skips cells
	// whose number, or a later one, was added before. Last uses only move forward, so storing them again changes
	// nothing. With d.Totals, it returns the resulting quotas of the cells' owners, which include all recorders.
	AddUsage(ctx context.Context, d Delta) ([]Quota, error)
	// Quotas reads the quotas of all owners in the periods.
	Quotas(ctx context.Context, periods []string) ([]Quota, error)
	// OwnerQuotas reads the quotas of some owners in the periods, without those of zero.
	OwnerQuotas(ctx context.Context, ownerIDs, periods []string) ([]Quota, error)
	// LastUses reads when each secret of the keys was last used.
	LastUses(ctx context.Context, keyIDs []string) ([]LastUse, error)
	// KeySeries sums a key's cells of the time range into steps in ascending order, without steps that have no
	// requests.
	KeySeries(ctx context.Context, workspaceID, keyID string, from, to time.Time, step time.Duration) ([]Point, error)
	// EachCell calls fn for cells that together count each request of the query once, in no order, as far as cells of q.Step are
	// kept. Start is at a multiple of q.Step. c is valid until fn returns, which must not write to the store.
	EachCell(ctx context.Context, q CellQuery, fn func(c *Cell) error) error
	// RollUpUsage adds up what was added since the last call, by minute, hour and day. It uses short transactions, so that flushes
	// can run between them. What EachCell finds and the quotas do not change.
	RollUpUsage(ctx context.Context) error
	// PruneUsage deletes what r no longer keeps. It uses short transactions, so that flushes can run between them.
	PruneUsage(ctx context.Context, r Retention) error
}

// Retention is from when on cells of minutes, hours and days are kept. Hours is also the time before whose month quotas are
// deleted.
type Retention struct {
	Now                  time.Time
	Minutes, Hours, Days time.Time
}
