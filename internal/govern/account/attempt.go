package account

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"keepsake/internal/base/problem"
)

// GuessStore stores counters of failed logins: a text for each name. It also returns the time, because the clocks of the
// processes that share it differ.
type GuessStore interface {
	// Guesses reads the texts of some names; nil if there is none.
	Guesses(ctx context.Context, names []GuessName) (now time.Time, states [][]byte, err error)
	// ChangeGuesses locks the texts of some names while change computes new ones. After an error of change, which it
	// returns, nothing is changed. When ChangeGuesses returns, all processes see the change; a crash of the database can
	// lose the last few. change can run more than once.
	ChangeGuesses(ctx context.Context, names []GuessName, change func(now time.Time, states [][]byte) ([]GuessState, error)) error
	// PruneGuesses deletes expired texts.
	PruneGuesses(ctx context.Context) error
}

type (
	// GuessName is a keyed hash: of an address, of an email, or of both.
	GuessName [sha256.Size]byte
	// GuessState is a text that expires.
	GuessState struct {
		Text  []byte
		Until time.Time
	}
)

const (
	// attemptLifetime is how long an attempt counts as running if its process died.
	attemptLifetime = 30 * time.Second
	// turnPoll is how often a check that is due looks whether the one before it has ended.
	turnPoll = 100 * time.Millisecond
	// keepSignIn is how long an address counts as known after a user signed in from it.
	keepSignIn = 30 * 24 * time.Hour
	// guessTimeout is the timeout of a read of the store.
	guessTimeout = 3 * time.Second
	// endTimeout is the timeout of recording the end of an attempt, whose client can be gone.
	endTimeout = 10 * time.Second
)

// throttle counts failed logins in the database, so that processes count together and a restart resets nothing. While the
// database is unreachable, no password is checked.
//
// It locks out no user: a single address is refused, and guesses from many addresses are queued, so that the right password
// still works. Known and unknown emails are treated alike, so a refusal reveals nothing.
type throttle struct {
	store    GuessStore
	clock    func() time.Time // nil for the database's, if processes share it
	secret   []byte
	lifetime time.Duration // attemptLifetime, except in tests
	timeout  time.Duration // guessTimeout, except in tests
	now      func() time.Time
	sleep    func(ctx context.Context, d time.Duration) error
	waiting  atomic.Int64

	// failed remembers until when a name is refused. That is final, because failures are never removed.
	mu     sync.Mutex
	failed *simplelru.LRU[GuessName, time.Time]
}

func newThrottle(store GuessStore, clock func() time.Time, secret []byte) *throttle {
	failed, _ := simplelru.NewLRU[GuessName, time.Time](throttleEntries, nil)
	t := &throttle{
		store: store, clock: clock, secret: secret, lifetime: attemptLifetime, timeout: guessTimeout, now: time.Now, sleep: sleep,
		failed: failed,
	}
	if clock != nil {
		t.now = clock
	}
	return t
}

// at returns the time of an attempt. now is the database's.
func (t *throttle) at(now time.Time) time.Time {
	if t.clock != nil {
		return t.clock()
	}
	return now
}

// names returns the names of a pair, its address and its email.
func (t *throttle) names(g attemptKey) [3]GuessName {
	return [...]GuessName{
		t.name("pair", g.email[:], g.network[:]), t.name("address", g.network[:]), t.name("email", g.email[:]),
	}
}

// name hashes a counter's key, so that the database does not reveal emails and addresses.
func (t *throttle) name(kind string, parts ...[]byte) GuessName {
	h := hmac.New(sha256.New, t.secret)
	io.WriteString(h, "guesses of "+kind+"\x00")
	for _, part := range parts { // of fixed length
		h.Write(part)
	}
	return GuessName(h.Sum(nil))
}

// attempt is one login. Call throttle.enter, then begin and end around the check of the password, and leave in any case.
type attempt struct {
	*throttle
	names  [3]GuessName
	id     string // of its place in the queue, and of its try
	queued bool   // it has a place in the queue
}

// enter refuses an attempt that has no tries left, and waits for its turn if its email has a queue.
func (t *throttle) enter(ctx context.Context, g attemptKey) (*attempt, error) {
	a := &attempt{throttle: t, names: t.names(g), id: rand.Text()}
	if err := t.remembered(a.names[:1]); err != nil {
		return nil, err
	}
	known, err := a.look(ctx)
	if err != nil {
		return nil, cmp.Or(t.remembered(a.names[1:2]), err)
	}
	if err := a.refusal(known); err != nil {
		return nil, err
	}
	if known.queued() {
		// A full queue refuses the attempt without a write.
		if _, err := known.enqueue(a.id, a.queueAddress(), a.lifetime); err != nil {
			return nil, err
		}
		if err := a.queue(ctx); err != nil {
			return nil, err
		}
	}
	return a, nil
}

var errNoAnswer = problem.NotAvailable("Sign-in is not available right now; try again.", 2*time.Second)

// look reads the counters without locking them.
func (a *attempt) look(ctx context.Context) (*guessRecord, error) {
	short, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	now, texts, err := a.store.Guesses(short, a.names[:])
	switch {
	case err != nil && short.Err() != nil && ctx.Err() == nil:
		return nil, errNoAnswer.Because(err)
	case err != nil:
		return nil, fmt.Errorf("read guesses: %w", err)
	}
	return readGuesses(a.at(now), texts)
}

// queueAddress identifies the address in the email's queue.
func (a *attempt) queueAddress() string { return hex.EncodeToString(a.names[1][:16]) }

// refused returns the refusal that is remembered for an attempt, or nil. It does not read the database.
func (t *throttle) refused(g attemptKey) error {
	names := t.names(g)
	return t.remembered(names[:2])
}

// remembered returns the longest remembered refusal of some names, or nil.
func (t *throttle) remembered(names []GuessName) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := time.Duration(0)
	for _, name := range names {
		if until, ok := t.failed.Peek(name); ok {
			wait = max(wait, until.Sub(t.now()))
		}
	}
	if wait > 0 {
		return tooManyTries(wait)
	}
	return nil
}

// refusal returns the longest refusal of the pair and the address, or nil.
func (a *attempt) refusal(g *guessRecord) error {
	a.remember(g)
	wait := time.Duration(0)
	for i, limit := range maxFrom {
		f := g.tries[i].failures()
		wait = max(wait, f.wait(g.now, limit))
	}
	if wait > 0 {
		return tooManyTries(wait)
	}
	return nil
}

// maxFrom is the maximum of failures of each of guessRecord.tries.
var maxFrom = [...]int{maxFromPair, maxFromAddress}

// remember stores in memory which names have too many failures.
func (a *attempt) remember(g *guessRecord) {
	for i, limit := range maxFrom {
		if f := g.tries[i].failures(); len(f.at) >= limit {
			a.mu.Lock()
			a.failed.Add(a.names[i], a.now().Add(f.wait(g.now, limit)))
			a.mu.Unlock()
		}
	}
}

// change lets decide change the counters in the store.
func (a *attempt) change(ctx context.Context, decide func(g *guessRecord) error) error {
	err := a.store.ChangeGuesses(ctx, a.names[:], func(now time.Time, texts [][]byte) ([]GuessState, error) {
		g, err := readGuesses(a.at(now), texts)
		if err != nil {
			return nil, err
		}
		if err := decide(g); err != nil {
			return nil, err
		}
		return g.states()
	})
	if err != nil {
		return fmt.Errorf("count a guess: %w", err)
	}
	return nil
}

// queue waits for the attempt's turn in the queue of its email.
func (a *attempt) queue(ctx context.Context) error {
	if a.waiting.Add(1) > maxQueued {
		a.waiting.Add(-1)
		return tooManyTries(queueStep)
	}
	defer a.waiting.Add(-1)
	var wait time.Duration
	err := a.change(ctx, func(g *guessRecord) (err error) {
		a.queued = false
		if g.queued() {
			wait, err = g.enqueue(a.id, a.queueAddress(), a.lifetime)
			a.queued = err == nil
		}
		return err
	})
	if err != nil || !a.queued {
		return err
	}
	if err = a.sleep(ctx, wait); err == nil {
		err = a.turn(ctx)
	}
	if err != nil {
		a.leave(ctx)
	}
	return err
}

// turn waits until the check before this one has ended.
func (a *attempt) turn(ctx context.Context) error {
	for range maxQueueWait / turnPoll {
		known, err := a.look(ctx)
		if err == nil {
			err = known.takeTurn(a.id, a.lifetime)
		}
		if err == nil { // take it under the lock
			err = a.change(ctx, func(g *guessRecord) error { return g.takeTurn(a.id, a.lifetime) })
		}
		if !errors.Is(err, errNotYet) {
			return err
		}
		if err := a.sleep(ctx, turnPoll); err != nil {
			return err
		}
	}
	return tooManyTries(queueStep)
}

// begin uses a try. Call end after it.
func (a *attempt) begin(ctx context.Context) error {
	return a.change(ctx, func(g *guessRecord) error {
		if err := a.refusal(g); err != nil {
			return err
		}
		return g.begin(a.id, a.lifetime)
	})
}

// end records the outcome of the try. If it fails, the login fails, even with the right password.
func (a *attempt) end(ctx context.Context, o outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	var ended *guessRecord
	err := a.change(ctx, func(g *guessRecord) error { ended = g; return g.end(a.id, o) })
	if err == nil {
		a.queued = false
		a.remember(ended)
	}
	return err
}

// leave removes the attempt from the queue.
func (a *attempt) leave(ctx context.Context) {
	if !a.queued {
		return
	}
	a.queued = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	// If this fails, the place expires.
	_ = a.change(ctx, func(g *guessRecord) error { g.leaveQueue(a.id); return nil })
}
