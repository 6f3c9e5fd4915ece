package account

import (
	"context"
	"crypto/sha256"
	"net/netip"
	"time"

	"keepsake/internal/base/problem"
)

// The bounds of guessing (docs/spec/login.md).
const (
	throttleWindow  = 15 * time.Minute
	maxFromPair     = 10 // failures of one email from one address
	maxFromAddress  = 30 // failures from one address
	maxUnqueued     = 10 // failures of one email from anywhere, before its checks are queued
	queueStep       = time.Second
	maxQueueWait    = 5 * time.Second
	maxQueued       = 128    // checks that wait in all queues of a process; each occupies a request in flight
	throttleEntries = 16_384 // refusals that a process remembers
)

// LoginPolicy is details.policy of a 429 by this throttle.
const LoginPolicy = "login"

// outcome is the result of an attempt.
type outcome int

const (
	undecided outcome = iota // the password was not checked
	wrong
	right
)

type (
	// digest is the hash of an email.
	digest [sha256.Size]byte
	// network is an address as guesses are counted: an IPv4 address, or an IPv6 /64, which one customer gets.
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

// attemptKey is an email with the network that a login came from.
type attemptKey struct{ pair }

func newAttemptKey(email string, from netip.Addr) attemptKey {
	return attemptKey{pair{sha256.Sum256([]byte(email)), networkOf(from)}}
}

// failures are the times of the latest failures, oldest first, and the number of running checks. Running checks count as
// failures, so that concurrent attempts get no more tries than sequential ones.
type failures struct {
	at      []time.Time
	running int
}

// recently counts the failures within the window. It counts times after now, which come from a clock that was set back.
func (f *failures) recently(now time.Time) int {
	old := 0
	for old < len(f.at) && now.Sub(f.at[old]) >= throttleWindow {
		old++
	}
	f.at = f.at[old:]
	return len(f.at)
}

// wait returns how long the next try has to wait if limit tries are allowed in a window; 0 if it does not.
func (f *failures) wait(now time.Time, limit int) time.Duration {
	if f == nil {
		return 0
	}
	switch n := f.recently(now); {
	case n >= limit:
		return f.at[n-limit].Add(throttleWindow).Sub(now)
	case n+f.running >= limit:
		return time.Second // the running checks decide
	default:
		return 0
	}
}

// nextSlot returns how long the next check in a queue waits, and when the check after it can begin. next is the earliest time
// of the next check. ok is false if the queue is full.
func nextSlot(next, now time.Time, known bool) (wait time.Duration, after time.Time, ok bool) {
	if next.Before(now) || next.Sub(now) > throttleWindow { // the latter is a clock that was set back
		next = now
	}
	limit := maxQueueWait
	if !known {
		limit -= queueStep // the last place is for known addresses, so that others cannot keep the queue full
	}
	wait = next.Sub(now)
	return wait, next.Add(queueStep), wait <= limit
}

func tooManyTries(wait time.Duration) error {
	seconds := max(1, int64((wait+time.Second-1)/time.Second))
	return &problem.Problem{
		Kind: problem.RateLimited, Code: problem.CodeRateLimited, RetryAfter: wait, Details: problem.Details{Policy: LoginPolicy},
		Message: "Too many failed logins; try again " + problem.Wait(seconds, time.Time{}) + ".",
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
