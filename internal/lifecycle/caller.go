package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"keepsake/internal/auth"
	"keepsake/internal/id"
	"keepsake/internal/problem"
)

// Caller is who used a version, by which route and with which program, and when last.
type Caller struct {
	Version     int
	WorkspaceID string
	CallerID    string // of an API key or a user
	Route       string // GET /api/v1/documents/{id}
	Client      string // the first product of User-Agent: curl/8.5.0; empty where none was named
	LastAt      time.Time
}

// ManyClients stands for the clients of a caller that named more of them than are kept apart.
const ManyClients = "other"

// CallerStore keeps callers.
type CallerStore interface {
	// AddCallers adds callers or moves their LastAt, never back. Of one caller of a version no more than max clients are
	// kept apart, the others are ManyClients.
	AddCallers(ctx context.Context, callers []Caller, max int) error
	// Callers lists callers of a version by workspace, caller, route and client.
	Callers(ctx context.Context, q CallerQuery) ([]Caller, error)
	// PruneCallers forgets those not seen since before.
	PruneCallers(ctx context.Context, before time.Time) error
}

// CallerQuery says which callers are asked for.
type CallerQuery struct {
	Version     int
	WorkspaceID string    // empty: of all workspaces
	From        time.Time // seen since then; zero: ever
	After       *Caller   // those behind this one in the order of the list; nil: from its beginning
	Limit       int
}

const (
	// keepCallers is longer than a year, because who calls once a year is who gets forgotten in a migration.
	keepCallers = 400 * 24 * time.Hour

	flushEvery = time.Minute
	tidyEvery  = 24 * time.Hour

	mostCallers = 65_536 // remembered at once; more wait for the next flush
	mostClients = 32     // of one caller; a client writes what it likes into its User-Agent
	longest     = 64     // of a client's name, in bytes
)

// Callers notes who uses which version. Note is made for the way of every request: once a combination has been seen it
// costs a lookup, without a lock or an allocation.
type Callers struct {
	store CallerStore
	now   func() time.Time
	log   *slog.Logger

	seen atomic.Pointer[map[callerKey]*sighting] // never written to

	mu  sync.Mutex
	new map[callerKey]*sighting // seen since the last flush for the first time

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
	workspace string       // of the key or the user, who never change it
	last      atomic.Int64 // Unix milliseconds
	saved     int64        // what of it is stored; guarded by Callers.flushing
}

// NewCallers makes one. Run flushes it; Close flushes what is left.
func NewCallers(store CallerStore, now func() time.Time, log *slog.Logger) *Callers {
	c := &Callers{store: store, now: now, log: log, new: map[callerKey]*sighting{}}
	c.seen.Store(&map[callerKey]*sighting{})
	return c
}

// Note takes down that p used a version by a route, with a program that calls itself agent. Only keys and users count:
// the operator of the machine knows what it calls.
func (c *Callers) Note(version int, p *auth.Principal, route, agent string, at time.Time) {
	if p.Kind != auth.APIKey && p.Kind != auth.User {
		return
	}
	k := callerKey{version, p.Key, p.UserID, route, product(agent)}
	s := (*c.seen.Load())[k]
	if s == nil {
		if s = c.meet(k, p.WorkspaceID); s == nil {
			return
		}
	}
	// Requests overtake each other, and a cache line that every request writes is shared by all cores: a second is fine.
	if ms := at.UnixMilli(); ms >= s.last.Load()+1000 {
		s.last.Store(ms)
	}
}

// meet gives the sighting of a combination that is new; nil where there is no room for it.
func (c *Callers) meet(k callerKey, workspaceID string) *sighting {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := (*c.seen.Load())[k]; s != nil {
		return s
	}
	s := c.new[k]
	if s == nil && len(c.new)+len(*c.seen.Load()) < mostCallers {
		s = &sighting{workspace: strings.Clone(workspaceID)} // nothing of the request is held
		k.client, k.user = strings.Clone(k.client), strings.Clone(k.user)
		c.new[k] = s
	}
	return s
}

// product is the first product that a User-Agent names, as RFC 9110 writes one: all that tells programs apart without
// telling people apart. It is empty where there is none of that form.
func product(agent string) string {
	name, _, _ := strings.Cut(agent, " ")
	if len(name) > longest {
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

// Run flushes every minute, and forgets old callers once a day, until ctx is done.
func (c *Callers) Run(ctx context.Context) {
	flush, tidy := time.NewTicker(flushEvery), time.NewTicker(tidyEvery)
	defer flush.Stop()
	defer tidy.Stop()
	c.tidy(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-flush.C:
			if err := c.Flush(context.WithoutCancel(ctx)); err != nil {
				c.log.Error("callers of versions cannot be stored; they are kept and tried again each minute", "error", err)
			}
		case <-tidy.C:
			c.tidy(ctx)
		}
	}
}

func (c *Callers) tidy(ctx context.Context) {
	if err := c.store.PruneCallers(ctx, c.now().Add(-keepCallers)); err != nil && ctx.Err() == nil {
		c.log.Warn("old callers of versions were not forgotten; the next try is in a day", "error", err)
	}
}

// Close flushes what is left.
func (c *Callers) Close(ctx context.Context) error { return c.Flush(ctx) }

// Flush stores what was noted since the last one.
func (c *Callers) Flush(ctx context.Context) error {
	c.flushing.Lock()
	defer c.flushing.Unlock()
	all := c.join()
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
	if err := c.store.AddCallers(ctx, list, mostClients); err != nil {
		return fmt.Errorf("add callers: %w", err)
	}
	for i, s := range stored {
		s.saved = list[i].LastAt.UnixMilli()
	}
	if len(all) > mostCallers/2 {
		c.forget()
	}
	return nil
}

// join makes the combinations that are new findable without a lock.
func (c *Callers) join() map[callerKey]*sighting {
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

// forget makes room: everything is stored. A note that is taken at this moment may be lost to the next one.
func (c *Callers) forget() {
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

// CallersOf lists who used a version, up to the moment of the call. Only the operator's callers see those of other
// workspaces than their own.
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
