package limit

import (
	"context"
	"errors"
	"time"
)

// CounterStore is where peers add up what each of them has admitted, such as Redis. For every window of a budget it holds
// one number per reporter, and replaces that number with each request: a report that arrives twice counts once, and what
// the store has lost is there again with the next report. What is used of a budget is the sum of these numbers, and at
// least what the database has (SyncEntry.Stored).
//
// A store that creates a window while the reporter knows of more than its own use has lost the reports of others. For
// ReportAgainTime after that it counts the highest sum that any reporter knew of, while the others report again. If they
// have not reported all of it by then, a minute keeps that sum; a quota goes by the database.
//
// It applies the requests of one reporter in the order of their numbers: a request that arrives after a later one changes
// nothing.
type CounterStore interface {
	// Sync makes one request, atomically. After an error it is not known whether the request had its effect.
	Sync(ctx context.Context, r *SyncRequest) (*SyncResponse, error)
	// Ping returns the store's time, and a name that changes if the store was emptied or can have lost something.
	Ping(ctx context.Context) (generation string, at time.Time, err error)
}

// ReportAgainTime is how long after a loss reporters have to report again.
const ReportAgainTime = 10 * time.Second

// SyncRequest reports a process's use of some budgets of one workspace or address, and asks for units of them.
type SyncRequest struct {
	Group   string // the workspace's ID, or the hash of the address: a sharded store keeps a group in one place
	Number  uint64 // rises with each request of a process
	Entries []SyncEntry
	Wants   []Want
}

// SyncEntry is one budget in one window.
type SyncEntry struct {
	Subject  string // ID of a workspace or a key, or the hash of an address
	Kind     Kind
	Window   int32
	End      time.Time
	Limit    int64
	Reporter string
	Own      int64 // what the reporter has admitted
	Known    int64 // what all have admitted, as far as the reporter knows
	Stored   int64 // what the database has as used by all
}

// Want asks for units for one caller: Cost of every budget in Of, or nothing.
type Want struct {
	Cost int64
	Of   []int // places in Entries
}

// SyncResponse answers a SyncRequest.
type SyncResponse struct {
	At      time.Time // by the store's clock
	Sums    []Sum     // of each entry
	Granted []bool    // of each want
}

// Sum is what was used of a budget after a request.
type Sum struct {
	Total int64 // by all, what was granted with this request included
	Own   int64 // of that, by the reporter
	New   bool  // the store did not know the window before
}

// ErrOutdated is the error of a request that arrived after a later one of the same reporter. That happens to a request
// whose sender stopped waiting for it.
var ErrOutdated = errors.New("a later sync request arrived first")
