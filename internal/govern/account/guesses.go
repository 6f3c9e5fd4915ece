package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/base/problem"
)

// guessRecord is the state of an attempt's three counters at one time of the common clock. Its methods decide without side
// effects.
type guessRecord struct {
	now   time.Time
	tries [2]tries // of the pair, of the address
	email emailQueue
}

// tries are the failures and the running checks of a pair or an address.
type tries struct {
	Failed   moments `json:"failed,omitempty"`
	Running  []claim `json:"running,omitempty"`
	SignedIn int64   `json:"signedIn,omitempty"` // the last time; only of a pair
}

// emailQueue is the queue of an email. It exists while the email has more failures than maxUnqueued.
type emailQueue struct {
	Failed  moments `json:"failed,omitempty"`
	Next    int64   `json:"next,omitempty"`
	Waiting []place `json:"waiting,omitempty"`
	Turn    *claim  `json:"turn,omitempty"` // held by the one check that can run
}

type (
	// moments are times in microseconds since 1970, oldest first.
	moments []int64
	// claim is held by a process. It expires, because the process can die.
	claim struct {
		ID    string `json:"id"`
		Until int64  `json:"until"`
	}
	// place is the place of an address in a queue.
	place struct {
		claim
		Address string `json:"address"`
	}
)

// maxClaim is longer than any claim lasts. A claim that seems to last longer is from before the clock was set back.
const maxClaim = 2 * (attemptLifetime + 2*maxQueueWait)

// errNotYet means that the check before has not ended.
var errNotYet = errors.New("another check is running")

// errLate is the error of a try that expired before it ended. Its outcome must not be revealed, because it did not count.
var errLate = problem.NotAvailable("Checking the password took too long; try again.", time.Second)

// readGuesses decodes the texts of a pair, its address and its email, and removes what has expired.
func readGuesses(now time.Time, texts [][]byte) (*guessRecord, error) {
	g := &guessRecord{now: now}
	for i, part := range [...]any{&g.tries[0], &g.tries[1], &g.email} {
		if len(texts[i]) == 0 {
			continue
		}
		if err := json.Unmarshal(texts[i], part); err != nil {
			return nil, fmt.Errorf("decode guesses: %w", err)
		}
	}
	for i := range g.tries {
		t := &g.tries[i]
		t.Failed = t.Failed.since(now)
		t.Running = slices.DeleteFunc(t.Running, g.over)
	}
	g.email.Failed = g.email.Failed.since(now)
	g.email.Waiting = slices.DeleteFunc(g.email.Waiting, func(p place) bool { return g.over(p.claim) })
	if t := g.email.Turn; t != nil && g.over(*t) {
		g.email.Turn = nil
	}
	return g, nil
}

func (g *guessRecord) over(c claim) bool {
	left := time.UnixMicro(c.Until).Sub(g.now)
	return left <= 0 || left > maxClaim
}

func (g *guessRecord) claimed(id string, life time.Duration) claim {
	return claim{id, g.now.Add(life).UnixMicro()}
}

// since removes times before the window.
func (m moments) since(now time.Time) moments {
	f := m.failures()
	return m[len(m)-f.recently(now):]
}

func (m moments) failures() failures {
	f := failures{at: make([]time.Time, len(m))}
	for i, us := range m {
		f.at[i] = time.UnixMicro(us)
	}
	return f
}

// add appends a time, and keeps at most limit.
func (m *moments) add(now time.Time, limit int) {
	*m = append((*m)[max(0, len(*m)-limit+1):], now.UnixMicro())
}

func (t *tries) failures() failures {
	f := t.Failed.failures()
	f.running = len(t.Running)
	return f
}

// queued reports whether checks of the email are queued.
func (g *guessRecord) queued() bool { return len(g.email.Failed) > maxUnqueued }

// knows reports whether the email signed in from the address.
func (g *guessRecord) knows() bool {
	return g.now.Sub(time.UnixMicro(g.tries[0].SignedIn)) < keepSignIn
}

// enqueue adds a place, and returns how long it waits.
func (g *guessRecord) enqueue(id string, address string, life time.Duration) (time.Duration, error) {
	l := &g.email
	wait, next, free := nextSlot(time.UnixMicro(l.Next), g.now, g.knows())
	already := slices.ContainsFunc(l.Waiting, func(p place) bool { return p.Address == address })
	if already || !free {
		return 0, tooManyTries(max(wait, queueStep))
	}
	l.Next = next.UnixMicro()
	l.Waiting = append(l.Waiting, place{g.claimed(id, wait+maxQueueWait+life), address})
	return wait, nil
}

// takeTurn takes the turn for a place that is due.
func (g *guessRecord) takeTurn(id string, life time.Duration) error {
	l := &g.email
	i := slices.IndexFunc(l.Waiting, func(p place) bool { return p.ID == id })
	switch {
	case i < 0: // the place has expired
		return tooManyTries(queueStep)
	case l.Turn != nil && l.Turn.ID != id:
		return errNotYet
	}
	turn := g.claimed(id, life)
	l.Turn, l.Waiting[i].claim = &turn, turn
	return nil
}

// begin uses a try. It refuses an attempt without a turn if a queue has formed since enter.
func (g *guessRecord) begin(id string, life time.Duration) error {
	if turn := g.email.Turn; g.queued() && (turn == nil || turn.ID != id) {
		return tooManyTries(queueStep)
	}
	for i := range g.tries {
		g.tries[i].Running = append(g.tries[i].Running, g.claimed(id, life))
	}
	if turn := g.email.Turn; turn != nil && turn.ID == id {
		return g.takeTurn(id, life)
	}
	return nil
}

// end records the outcome of a try.
func (g *guessRecord) end(id string, o outcome) error {
	for i := range g.tries {
		t := &g.tries[i]
		left := slices.DeleteFunc(t.Running, func(c claim) bool { return c.ID == id })
		if len(left) == len(t.Running) {
			return errLate
		}
		t.Running = left
	}
	switch o {
	case wrong:
		g.tries[0].Failed.add(g.now, maxFromPair)
		g.tries[1].Failed.add(g.now, maxFromAddress)
		g.email.Failed.add(g.now, maxUnqueued+1)
	case right:
		g.tries[0].SignedIn = g.now.UnixMicro()
	}
	g.leaveQueue(id)
	return nil
}

func (g *guessRecord) leaveQueue(id string) {
	l := &g.email
	l.Waiting = slices.DeleteFunc(l.Waiting, func(p place) bool { return p.ID == id })
	if l.Turn != nil && l.Turn.ID == id {
		l.Turn = nil
	}
}

// states encodes the record. A part without content is empty, which deletes it.
func (g *guessRecord) states() ([]GuessState, error) {
	out := make([]GuessState, 0, len(g.tries)+1)
	for i := range g.tries {
		t := &g.tries[i]
		var until int64
		if g.knows() && i == 0 {
			until = t.SignedIn + keepSignIn.Microseconds()
		} else {
			t.SignedIn = 0
		}
		for _, c := range t.Running {
			until = max(until, c.Until)
		}
		state, err := stateOf(t, max(until, t.Failed.until()))
		if err != nil {
			return nil, err
		}
		out = append(out, state)
	}
	l := &g.email
	until := l.Failed.until()
	for _, p := range l.Waiting {
		until = max(until, p.Until)
	}
	if l.Turn != nil {
		until = max(until, l.Turn.Until)
	}
	state, err := stateOf(l, until)
	return append(out, state), err
}

// until returns when the last of them leaves the window.
func (m moments) until() int64 {
	if len(m) == 0 {
		return 0
	}
	return m[len(m)-1] + throttleWindow.Microseconds()
}

func stateOf(part any, until int64) (GuessState, error) {
	if until == 0 {
		return GuessState{}, nil
	}
	text, err := json.Marshal(part)
	if err != nil {
		return GuessState{}, fmt.Errorf("encode guesses: %w", err)
	}
	return GuessState{Text: text, Until: time.UnixMicro(until)}, nil
}
