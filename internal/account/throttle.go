package account

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"keepsake/internal/problem"
)

// The bounds of guessing (decisions.md, C).
const (
	throttleWindow  = 15 * time.Minute
	maxFromPair     = 10 // failures of one email from one address
	maxFromAddress  = 30 // failures from one address
	freeOfEmail     = 10 // failures of one email from anywhere, before its checks form a line
	lineStep        = time.Second
	lineWait        = 5 * time.Second
	maxInLines      = 128    // checks that wait in all lines together: each holds one of the requests in flight
	throttleEntries = 16_384 // of each kind that are remembered
)

// LoginPolicy is details.policy of a 429 by this throttle.
const LoginPolicy = "login"

// throttle counts failed logins. Nobody is locked out by it: one address is refused, and guesses from many of them form
// a line, in which a right password is as good as ever. What it counts is in memory alone, so that guessing costs the
// disk nothing.
//
// Known and unknown emails are counted alike, so that a refusal tells nothing.
type throttle struct {
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) error

	mu        sync.Mutex
	pairs     *recent[pair, failures]
	addresses *recent[network, failures]
	emails    *recent[digest, line]
	known     *recent[pair, struct{}] // who signed in from where
	inLines   int
}

type (
	// digest stands for an email: the same length for each, and nothing to read in a dump.
	digest [sha256.Size]byte
	// network is an address as guesses from it are counted: of IPv6 the /64, because that is what one customer is given.
	network [16]byte
	pair    struct {
		email   digest
		network network
	}
)

func networkOf(addr netip.Addr) network {
	if !addr.IsValid() {
		return network{}
	}
	n := network(addr.As16())
	if addr.Is6() && !addr.Is4In6() {
		clear(n[8:])
	}
	return n
}

// guesser is who tries which email.
type guesser struct{ pair }

func newGuesser(email string, from netip.Addr) guesser {
	return guesser{pair{sha256.Sum256([]byte(email)), networkOf(from)}}
}

// failures are the moments of the latest failures, oldest first, and how many checks are under way: these count as
// failures until it is known, so that many at once get no more tries than one after another.
type failures struct {
	at      []time.Time
	running int
}

// recently counts the failures within the window. Moments ahead of now are of a clock that was set back: they count.
func (f *failures) recently(now time.Time) int {
	old := 0
	for old < len(f.at) && now.Sub(f.at[old]) >= throttleWindow {
		old++
	}
	f.at = f.at[old:]
	return len(f.at)
}

// add notes one more failure; more than most are not worth remembering.
func (f *failures) add(now time.Time, most int) {
	if len(f.at) >= most {
		f.at = f.at[len(f.at)-most+1:]
	}
	f.at = append(f.at, now)
}

// wait is how long the next try has to wait where most tries are allowed in a window; 0 where it may come now.
func (f *failures) wait(now time.Time, most int) time.Duration {
	if f == nil {
		return 0
	}
	switch n := f.recently(now); {
	case n >= most:
		return f.at[n-most].Add(throttleWindow).Sub(now)
	case n+f.running >= most:
		return time.Second // the checks that are under way decide
	default:
		return 0
	}
}

func newThrottle(now func() time.Time) *throttle {
	return &throttle{
		now: now, sleep: sleep,
		pairs:     newRecent[pair, failures](throttleEntries),
		addresses: newRecent[network, failures](throttleEntries),
		emails:    newRecent[digest, line](throttleEntries),
		known:     newRecent[pair, struct{}](throttleEntries),
	}
}

// look refuses who has no tries left, before anything is done for them.
func (t *throttle) look(g guesser) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refusal(g)
}

func (t *throttle) refusal(g guesser) error {
	now := t.now()
	wait := max(t.pairs.get(g.pair).wait(now, maxFromPair), t.addresses.get(g.network).wait(now, maxFromAddress))
	if wait > 0 {
		return tooManyTries(wait)
	}
	return nil
}

// begin takes a try. Whoever got one says with end how it went.
func (t *throttle) begin(g guesser) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.refusal(g); err != nil {
		return err
	}
	if t.overtook(g) {
		return tooManyTries(lineStep)
	}
	t.pairs.touch(g.pair).running++
	t.addresses.touch(g.network).running++
	return nil
}

// overtook reports whether a line has formed since the guesser passed where it begins: many who come at once, each from
// another address, find none and would all be checked.
func (t *throttle) overtook(g guesser) bool {
	l := t.emails.get(g.email)
	if l == nil || l.recently(t.now()) <= freeOfEmail {
		return false
	}
	_, lined := l.waiting[g.network]
	return !lined
}

func (t *throttle) end(g guesser, failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A counter may have been forgotten meanwhile, and then begins anew.
	byPair, byAddress := t.pairs.touch(g.pair), t.addresses.touch(g.network)
	byPair.running, byAddress.running = max(0, byPair.running-1), max(0, byAddress.running-1)
	if failed {
		now := t.now()
		byPair.add(now, maxFromPair)
		byAddress.add(now, maxFromAddress)
		t.emails.touch(g.email).add(now, freeOfEmail+1)
	}
}

// succeeded remembers an address from which an email signed in: guesses from elsewhere do not keep it out.
func (t *throttle) succeeded(g guesser) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.known.touch(g.pair)
}

// line is the failures of an email from anywhere. Where there are many, further checks form a line: one a second, and one
// at a time. One address waits at most once, so that nobody fills a line alone.
type line struct {
	failures
	next    time.Time // when the next check may begin
	waiting map[network]struct{}
	turn    chan struct{} // holds one token
}

// queue waits for the guesser's turn where its email has a line. done is called after the check.
func (t *throttle) queue(ctx context.Context, g guesser) (done func(), err error) {
	l, wait, err := t.lineUp(g)
	if l == nil || err != nil {
		return func() {}, err
	}
	if err := t.sleep(ctx, wait); err != nil {
		t.leave(g, l)
		return nil, err
	}
	// Its second has come; the check before it may still be at it.
	ctx, cancel := context.WithTimeout(ctx, lineWait)
	defer cancel()
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn; t.leave(g, l) }, nil
	case <-ctx.Done():
		t.leave(g, l)
		return nil, tooManyTries(lineStep)
	}
}

// lineUp gives the line to wait in and for how long; nil where there is none.
func (t *throttle) lineUp(g guesser) (*line, time.Duration, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.now()
	l := t.emails.get(g.email)
	if l == nil || l.recently(now) <= freeOfEmail {
		return nil, 0, nil
	}
	if l.turn == nil {
		l.turn, l.waiting = make(chan struct{}, 1), map[network]struct{}{}
	}
	if l.next.Before(now) || l.next.Sub(now) > throttleWindow { // the latter is a clock that was set back
		l.next = now
	}
	wait, most := l.next.Sub(now), lineWait
	if t.known.get(g.pair) == nil {
		most -= lineStep // the last place is not for strangers, who could keep the line full
	}
	if _, already := l.waiting[g.network]; already || wait > most || t.inLines >= maxInLines {
		return nil, 0, tooManyTries(max(wait, lineStep))
	}
	l.next = l.next.Add(lineStep)
	l.waiting[g.network] = struct{}{}
	t.inLines++
	return l, wait, nil
}

func (t *throttle) leave(g guesser, l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(l.waiting, g.network)
	t.inLines--
}

func tooManyTries(wait time.Duration) error {
	seconds := max(1, int64((wait+time.Second-1)/time.Second))
	return &problem.Problem{
		Kind: problem.RateLimited, Code: problem.CodeRateLimited, RetryAfter: wait, Details: problem.Details{Policy: LoginPolicy},
		Message: "Too many failed logins; try again in " + strconv.FormatInt(seconds, 10) + " seconds.",
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
