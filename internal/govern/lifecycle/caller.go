package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/base/id"
	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
)

// Caller is an API key or a user that called a version, with the route and the client program, and the time of the last call.
type Caller struct {
	Version     int
	WorkspaceID string
	CallerID    string // of an API key or a user
	Route       string // GET /api/v1/documents/{id}
	Client      string // the first product of User-Agent: curl/8.5.0; empty if there is none
	LastAt      time.Time
}

// ManyClients stands for all further clients of a caller that has used more than maxClients.
const ManyClients = "other"

// Console is the client that the console calls for its pages. Only the console has this name.
const Console = "keepsake-console"

// CallerStore stores callers.
type CallerStore interface {
	// AddCallers adds callers or moves their LastAt, never back. It stores at most max clients of one caller of a version
	// separately, and all others as ManyClients.
	AddCallers(ctx context.Context, callers []Caller, max int) error
	// Callers lists callers of a version by workspace, caller, route and client.
	Callers(ctx context.Context, q CallerQuery) ([]Caller, error)
	// PruneCallers deletes callers whose LastAt is older than before.
	PruneCallers(ctx context.Context, before time.Time) error
}

// CallerQuery selects callers.
type CallerQuery struct {
	Version     int
	WorkspaceID string    // empty: of all workspaces
	From        time.Time // with a call since then; zero: any
	NoConsole   bool      // leave out what the console has called for its pages
	After       *Caller   // those after this one in the order of the list; nil: from its beginning
	Limit       int
}

const (
	// keepCallers is longer than a year: a caller that calls once a year is the one that a migration forgets.
	keepCallers = 400 * 24 * time.Hour

	flushEvery = time.Minute
	pruneEvery = 24 * time.Hour

	maxCallers = 65_536 // in memory at once; further ones are dropped until the next flush
	maxClients = 32     // of one caller, because a client can write anything into its User-Agent
	maxName    = 64     // bytes of a client's name
)

// Callers records who calls which version. Every request calls Note: for a combination that has been seen before it costs one
// lookup, without a lock or an allocation.
type Callers struct {
	store CallerStore
	now   func() time.Time
	log   *slog.Logger

	seen atomic.Pointer[map[callerKey]*sighting] // copy-on-write

	mu  sync.Mutex
	new map[callerKey]*sighting // combinations that are not in seen yet

	flushing sync.Mutex
}

// callerKey is comparable, so that a lookup allocates nothing.
type callerKey struct {
	version int
	key     id.UUID // of an API key, or
	user    string
	route   string
	client  string
}

type sighting struct {
	workspace string       // of the key or the user; it never changes
	last      atomic.Int64 // Unix milliseconds
	saved     int64        // the value of last that is stored; guarded by Callers.flushing
}

// NewCallers creates a Callers. Run flushes it every minute, and Close flushes the rest.
func NewCallers(store CallerStore, now func() time.Time, log *slog.Logger) *Callers {
	c := &Callers{store: store, now: now, log: log, new: map[callerKey]*sighting{}}
	c.seen.Store(&map[callerKey]*sighting{})
	return c
}

// Note records that p called a version by a route, with this User-Agent. Only keys and users are recorded, not the local
// socket's operator.
func (c *Callers) Note(version int, p *auth.Principal, route, agent string, at time.Time) {
	if p.Kind != auth.APIKey && p.Kind != auth.User {
		return
	}
	k := callerKey{version, p.Key, p.UserID, route, Product(agent)}
	s := (*c.seen.Load())[k]
	if s == nil {
		if s = c.add(k, p.WorkspaceID); s == nil {
			return
		}
	}
	// Requests overtake each other, and a cache line that every request writes slows down all cores. A second is exact enough.
	if ms := at.UnixMilli(); ms >= s.last.Load()+1000 {
		s.last.Store(ms)
	}
}

// add returns the sighting of a new combination; nil if there is no room for it.
func (c *Callers) add(k callerKey, workspaceID string) *sighting {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := (*c.seen.Load())[k]; s != nil {
		return s
	}
	s := c.new[k]
	if s == nil && len(c.new)+len(*c.seen.Load()) < maxCallers {
		s = &sighting{workspace: strings.Clone(workspaceID)} // copies, so that the request's memory is not kept
		k.client, k.user = strings.Clone(k.client), strings.Clone(k.user)
		c.new[k] = s
	}
	return s
}

// Product returns the first product of a User-Agent (RFC 9110, 10.1.5). It distinguishes programs, but not people. It is
// empty if the header does not begin with a product.
func Product(agent string) string {
	name, _, _ := strings.Cut(agent, " ")
	if len(name) > maxName {
		return ""
	}
	for i := range len(name) {
		switch b := name[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '-' <= b && b <= '9', b == '_', b == '+': // '-' to '9' are - . / and digits
		default:
			return ""
		}
	}
	return name
}

// Run flushes every minute and prunes old callers once a day, until ctx is done.
func (c *Callers) Run(ctx context.Context) {
	flush, prune := time.NewTicker(flushEvery), time.NewTicker(pruneEvery)
	defer flush.Stop()
	defer prune.Stop()
	c.prune(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-flush.C:
			if err := c.Flush(context.WithoutCancel(ctx)); err != nil {
				c.log.Error("storing callers of versions failed; retrying every minute", "error", err)
			}
		case <-prune.C:
			c.prune(ctx)
		}
	}
}

func (c *Callers) prune(ctx context.Context) {
	if err := c.store.PruneCallers(ctx, c.now().Add(-keepCallers)); err != nil && ctx.Err() == nil {
		c.log.Warn("deleting old callers of versions failed; retrying in a day", "error", err)
	}
}

// Close flushes the rest.
func (c *Callers) Close(ctx context.Context) error { return c.Flush(ctx) }

// Flush stores what was noted since the last flush.
func (c *Callers) Flush(ctx context.Context) error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	all := c.publish()
	var list []Caller
	var stored []*sighting
	for k, s := range all {
		if ms := s.last.Load(); ms > s.saved {
			list, stored = append(list, k.caller(s.workspace, ms)), append(stored, s)
		}
	}
	if len(list) == 0 {
		return nil
	}
	if err := c.store.AddCallers(ctx, list, maxClients); err != nil {
		return fmt.Errorf("add callers: %w", err)
	}
	for i, s := range stored {
		s.saved = list[i].LastAt.UnixMilli()
	}
	if len(all) > maxCallers/2 {
		c.clear()
	}
	return nil
}

// publish moves the new combinations into seen, where they are found without a lock, and returns all.
func (c *Callers) publish() map[callerKey]*sighting {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := *c.seen.Load()
	if len(c.new) == 0 {
		return seen
	}
	all := make(map[callerKey]*sighting, len(seen)+len(c.new))
	for _, m := range []map[callerKey]*sighting{seen, c.new} {
		for k, s := range m {
			all[k] = s
		}
	}
	c.seen.Store(&all)
	c.new = map[callerKey]*sighting{}
	return all
}

// clear makes room after everything was stored. A concurrent Note can be lost; the caller's next request is recorded.
func (c *Callers) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen.Store(&map[callerKey]*sighting{})
}

func (k *callerKey) caller(workspaceID string, ms int64) Caller {
	caller := k.user
	if caller == "" {
		caller = id.Format(id.APIKey, k.key)
	}
	return Caller{
		Version: k.version, WorkspaceID: workspaceID, CallerID: caller, Route: k.route, Client: k.client,
		LastAt: time.UnixMilli(ms).UTC(),
	}
}

// CallersOf lists who has called a version. Only operators see callers of other workspaces than their own.
func (s *Service) CallersOf(ctx context.Context, p *auth.Principal, q CallerQuery) ([]Caller, error) {
	if s.Registry.Snapshot().Version(q.Version) == nil {
		return nil, problem.Missing()
	}
	if !p.Operator {
		q.WorkspaceID = p.WorkspaceID
	}
	if err := s.Callers.Flush(ctx); err != nil {
		return nil, err
	}
	list, err := s.Callers.store.Callers(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("list callers of version %d: %w", q.Version, err)
	}
	return list, nil
}
