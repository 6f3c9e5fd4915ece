// Package usage stores what clients used. It has a database of its own with its own writer, so that a flush never delays a
// client's write. No transaction contains rows of both databases.
package usage

import (
	"context"

	"keepsake/internal/govern/analytics"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
)

// Store stores usage in the usage database of an engine.
type Store struct {
	Counters *Counters
	Requests *Requests
	Callers  *Callers
}

// New returns a Store on an open engine. The caller closes the engine.
func New(engine store.Engine) *Store {
	db := store.NewDB(engine.Usage(), engine)
	return &Store{
		Counters: &Counters{db: db, alone: engine.Alone},
		Requests: &Requests{db},
		Callers:  &Callers{db},
	}
}

// Counters stores cells, quotas and last uses.
type Counters struct {
	db         *store.DB
	alone      func(ctx context.Context, name string, fn func(ctx context.Context) error) error // see store.Engine
	seriesDays seriesDays
}

// Requests stores the log of requests and the counts of errors.
type Requests struct{ db *store.DB }

// Callers stores who calls which version.
type Callers struct{ db *store.DB }

var (
	_ usage.Store           = (*Counters)(nil)
	_ usage.ReportStore     = (*Counters)(nil)
	_ analytics.LogStore    = (*Requests)(nil)
	_ analytics.UsageStore  = (*Counters)(nil)
	_ lifecycle.CallerStore = (*Callers)(nil)
	_ analytics.CallStore   = (*Callers)(nil)
)
