package account

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"keepsake/internal/problem"
)

// tally is what all members know of a guesser at a moment of their common clock. All that is decided about it is here
// and touches nothing else.
type tally struct {
	now   time.Time
	tries [2]tries // of the pair, of the address
	email sharedLine
}

// tries are the failures of a pair or an address, and what is under way there.
type tries struct {
	Failed   moments `json:"failed,omitempty"`
	Running  []claim `json:"running,omitempty"`
	SignedIn int64   `json:"signedIn,omitempty"` // when last, of a pair
}

// sharedLine is the line of an email (see line).
type sharedLine struct {
	Failed  moments `json:"failed,omitempty"`
	Next    int64   `json:"next,omitempty"`
	Waiting []place `json:"waiting,omitempty"`
	Turn    *claim  `json:"turn,omitempty"` // of the one check at a time
}

type (
	// moments are microseconds since 1970, oldest first.
	moments []int64
	// claim is what a member holds, which may die: so it ends by itself.
	claim struct {
		ID    string `json:"id"`
		Until int64  `json:"until"`
	}
	// place is that of an address in a line.
	place struct {
		claim
		Address string `json:"address"`
	}
)

// mostClaimed is longer than any claim: one that seems to end after that was made before the clock was set back.
const mostClaimed = 2 * (tryLife + 2*lineWait)

// errNotYet says that the check before is not over.
var errNotYet = errors.New("it is not this guesser's turn")

// errLate is for a try whose time was over before it was counted: what came of it is told to nobody.
var errLate = problem.NotAvailable("Checking the password took too long; try again.", time.Second)

// readTally reads the texts of a pair, its address and its email, and forgets what is over.
func readTally(now time.Time, texts [][]byte) (*tally, error) {
	g := &tally{now: now}
	for i, part := range [...]any{&g.tries[0], &g.tries[1], &g.email} {
		if len(texts[i]) == 0 {
			continue
		}
		if err := json.Unmarshal(texts[i], part); err != nil {
			return nil, fmt.Errorf("decode what is known of guesses: %w", err)
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

func (g *tally) over(c claim) bool {
	left := time.UnixMicro(c.Until).Sub(g.now)
	return left <= 0 || left > mostClaimed
}

func (g *tally) claimed(id string, life time.Duration) claim {
	return claim{id, g.now.Add(life).UnixMicro()}
}

// since forgets what was before the window. Moments ahead of now are of a clock that was set back: they count.
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

// add notes one more; more than most are not worth remembering.
func (m *moments) add(now time.Time, most int) {
	*m = append((*m)[max(0, len(*m)-most+1):], now.UnixMicro())
}

func (t *tries) failures() failures {
	f := t.Failed.failures()
	f.running = len(t.Running)
	return f
}

// lined reports whether checks of the email form a line.
func (g *tally) lined() bool { return len(g.email.Failed) > freeOfEmail }

// knows reports whether the email signed in from the address.
func (g *tally) knows() bool {
	return g.now.Sub(time.UnixMicro(g.tries[0].SignedIn)) < knownFor
}

// lineUp takes a place and says how long it waits for its second.
func (g *tally) lineUp(id string, address string, life time.Duration) (time.Duration, error) {
	l := &g.email
	wait, next, free := lastPlace(time.UnixMicro(l.Next), g.now, g.knows())
	already := slices.ContainsFunc(l.Waiting, func(p place) bool { return p.Address == address })
	if already || !free {
		return 0, tooManyTries(max(wait, lineStep))
	}
	l.Next = next.UnixMicro()
	l.Waiting = append(l.Waiting, place{g.claimed(id, wait+lineWait+life), address})
	return wait, nil
}

// takeTurn takes the one turn of a line, for a place whose second has come.
func (g *tally) takeTurn(id string, life time.Duration) error {
	l := &g.email
	i := slices.IndexFunc(l.Waiting, func(p place) bool { return p.ID == id })
	switch {
	case i < 0: // it came too late
		return tooManyTries(lineStep)
	case l.Turn != nil && l.Turn.ID != id:
		return errNotYet
	}
	turn := g.claimed(id, life)
	l.Turn, l.Waiting[i].claim = &turn, turn
	return nil
}

// begin takes a try, if no line has formed since the guesser passed where it begins.
func (g *tally) begin(id string, life time.Duration) error {
	if turn := g.email.Turn; g.lined() && (turn == nil || turn.ID != id) {
		return tooManyTries(lineStep)
	}
	for i := range g.tries {
		g.tries[i].Running = append(g.tries[i].Running, g.claimed(id, life))
	}
	if turn := g.email.Turn; turn != nil && turn.ID == id {
		return g.takeTurn(id, life)
	}
	return nil
}

// end counts what came of a try.
func (g *tally) end(id string, o outcome) error {
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
		g.email.Failed.add(g.now, freeOfEmail+1)
	case right:
		g.tries[0].SignedIn = g.now.UnixMicro()
	}
	g.leaveLine(id)
	return nil
}

func (g *tally) leaveLine(id string) {
	l := &g.email
	l.Waiting = slices.DeleteFunc(l.Waiting, func(p place) bool { return p.ID == id })
	if l.Turn != nil && l.Turn.ID == id {
		l.Turn = nil
	}
}

// states writes what readTally read; what says nothing is empty.
func (g *tally) states() ([]GuessState, error) {
	out := make([]GuessState, 0, len(g.tries)+1)
	for i := range g.tries {
		t := &g.tries[i]
		var until int64
		if g.knows() && i == 0 {
			until = t.SignedIn + knownFor.Microseconds()
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

// until is when the last of them is over.
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
		return GuessState{}, fmt.Errorf("encode what is known of guesses: %w", err)
	}
	return GuessState{Text: text, Until: time.UnixMicro(until)}, nil
}
