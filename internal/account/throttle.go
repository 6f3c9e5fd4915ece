package account

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"strconv"
	"time"

	"keepsake/internal/problem"
)

// The bounds of guessing (decisions.md, C).
const (
	throttleWindow  = 15 * time.Minute
	maxFromPair     = 10 // failures of one email from one address
	maxFromAddress  = 30 // failures from one address
	freeOfEmail     = 10 // failures of one email from anywhere, before its checks form a queue
	lineStep        = time.Second
	lineWait        = 5 * time.Second
	maxInLines      = 128    // checks that wait in all queues of a process: each holds one of the requests in flight
	throttleEntries = 16_384 // names whose refusal a process remembers
)

// LoginPolicy is details.policy of a 429 by this throttle.
const LoginPolicy = "login"

// outcome is the result of an attempt.
type outcome int

const (
	undecided outcome = iota // nothing was found out about the password
	wrong
	right
)

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

// lastPlace is the end of a line whose next check may begin at a moment: how long whoever takes it waits, and when the
// check after that one may begin. The line may be too long for it to be free.
func lastPlace(next, now time.Time, known bool) (wait time.Duration, after time.Time, free bool) {
	if next.Before(now) || next.Sub(now) > throttleWindow { // the latter is a clock that was set back
		next = now
	}
	most := lineWait
	if !known {
		most -= lineStep // the last place is not for strangers, who could keep the line full
	}
	wait = next.Sub(now)
	return wait, next.Add(lineStep), wait <= most
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
