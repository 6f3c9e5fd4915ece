package apikey

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

// Report is a number of requests that another service served to the holder of a key.
type Report struct {
	ID     string // counts once in usage.ReportMemory for a workspace
	KeyID  string
	Route  string // template of the service, with or without a method before it: GET /orders/{id}
	Status int
	Count  int64
	At     time.Time
}

// Reported is what Report did.
type Reported struct {
	Accepted   int
	Duplicates int
	Errors     []ReportError // in the order of the reports
}

// ReportError is the problem of a report that was not accepted.
type ReportError struct {
	Index   int // of the report
	Problem *problem.Problem
}

// How far the time of a report can lie from its arrival.
const (
	maxReportAge   = 24 * time.Hour
	maxReportAhead = 5 * time.Minute // clocks of services differ
)

// Report counts requests that another service served. They spend the quotas of the day on which they are reported, whether or
// not anything is left, but no minute. They are counted at the time of each report, on the surface backend, without a version.
// Reports of keys that p cannot see are errors; a holder of the backend secret sees the keys of all workspaces. Revoked keys
// count too, because their requests can have come before.
func (s *Service) Report(ctx context.Context, p *auth.Principal, list []Report) (*Reported, error) {
	now := s.o.Now()
	keys, err := s.reportedKeys(ctx, p, now, list)
	if err != nil {
		return nil, err
	}
	result := &Reported{}
	b := reportBatch{service: s, now: now, known: map[[16]byte]bool{}}
	for i := range list {
		key := keys[list[i].KeyID]
		if wrong := checkReport(&list[i], key, now); wrong != nil {
			result.Errors = append(result.Errors, ReportError{i, wrong})
		} else if !b.add(&list[i], key) {
			result.Duplicates++
		}
	}
	if len(b.reports) == 0 {
		return result, nil
	}
	if err := s.o.Reports.AddReports(ctx, now, b.reports, b.spend); err != nil {
		b.takeBack()
		return nil, fmt.Errorf("add reported usage: %w", err)
	}
	result.Accepted = b.accepted
	result.Duplicates += len(b.reports) - b.accepted
	return result, nil
}

func checkReport(r *Report, key *reportedKey, now time.Time) *problem.Problem {
	switch {
	case key == nil:
		return problem.Validation("keyId", problem.InvalidVal, "There is no such API key.")
	case r.At.Before(now.Add(-maxReportAge)):
		return problem.Validation("at", problem.Expired, "at must be within the last 24 hours.")
	case r.At.After(now.Add(maxReportAhead)):
		return problem.Validation("at", problem.TooLargeVal, "at must not be in the future.")
	default:
		return nil
	}
}

// reportedKey is a key that reports name.
type reportedKey struct {
	id        string
	workspace *account.Entry
	account   limit.Account
	receipt   limit.Receipt // of a charge of nothing, whose windows the reports are spent from
	spent     int64         // from receipt
}

// reportedKeys reads the keys of reports that p can see, by ID.
func (s *Service) reportedKeys(ctx context.Context, p *auth.Principal, now time.Time, list []Report) (map[string]*reportedKey, error) {
	keys := map[string]*reportedKey{}
	var ids []string
	for i := range list {
		_, wellFormed := id.Parse(id.APIKey, list[i].KeyID)
		if _, named := keys[list[i].KeyID]; wellFormed && !named {
			keys[list[i].KeyID] = nil
			ids = append(ids, list[i].KeyID)
		}
	}
	err := s.o.Directory.store.APIKeysByID(ctx, ids, func(k *APIKey) error {
		workspace, ok := s.o.Accounts.Entry(k.WorkspaceID)
		if !ok || !seesWorkspace(p, k.WorkspaceID) || !visibleTo(p, k) {
			return nil
		}
		keys[k.ID] = &reportedKey{id: k.ID, workspace: workspace, account: limit.Account{
			Use: s.o.Directory.counters(k.ID, workspace), Key: limitKey(k.ID),
			Allowance: limit.Allowance{PerMinute: orZero(k.RequestsPerMinute), Daily: orZero(k.Daily), Monthly: orZero(k.Monthly)},
		}}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	for _, key := range keys {
		if key != nil {
			_, key.receipt = s.o.Limiter.Charge(now, 0, key.workspace.Account(), key.account)
		}
	}
	return keys, nil
}

// reportBatch collects reports for the store.
type reportBatch struct {
	service  *Service
	now      time.Time
	known    map[[16]byte]bool
	reports  []usage.Report
	keys     []*reportedKey // of each report
	accepted int
}

// add adds a report; false if the batch has one with its ID.
func (b *reportBatch) add(r *Report, key *reportedKey) bool {
	hash := reportID(key.workspace.ID(), r.ID)
	if b.known[hash] {
		return false
	}
	b.known[hash] = true
	at := r.At
	if at.After(b.now) {
		at = b.now
	}
	method, route := splitRoute(r.Route)
	if !b.service.routes.allow(key.workspace.ID(), method+" "+route, b.now) {
		method, route = "", usage.Other
	}
	b.keys = append(b.keys, key)
	b.reports = append(b.reports, usage.Report{
		ID: hash, ChargedAt: key.receipt.At(),
		Cell: usage.Cell{
			Start: at.UTC(), WorkspaceID: key.workspace.ID(), KeyID: key.id, Route: route, Method: method, Status: r.Status,
			Surface: usage.Backend.String(), Requests: r.Count,
		},
	})
	return true
}

// spend spends the reports at positions, in place of those of an earlier call. Memory has them before the database, like other
// requests.
func (b *reportBatch) spend(positions []int) {
	b.takeBack()
	b.accepted = len(positions)
	for _, i := range positions {
		n := b.reports[i].Cell.Requests
		b.keys[i].receipt.Spend(n)
		b.keys[i].spent += n
	}
}

func (b *reportBatch) takeBack() {
	for _, key := range b.keys {
		key.receipt.Spend(-key.spent)
		key.spent = 0
	}
	b.accepted = 0
}

// reportID is a hash, because IDs are texts that services choose.
func reportID(workspaceID, id string) [16]byte {
	sum := sha256.Sum256([]byte(workspaceID + "\x00" + id))
	return [16]byte(sum[:16])
}

// splitRoute splits the method off a route.
func splitRoute(text string) (method, route string) {
	before, after, found := strings.Cut(text, " ")
	switch before {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		if found && strings.HasPrefix(after, "/") {
			return before, after
		}
	}
	return "", text
}

const (
	maxReportedRoutes = 200    // of a workspace
	maxReportedInAll  = 50_000 // of all workspaces
)

// reportedRoutes are the routes that were reported on a UTC day. A service that reports raw paths as routes would fill the
// database otherwise.
type reportedRoutes struct {
	mu          sync.Mutex
	day         int64
	byWorkspace map[string]map[string]bool
	count       int
}

// allow reports whether a route can be counted under its name.
func (r *reportedRoutes) allow(workspaceID, route string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if day := now.Unix() / 86400; r.byWorkspace == nil || day != r.day {
		r.day, r.byWorkspace, r.count = day, map[string]map[string]bool{}, 0
	}
	routes := r.byWorkspace[workspaceID]
	if routes[route] {
		return true
	}
	if len(routes) >= maxReportedRoutes || r.count >= maxReportedInAll {
		return false
	}
	if routes == nil {
		routes = map[string]bool{}
		r.byWorkspace[workspaceID] = routes
	}
	routes[route], r.count = true, r.count+1
	return true
}
