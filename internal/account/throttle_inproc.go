package account

import (
	"context"
	"sync"
	"time"
)

// inprocThrottle is the throttle of one process. What it counts is in memory alone, so that guessing costs the disk
// nothing.
type inprocThrottle struct {
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) error

	mu        sync.Mutex
	pairs     *recent[pair, failures]
	addresses *recent[network, failures]
	emails    *recent[digest, line]
	known     *recent[pair, struct{}] // who signed in from where
	inLines   int
}

func newInprocThrottle(now func() time.Time) *inprocThrottle {
	return &inprocThrottle{
		now: now, sleep: sleep,
		pairs:     newRecent[pair, failures](throttleEntries),
		addresses: newRecent[network, failures](throttleEntries),
		emails:    newRecent[digest, line](throttleEntries),
		known:     newRecent[pair, struct{}](throttleEntries),
	}
}

// inprocVisit is a visit of an inprocThrottle.
type inprocVisit struct {
	*inprocThrottle
	guesser guesser
	done    func()
}

func (t *inprocThrottle) enter(ctx context.Context, g guesser) (visit, error) {
	if err := t.refused(g); err != nil {
		return nil, err
	}
	done, err := t.queue(ctx, g)
	if err != nil {
		return nil, err
	}
	return &inprocVisit{t, g, done}, nil
}

func (v *inprocVisit) begin(context.Context) error { return v.inprocThrottle.begin(v.guesser) }

func (v *inprocVisit) end(_ context.Context, o outcome) error {
	v.inprocThrottle.end(v.guesser, o == wrong)
	if o == right {
		v.succeeded(v.guesser)
	}
	return nil
}

func (v *inprocVisit) leave(context.Context) { v.done() }

// refused refuses who has no tries left, before anything is done for them.
func (t *inprocThrottle) refused(g guesser) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.refusal(g)
}

func (t *inprocThrottle) refusal(g guesser) error {
	now := t.now()
	wait := max(t.pairs.get(g.pair).wait(now, maxFromPair), t.addresses.get(g.network).wait(now, maxFromAddress))
	if wait > 0 {
		return tooManyTries(wait)
	}
	return nil
}

// begin takes a try. Whoever got one says with end how it went.
func (t *inprocThrottle) begin(g guesser) error {
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
func (t *inprocThrottle) overtook(g guesser) bool {
	l := t.emails.get(g.email)
	if l == nil || l.recently(t.now()) <= freeOfEmail {
		return false
	}
	_, lined := l.waiting[g.network]
	return !lined
}

func (t *inprocThrottle) end(g guesser, failed bool) {
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
func (t *inprocThrottle) succeeded(g guesser) {
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
func (t *inprocThrottle) queue(ctx context.Context, g guesser) (done func(), err error) {
	l, wait, err := t.lineUp(g)
	if l == nil || err != nil {
		return func() {}, err
	}
	if err := t.sleep(ctx, wait); err != nil {
		t.leaveLine(g, l)
		return nil, err
	}
	// Its second has come; the check before it may still be at it.
	ctx, cancel := context.WithTimeout(ctx, lineWait)
	defer cancel()
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn; t.leaveLine(g, l) }, nil
	case <-ctx.Done():
		t.leaveLine(g, l)
		return nil, tooManyTries(lineStep)
	}
}

// lineUp gives the line to wait in and for how long; nil where there is none.
func (t *inprocThrottle) lineUp(g guesser) (*line, time.Duration, error) {
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
	wait, next, free := lastPlace(l.next, now, t.known.get(g.pair) != nil)
	if _, already := l.waiting[g.network]; already || !free || t.inLines >= maxInLines {
		return nil, 0, tooManyTries(max(wait, lineStep))
	}
	l.next = next
	l.waiting[g.network] = struct{}{}
	t.inLines++
	return l, wait, nil
}

func (t *inprocThrottle) leaveLine(g guesser, l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(l.waiting, g.network)
	t.inLines--
}
