package analytics

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

// Service answers the questions of callers. Each sees its own workspace; admins of the operator workspace see all.
type Service struct{ o Options }

// Options are what a Service needs.
type Options struct {
	Usage    UsageStore
	Requests LogStore
	Calls    CallStore
	Accounts *account.Directory
	Keys     KeyCounters
	Limiter  limit.Limiter
	Log      *Log
	Flush    func(ctx context.Context) error // stores the calls of versions, for LastCalls
	Now      func() time.Time
}

// KeyCounters are the live counters of API keys. *apikey.Directory is one.
type KeyCounters interface {
	// EachUsed calls fn for the API keys of a workspace that were charged this month.
	EachUsed(workspaceID string, now time.Time, fn func(keyID string, today, thisMonth int64))
}

// NewService creates a Service.
func NewService(o Options) *Service { return &Service{o} }

// AllWorkspaces is the workspace of an operator's question about the whole instance.
const AllWorkspaces = "all"

// LogSince returns the time from which requests are kept.
func (s *Service) LogSince() time.Time { return s.o.Now().Add(-s.o.Log.keep) }

// Query parses the parameters of a caller's question about a workspace; empty for its own. Its errors are problems with the
// statuses 400 and 403.
func (s *Service) Query(p *auth.Principal, workspace string, params Params) (*Query, error) {
	q, err := Parse(params, s.o.Now())
	if err != nil {
		return nil, err
	}
	q.WorkspaceID = p.WorkspaceID
	if workspace != "" && workspace != p.WorkspaceID {
		if !p.Operator || !p.Scopes.Allows(auth.Admin) {
			return nil, problem.Exceeds("workspace", "Only an operator can read the usage of another workspace.")
		}
		if workspace == AllWorkspaces {
			q.WorkspaceID = ""
		} else if _, ok := s.o.Accounts.Entry(workspace); ok {
			q.WorkspaceID = workspace
		} else {
			return nil, problem.Missing()
		}
	}
	if p.Bound() { // it must not see other keys
		q.Filter.Only(p.KeyID())
	}
	return q, nil
}

// cells returns the cells of a query.
func (s *Service) cells(ctx context.Context, q *Query) Cells {
	return func(fn func(c *usage.Cell) error) error {
		err := s.o.Usage.EachCell(ctx, usage.CellQuery{
			WorkspaceID: q.WorkspaceID, KeyIDs: q.Filter.Keys(), From: q.From, To: q.end(), Step: q.Interval.Length(),
		}, fn)
		if err != nil {
			return fmt.Errorf("read usage: %w", err)
		}
		return nil
	}
}

// Summary adds up the usage of the period.
func (s *Service) Summary(ctx context.Context, q *Query) (*Summary, error) {
	return q.Summarize(s.cells(ctx, q))
}

// Series returns the usage of up to limit groups over time.
func (s *Service) Series(ctx context.Context, q *Query, limit int) ([]Series, error) {
	return q.Series(s.cells(ctx, q), limit)
}

// Top returns the groups with the most requests.
func (s *Service) Top(ctx context.Context, q *Query, limit int) ([]Ranked, error) {
	return q.Top(s.cells(ctx, q), limit)
}

// Versions returns the usage of each version.
func (s *Service) Versions(ctx context.Context, q *Query) ([]VersionUse, error) {
	list, err := q.Versions(s.cells(ctx, q))
	if err != nil || len(list) == 0 || !q.Filter.all() && !q.Filter.onlyNoConsole() {
		return list, err
	}
	// Cells only know the minute, hour or day. Callers of versions are recorded with the time of their last call.
	if err := s.o.Flush(ctx); err != nil {
		return nil, err
	}
	calls, err := s.o.Calls.LastCalls(ctx, q.WorkspaceID, q.Filter.onlyNoConsole())
	if err != nil {
		return nil, fmt.Errorf("read the last calls of versions: %w", err)
	}
	for i := range list {
		if at := calls[list[i].Version]; at.After(list[i].LastAt) && at.Before(q.end()) {
			list[i].LastAt = at
		}
	}
	return list, nil
}

// ErrorGroup are the errors with one route, status and code.
type ErrorGroup struct {
	Route  string
	Status int
	Code   string
	Count  int64
	LastAt time.Time
}

// Errors returns the most frequent errors.
func (s *Service) Errors(ctx context.Context, q *Query, limit int) ([]ErrorGroup, error) {
	if q.Filter.Nothing() {
		return nil, nil
	}
	type key struct {
		route, code string
		status      int
	}
	groups := map[key]*ErrorGroup{}
	err := s.o.Requests.EachError(ctx, ErrorQuery{WorkspaceID: q.WorkspaceID, From: q.From, To: q.end()}, func(c *ErrorCount) {
		if !q.Filter.Match(&c.Traits) {
			return
		}
		k := key{c.Route, c.Code, c.Status}
		g := groups[k]
		if g == nil {
			g = &ErrorGroup{Route: orNone(c.Route), Status: c.Status, Code: c.Code}
			groups[k] = g
		}
		g.Count += c.Count
		if c.LastAt.After(g.LastAt) {
			g.LastAt = c.LastAt
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read counts of errors: %w", err)
	}
	list := make([]ErrorGroup, 0, len(groups))
	for _, g := range groups {
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b ErrorGroup) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Route, b.Route), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
	})
	return list[:min(limit, len(list))], nil
}

const (
	// maxScanned is how many requests of the log are read for a page. A page can have fewer items than its limit, or none, and
	// the list goes on nevertheless.
	maxScanned = 20_000
	// maxRead is how many are read at a time.
	maxRead = 2_000
)

// Requests returns up to limit requests of the log, newest first, and the position of the next page; nil if there is none.
func (s *Service) Requests(ctx context.Context, q *Query, requestID string, before *Position, limit int) (list []Request, next *Position, err error) {
	if q.Filter.Nothing() || !s.o.Log.On() {
		return nil, nil, nil
	}
	read := RequestQuery{WorkspaceID: q.WorkspaceID, From: q.since, To: q.until, ID: requestID, Before: before, Limit: limit + 1}
	for scanned := 0; scanned < maxScanned; {
		found, err := s.o.Requests.Requests(ctx, read)
		if err != nil {
			return nil, nil, fmt.Errorf("read the log of requests: %w", err)
		}
		for i := range found {
			if len(list) == limit {
				return list, read.Before, nil
			}
			read.Before = &Position{found[i].At, found[i].Number}
			if q.Filter.Match(&found[i].Traits) {
				list = append(list, found[i])
			}
		}
		if len(found) < read.Limit {
			return list, nil, nil
		}
		scanned += len(found)
		read.Limit = min(4*read.Limit, maxRead)
	}
	return list, read.Before, nil
}

// Sampled reports whether requests of the period were left out of the log.
func (s *Service) Sampled(ctx context.Context, q *Query) (bool, error) {
	if !s.o.Log.On() {
		return false, nil
	}
	left, err := s.o.Requests.HasGap(ctx, q.WorkspaceID, q.since, q.until)
	if err != nil {
		return false, fmt.Errorf("read the gaps of the log of requests: %w", err)
	}
	return left, nil
}

// Quotas are what a workspace and its API keys have used.
type Quotas struct {
	Daily, Monthly Quota
	Keys           []KeyCharge // by use of the month, the largest first
}

// Quota is a quota of a workspace.
type Quota struct {
	Limit    int64 // 0: none
	Used     int64
	ResetsAt time.Time
}

// Remaining is what is left of the quota.
func (q *Quota) Remaining() int64 { return max(0, q.Limit-q.Used) }

// Quotas reads the counters that enforce the quotas of q's workspace, and those of up to maxKeys of its API keys. The counters
// include requests that are not stored yet.
func (s *Service) Quotas(ctx context.Context, q *Query, maxKeys int) (*Quotas, error) {
	now := s.o.Now().UTC()
	year, month, day := now.Date()
	today, thisMonth := time.Date(year, month, day, 0, 0, 0, 0, time.UTC), time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	if q.WorkspaceID == "" {
		return nil, problem.Validation("workspace", problem.NotAllowed, "Name one workspace, because each has quotas of its own.")
	}
	workspace, ok := s.o.Accounts.Entry(q.WorkspaceID)
	if !ok {
		return nil, problem.Missing()
	}
	account := workspace.Account()
	s.o.Limiter.Peek(now, 0, account, limit.Account{}) // updates what this process knows of the others
	usedToday, usedThisMonth := account.Use.Used(now)
	out := &Quotas{
		Daily:   Quota{account.Daily, usedToday, today.AddDate(0, 0, 1)},
		Monthly: Quota{account.Monthly, usedThisMonth, thisMonth.AddDate(0, 1, 0)},
	}
	stored := *q
	stored.From, stored.To, stored.Interval = thisMonth, today.AddDate(0, 0, 1), Day
	keys, err := charges(s.cells(ctx, &stored), today)
	if err != nil {
		return nil, err
	}
	s.o.Keys.EachUsed(q.WorkspaceID, now, func(keyID string, today, thisMonth int64) {
		k := keys[keyID] // another process can have counted more
		keys[keyID] = KeyCharge{keyID, max(k.Daily, today), max(k.Monthly, thisMonth)}
	})
	for _, k := range keys {
		if q.Filter.Match(&Traits{KeyID: k.KeyID}) {
			out.Keys = append(out.Keys, k)
		}
	}
	slices.SortFunc(out.Keys, func(a, b KeyCharge) int {
		return cmp.Or(cmp.Compare(b.Monthly, a.Monthly), cmp.Compare(b.Daily, a.Daily), cmp.Compare(a.KeyID, b.KeyID))
	})
	out.Keys = out.Keys[:min(maxKeys, len(out.Keys))]
	return out, nil
}
