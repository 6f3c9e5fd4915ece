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

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/hashicorp/golang-lru/v2/simplelru"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
)

// Bearer is the owner of an access token.
type Bearer struct {
	Principal auth.Principal
	Workspace *Entry
}

// Bearers authenticates requests by their access tokens. The signature of a token is verified once; later requests find the
// token and its session in memory. The end of a session, a disabled user and a changed role apply to all tokens from the
// commit on. Bearers is safe for concurrent use.
type Bearers struct {
	tokens   *auth.Tokens
	sessions *liveSessions

	verified *lru.Cache[digest, auth.Access]      // tokens with a valid signature
	refused  *lru.Cache[digest, *problem.Problem] // tokens that will never be valid

	hits, misses, evictions atomic.Int64 // of verified

	checks   chan struct{} // limits how many signatures are verified at once
	suspects chan struct{} // limits these to one for all addresses with too many wrong signatures
	guessing sync.Mutex
	guesses  *simplelru.LRU[network, *guesses]
}

// guesses counts the wrong signatures from one address in the minute that began at since.
type guesses struct {
	since time.Time
	count int
}

const (
	maxVerified = 32_768
	maxRefused  = 4_096
	maxGuesses  = 300 // wrong signatures per minute and address
)

// NewBearers returns a Bearers.
func NewBearers(store SessionStore, directory *Directory, tokens *auth.Tokens) *Bearers {
	verified, _ := lru.New[digest, auth.Access](maxVerified)
	refused, _ := lru.New[digest, *problem.Problem](maxRefused)
	wrong, _ := simplelru.NewLRU[network, *guesses](throttleEntries, nil)
	return &Bearers{
		tokens: tokens, sessions: newLiveSessions(store, directory),
		verified: verified,
		refused:  refused,
		checks:   make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		suspects: make(chan struct{}, 1),
		guesses:  wrong,
	}
}

// Authenticate finds the owner of a token that was sent from an address. The problems are auth.ErrInvalidToken and
// auth.ErrTokenExpired.
func (b *Bearers) Authenticate(ctx context.Context, text string, from netip.Addr, now time.Time) (Bearer, error) {
	if len(text) > auth.MaxToken {
		return Bearer{}, auth.ErrInvalidToken
	}
	sum := sumOf(text)
	access, ok := b.verified.Get(sum)
	if ok {
		b.hits.Add(1)
	} else {
		b.misses.Add(1)
		if refusal, ok := b.refused.Get(sum); ok {
			return Bearer{}, refusal
		}
		var err error
		if access, err = b.verify(ctx, text, from, now); err != nil {
			return Bearer{}, b.refuse(sum, err)
		}
		if b.verified.Add(sum, access) {
			b.evictions.Add(1)
		}
	}
	if !now.Before(access.ExpiresAt) {
		return Bearer{}, auth.ErrTokenExpired
	}
	session, err := b.sessions.find(ctx, access.SessionID)
	if err != nil {
		return Bearer{}, b.refuse(sum, err)
	}
	if session.userID != access.UserID { // the signature is ours, but the session is another user's
		return Bearer{}, b.refuse(sum, auth.ErrInvalidToken)
	}
	return Bearer{
		Principal: auth.Principal{
			Kind: auth.User, WorkspaceID: session.workspace.ID(), Operator: session.workspace.Operator(),
			Scopes: access.Scopes & session.scopes, UserID: session.userID, SessionID: session.id,
		},
		Workspace: session.workspace,
	}, nil
}

// sumOf is the hash by which the caches know a token. Our tokens fit into buf, so that hashing them allocates nothing.
func sumOf(text string) digest {
	var buf [1024]byte
	return sha256.Sum256(append(buf[:0], text...))
}

// refuse remembers a token that will never be valid. Other errors are temporary.
func (b *Bearers) refuse(sum digest, err error) error {
	if errors.Is(err, auth.ErrUnknownKey) { // its key can still appear
		return auth.ErrInvalidToken
	}
	if p, ok := problem.As(err); ok && p.Kind == problem.Unauthenticated {
		b.refused.Add(sum, p)
		b.verified.Remove(sum)
	}
	return err
}

// verify verifies the signature of a new token, which takes some tens of microseconds. All verifications together use at most
// half of the cores. An address that sends many wrong tokens can be shared by many clients, so its tokens are still
// verified, but one at a time for all such addresses.
func (b *Bearers) verify(ctx context.Context, text string, from netip.Addr, now time.Time) (auth.Access, error) {
	network := networkOf(from)
	suspect := b.guessed(network, now, 0) >= maxGuesses
	access, err := b.check(ctx, text, suspect)
	if errors.Is(err, auth.ErrUnknownKey) && !suspect {
		// Another process has perhaps signed it with a new key. The wait for that key takes no place in checks.
		switch err = b.tokens.ReloadKeys(ctx); {
		case err == nil:
			access, err = b.check(ctx, text, suspect)
		case !errors.Is(err, auth.ErrUnknownKey):
			return auth.Access{}, fmt.Errorf("look for the key of an access token: %w", err)
		}
		if errors.Is(err, auth.ErrUnknownKey) {
			err = auth.ErrInvalidToken
		}
	}
	if err == nil {
		return access, nil
	}
	if ctx.Err() == nil { // the token of a client that has disconnected is possibly valid
		b.guessed(network, now, 1)
	}
	return auth.Access{}, err
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

// guessed adds wrong signatures to an address and returns how many it has sent in its minute.
func (b *Bearers) guessed(from network, now time.Time, more int) int {
	b.guessing.Lock()
	defer b.guessing.Unlock()
	g, known := b.guesses.Peek(from)
	if !known && more == 0 {
		return 0
	}
	if !known {
		g = &guesses{}
	}
	if more > 0 {
		b.guesses.Add(from, g)
	}
	if age := now.Sub(g.since); age < 0 || age >= time.Minute {
		g.since, g.count = now, 0
	}
	g.count += more
	return g.count
}

// Stats describes the cache of verified tokens.
func (b *Bearers) Stats() limit.CacheStats {
	entries := int64(b.verified.Len())
	return limit.CacheStats{
		Entries: entries, Capacity: maxVerified, Bytes: entries * verifiedBytes,
		Hits: b.hits.Load(), Misses: b.misses.Load(), Evictions: b.evictions.Load(),
	}
}

// verifiedBytes is about what one token takes, with its IDs and its place in the cache.
const verifiedBytes = 320
