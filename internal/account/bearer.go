package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"
	"github.com/maypok86/otter/v2/stats"

	"keepsake/internal/auth"
	"keepsake/internal/limit"
	"keepsake/internal/lru"
	"keepsake/internal/problem"
)

// Bearer is the owner of an access token as the way of a request needs it.
type Bearer struct {
	Principal auth.Principal
	Workspace *Entry
}

// Bearers recognises access tokens. A token is verified once; after that it costs a look into memory, and so does what
// its session may do: that a session ended, a user was disabled or a role lowered holds from the commit on. It is safe for
// concurrent use.
type Bearers struct {
	store     SessionStore
	directory *Directory
	tokens    *auth.Tokens

	verified *otter.Cache[digest, *verified]
	refused  *otter.Cache[digest, *problem.Problem]
	counter  *stats.Counter

	checks   chan struct{} // bounds how many signatures are checked at once
	suspects chan struct{} // one of these checks at a time is for addresses that have guessed too often
	guessing sync.Mutex
	guesses  *lru.Cache[network, guesses]

	mu      sync.RWMutex
	live    map[string]*live            // by session
	byUser  map[string]map[string]*live // by user, then session
	changes uint64                      // counts what was dropped, so that no read from before is kept after it
}

// verified is a token that was right, with its session.
type verified struct {
	access auth.Access
	live   atomic.Pointer[live]
}

// live is a session that goes on. What it says never changes; once it may be wrong it is gone, and the next one who
// holds it asks again.
type live struct {
	userID, sessionID string
	workspace         *Entry
	scopes            auth.Scopes
	gone              atomic.Bool
}

// guesses counts the tokens from one address whose signature was wrong, in the minute that began at since.
type guesses struct {
	since time.Time
	count int
}

const (
	verifiedCapacity = 32_768 // tokens, and sessions
	refusedCapacity  = 4_096
	maxGuesses       = 300 // wrong signatures per minute and address; then its tokens are checked one at a time
)

// NewBearers makes Bearers.
func NewBearers(store SessionStore, directory *Directory, tokens *auth.Tokens) *Bearers {
	counter := stats.NewCounter()
	return &Bearers{
		store: store, directory: directory, tokens: tokens,
		verified: otter.Must(&otter.Options[digest, *verified]{MaximumSize: verifiedCapacity, StatsRecorder: counter}),
		refused:  otter.Must(&otter.Options[digest, *problem.Problem]{MaximumSize: refusedCapacity}),
		counter:  counter,
		checks:   make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		suspects: make(chan struct{}, 1),
		guesses:  lru.New[network, guesses](throttleEntries),
		live:     map[string]*live{},
		byUser:   map[string]map[string]*live{},
	}
}

// Recognise finds the owner of a token that came from an address. The problems are auth.ErrInvalidToken and
// auth.ErrTokenExpired.
func (b *Bearers) Recognise(ctx context.Context, text string, from netip.Addr, now time.Time) (Bearer, error) {
	if len(text) > auth.MaxToken {
		return Bearer{}, auth.ErrInvalidToken
	}
	sum := sumOf(text)
	v, ok := b.verified.GetIfPresent(sum)
	if !ok {
		if refusal, ok := b.refused.GetIfPresent(sum); ok {
			return Bearer{}, refusal
		}
		var err error
		if v, err = b.verify(ctx, text, from, now); err != nil {
			return Bearer{}, b.refuse(sum, err)
		}
		b.verified.Set(sum, v)
	}
	if !now.Before(v.access.ExpiresAt) {
		return Bearer{}, auth.ErrTokenExpired
	}
	l := v.live.Load()
	if l == nil || l.gone.Load() {
		var err error
		if l, err = b.find(ctx, v.access.SessionID); err != nil {
			return Bearer{}, b.refuse(sum, err)
		}
		if l.userID != v.access.UserID { // its signature is ours, but the session is another user's
			return Bearer{}, b.refuse(sum, auth.ErrInvalidToken)
		}
		v.live.Store(l)
	}
	return Bearer{
		Principal: auth.Principal{
			Kind: auth.User, WorkspaceID: l.workspace.ID(), Operator: l.workspace.Operator(),
			Scopes: v.access.Scopes & l.scopes, UserID: l.userID, SessionID: l.sessionID,
		},
		Workspace: l.workspace,
	}, nil
}

// sumOf is what stands for a token in memory. Ours fit into the buffer, so that recognising one allocates nothing.
func sumOf(text string) digest {
	var buf [1024]byte
	return sha256.Sum256(append(buf[:0], text...))
}

// refuse remembers a token that will never be right again. Other errors pass with time.
func (b *Bearers) refuse(sum digest, err error) error {
	if errors.Is(err, auth.ErrUnknownKey) { // the key could still be found
		return auth.ErrInvalidToken
	}
	if p, ok := problem.As(err); ok && p.Kind == problem.Unauthenticated {
		b.refused.Set(sum, p)
		b.verified.Invalidate(sum)
	}
	return err
}

// verify checks a token that is new, which costs some tens of microseconds. All checks together take at most half of the
// cores. An address with many wrong tokens is often shared, so its tokens are still checked, but one at a time: a valid one
// waits for the others of such addresses, and no other caller waits for more than one of them.
func (b *Bearers) verify(ctx context.Context, text string, from netip.Addr, now time.Time) (*verified, error) {
	network := networkOf(from)
	suspect := b.guessed(network, now, 0) >= maxGuesses
	access, err := b.check(ctx, text, suspect)
	if errors.Is(err, auth.ErrUnknownKey) && !suspect {
		// Another process may have signed it with a key that is new. Nobody waits for that in a place of those who check.
		switch err = b.tokens.AskOthers(ctx); {
		case err == nil:
			access, err = b.check(ctx, text, suspect)
		case !errors.Is(err, auth.ErrUnknownKey):
			return nil, fmt.Errorf("look for the key of an access token: %w", err)
		}
		if errors.Is(err, auth.ErrUnknownKey) {
			err = auth.ErrInvalidToken
		}
	}
	if err == nil {
		return &verified{access: access}, nil
	}
	if ctx.Err() == nil { // a client that went away may have sent a valid one
		b.guessed(network, now, 1)
	}
	return nil, err
}

func (b *Bearers) check(ctx context.Context, text string, suspect bool) (auth.Access, error) {
	if suspect {
		select {
		case b.suspects <- struct{}{}:
		case <-ctx.Done():
			return auth.Access{}, context.Cause(ctx)
		}
		defer func() { <-b.suspects }()
	}
	select {
	case b.checks <- struct{}{}:
	case <-ctx.Done():
		return auth.Access{}, context.Cause(ctx)
	}
	defer func() { <-b.checks }()
	return b.tokens.Check(text)
}

// guessed counts guesses from an address and gives how many there were in its minute.
func (b *Bearers) guessed(from network, now time.Time, more int) int {
	b.guessing.Lock()
	defer b.guessing.Unlock()
	g := b.guesses.Peek(from)
	if g == nil && more == 0 {
		return 0
	}
	if more > 0 {
		g = b.guesses.GetOrAdd(from)
	}
	if age := now.Sub(g.since); age < 0 || age >= time.Minute {
		g.since, g.count = now, 0
	}
	g.count += more
	return g.count
}

// find gives a session that goes on, from memory or from the store.
func (b *Bearers) find(ctx context.Context, sessionID string) (*live, error) {
	for {
		b.mu.RLock()
		known, changes := b.live[sessionID], b.changes
		b.mu.RUnlock()
		if known != nil {
			return known, nil
		}
		s, err := b.store.Standing(ctx, sessionID)
		if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
			return nil, auth.ErrInvalidToken
		}
		if err != nil {
			return nil, fmt.Errorf("read session %s: %w", sessionID, err)
		}
		workspace, ok := b.directory.Entry(s.WorkspaceID)
		if !ok {
			return nil, fmt.Errorf("session %s is of workspace %s, which is not known", sessionID, s.WorkspaceID)
		}
		l := &live{userID: s.UserID, sessionID: sessionID, workspace: workspace, scopes: s.Role.Scopes()}
		if b.put(l, changes) {
			return l, nil
		}
	}
}

// put keeps what was read when so many changes had been made; false where there were more since.
func (b *Bearers) put(l *live, changes uint64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changes != changes {
		return false
	}
	for _, other := range b.live { // any one makes room: it is read again when it is used
		if len(b.live) < verifiedCapacity {
			break
		}
		b.remove(other)
	}
	b.live[l.sessionID] = l
	if b.byUser[l.userID] == nil {
		b.byUser[l.userID] = map[string]*live{}
	}
	b.byUser[l.userID][l.sessionID] = l
	return true
}

func (b *Bearers) remove(l *live) {
	l.gone.Store(true)
	delete(b.live, l.sessionID)
	delete(b.byUser[l.userID], l.sessionID)
	if len(b.byUser[l.userID]) == 0 {
		delete(b.byUser, l.userID)
	}
}

// dropUser forgets what is known of a user's sessions, but for one, which may be empty.
func (b *Bearers) dropUser(userID, except string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	for sessionID, l := range b.byUser[userID] {
		if sessionID != except {
			b.remove(l)
		}
	}
}

// dropSession forgets what is known of a session.
func (b *Bearers) dropSession(sessionID string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changes++
	if l := b.live[sessionID]; l != nil {
		b.remove(l)
	}
}

// Stats reports on the verified tokens.
func (b *Bearers) Stats() limit.CacheStats {
	s := b.counter.Snapshot()
	entries := int64(b.verified.EstimatedSize())
	return limit.CacheStats{
		Entries: entries, Capacity: verifiedCapacity, Bytes: entries * verifiedBytes,
		Hits: int64(s.Hits), Misses: int64(s.Misses), Evictions: int64(s.Evictions),
	}
}

// verifiedBytes is about what one token takes, with its ids and its place in the cache.
const verifiedBytes = 320
