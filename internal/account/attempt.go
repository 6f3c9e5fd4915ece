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

	"keepsake/internal/lru"
	"keepsake/internal/problem"
)

// GuessStore keeps what is counted of failed logins: for each name a text that is ours to write. It tells the time, too,
// because the clocks of the processes that share it differ.
type GuessStore interface {
	// Guesses reads the texts of some names, nil for one that has none.
	Guesses(ctx context.Context, names []GuessName) (now time.Time, states [][]byte, err error)
	// ChangeGuesses keeps the texts of some names from everybody else while change makes others of them. An error of
	// change undoes it, and comes back. What comes of a change is seen by all when ChangeGuesses returns; the last moments
	// of it may be lost in a crash of the database. change may run more than once.
	ChangeGuesses(ctx context.Context, names []GuessName, change func(now time.Time, states [][]byte) ([]GuessState, error)) error
	// PruneGuesses forgets texts that are of no more use.
	PruneGuesses(ctx context.Context) error
}

type (
	// GuessName is a keyed hash: of an address, of an email, or of both.
	GuessName [sha256.Size]byte
	// GuessState is what is kept under a name, until a moment.
	GuessState struct {
		Text  []byte
		Until time.Time
	}
)

const (
	// tryLife is how long a try counts whose member does not say how it went.
	tryLife = 30 * time.Second
	// turnLook is how often a check whose second has come looks whether the one before it is over.
	turnLook = 100 * time.Millisecond
	// knownFor is how long an address is remembered from which an email signed in.
	knownFor = 30 * 24 * time.Hour
	// lookWait is how long a guesser waits for a store that does not answer.
	lookWait = 3 * time.Second
	// endWait bounds how long a visit that is over is told to the store, whose client may be gone.
	endWait = 10 * time.Second
)

// throttle counts failed logins in the database, so that processes count together and a restart forgets nothing. If the
// database cannot be reached, no password is checked.
//
// It locks out no user: one address is refused, and guesses from many addresses form a queue, in which a right password
// is as good as ever. Known and unknown emails are counted alike, so that a refusal tells nothing.
type throttle struct {
	store    GuessStore
	clock    func() time.Time // of a process that shares the database with no other; nil for the database's
	secret   []byte
	life     time.Duration // tryLife but in tests
	patience time.Duration // lookWait but in tests
	now      func() time.Time
	sleep    func(ctx context.Context, d time.Duration) error
	inLines  atomic.Int64

	// Failures are never taken back, so a name that was refused for them is refused until the oldest is over. A pair is
	// not looked up before: its failures are the address's, too, and so the address is not refused for longer. An address
	// is, for the sake of the pair.
	mu     sync.Mutex
	failed *lru.Cache[GuessName, time.Time]
}

func newThrottle(store GuessStore, clock func() time.Time, secret []byte) *throttle {
	t := &throttle{
		store: store, clock: clock, secret: secret, life: tryLife, patience: lookWait, now: time.Now, sleep: sleep,
		failed: lru.New[GuessName, time.Time](throttleEntries),
	}
	if clock != nil {
		t.now = clock
	}
	return t
}

// at is the time of an attempt, when the database says that it is now.
func (t *throttle) at(now time.Time) time.Time {
	if t.clock != nil {
		return t.clock()
	}
	return now
}

// names are those of a guesser's pair, its address and its email.
func (t *throttle) names(g guesser) [3]GuessName {
	return [...]GuessName{
		t.name("pair", g.email[:], g.network[:]), t.name("address", g.network[:]), t.name("email", g.email[:]),
	}
}

// name hashes what is counted, so that no table tells who tried what from where.
func (t *throttle) name(kind string, parts ...[]byte) GuessName {
	h := hmac.New(sha256.New, t.secret)
	io.WriteString(h, "guesses of "+kind+"\x00")
	for _, part := range parts { // each has a length of its own
		h.Write(part)
	}
	return GuessName(h.Sum(nil))
}

// attempt is a guesser's attempt to have a password checked. Its methods are called in the order enter, begin, end; leave is
// called once, whatever happened.
type attempt struct {
	*throttle
	names [3]GuessName
	id    string // of its place in a line, and of its try
	lined bool   // it has a place
}

// enter refuses a guesser that has no tries left, before anything is done for it, and waits for its turn if its email has a
// queue.
func (t *throttle) enter(ctx context.Context, g guesser) (*attempt, error) {
	v := &attempt{throttle: t, names: t.names(g), id: rand.Text()}
	if err := t.remembered(v.names[:1]); err != nil {
		return nil, err
	}
	known, err := v.look(ctx)
	if err != nil {
		return nil, cmp.Or(t.remembered(v.names[1:2]), err)
	}
	if err := v.refusal(known); err != nil {
		return nil, err
	}
	if known.lined() {
		// Whoever finds the line full leaves no trace in the store.
		if _, err := known.lineUp(v.id, v.inLine(), v.life); err != nil {
			return nil, err
		}
		if err := v.queue(ctx); err != nil {
			return nil, err
		}
	}
	return v, nil
}

var errNoAnswer = problem.NotAvailable("Sign-in is not available right now; try again.", 2*time.Second)

// look reads what is known of the guesser, which others may change meanwhile.
func (v *attempt) look(ctx context.Context) (*tally, error) {
	short, cancel := context.WithTimeout(ctx, v.patience)
	defer cancel()
	now, texts, err := v.store.Guesses(short, v.names[:])
	switch {
	case err != nil && short.Err() != nil && ctx.Err() == nil:
		return nil, errNoAnswer.Because(err)
	case err != nil:
		return nil, fmt.Errorf("read guesses: %w", err)
	}
	return readTally(v.at(now), texts)
}

// inLine names the address in the line of the email.
func (v *attempt) inLine() string { return hex.EncodeToString(v.names[1][:16]) }

// refused is the refusal of enter as far as it is known in memory, nil if there is none.
func (t *throttle) refused(g guesser) error {
	names := t.names(g)
	return t.remembered(names[:2])
}

// remembered refuses who is known to have failed too often under one of the names.
func (t *throttle) remembered(names []GuessName) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := time.Duration(0)
	for _, name := range names {
		if until := t.failed.Peek(name); until != nil {
			wait = max(wait, until.Sub(t.now()))
		}
	}
	if wait > 0 {
		return tooManyTries(wait)
	}
	return nil
}

// refusal refuses who failed too often, for as long as the failures that last longest say.
func (v *attempt) refusal(g *tally) error {
	v.remember(g)
	wait := time.Duration(0)
	for i, most := range maxFrom {
		f := g.tries[i].failures()
		wait = max(wait, f.wait(g.now, most))
	}
	if wait > 0 {
		return tooManyTries(wait)
	}
	return nil
}

// maxFrom are the bounds of tally.tries.
var maxFrom = [...]int{maxFromPair, maxFromAddress}

// remember notes of which names there were too many failures.
func (v *attempt) remember(g *tally) {
	for i, most := range maxFrom {
		if f := g.tries[i].failures(); len(f.at) >= most {
			v.mu.Lock()
			*v.failed.GetOrAdd(v.names[i]) = v.now().Add(f.wait(g.now, most))
			v.mu.Unlock()
		}
	}
}

// change has decide change what is known of the guesser, for everybody.
func (v *attempt) change(ctx context.Context, decide func(g *tally) error) error {
	err := v.store.ChangeGuesses(ctx, v.names[:], func(now time.Time, texts [][]byte) ([]GuessState, error) {
		g, err := readTally(v.at(now), texts)
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

// queue waits for the guesser's turn in the line of its email.
func (v *attempt) queue(ctx context.Context) error {
	if v.inLines.Add(1) > maxInLines {
		v.inLines.Add(-1)
		return tooManyTries(lineStep)
	}
	defer v.inLines.Add(-1)
	var wait time.Duration
	err := v.change(ctx, func(g *tally) (err error) {
		v.lined = false
		if g.lined() {
			wait, err = g.lineUp(v.id, v.inLine(), v.life)
			v.lined = err == nil
		}
		return err
	})
	if err != nil || !v.lined {
		return err
	}
	if err = v.sleep(ctx, wait); err == nil {
		err = v.turn(ctx)
	}
	if err != nil {
		v.leave(ctx)
	}
	return err
}

// turn waits for the check before to be over. A member that does not end its own is waited for in vain.
func (v *attempt) turn(ctx context.Context) error {
	for range lineWait / turnLook {
		known, err := v.look(ctx)
		if err == nil {
			err = known.takeTurn(v.id, v.life)
		}
		if err == nil { // so it seems
			err = v.change(ctx, func(g *tally) error { return g.takeTurn(v.id, v.life) })
		}
		if !errors.Is(err, errNotYet) {
			return err
		}
		if err := v.sleep(ctx, turnLook); err != nil {
			return err
		}
	}
	return tooManyTries(lineStep)
}

// begin takes a try. end must be called after it.
func (v *attempt) begin(ctx context.Context) error {
	return v.change(ctx, func(g *tally) error {
		if err := v.refusal(g); err != nil {
			return err
		}
		return g.begin(v.id, v.life)
	})
}

// end counts the outcome of the try. Its error is the guesser's answer, whatever the password was.
func (v *attempt) end(ctx context.Context, o outcome) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
	defer cancel()
	var ended *tally
	err := v.change(ctx, func(g *tally) error { ended = g; return g.end(v.id, o) })
	if err == nil {
		v.lined = false
		v.remember(ended)
	}
	return err
}

// leave makes room for the next in the email's queue.
func (v *attempt) leave(ctx context.Context) {
	if !v.lined {
		return
	}
	v.lined = false
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWait)
	defer cancel()
	// Where this cannot be said, the place is free when its time is over.
	_ = v.change(ctx, func(g *tally) error { g.leaveLine(v.id); return nil })
}
