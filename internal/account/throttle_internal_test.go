package account

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/problem"
)

// watch is a clock that sleeping moves.
type watch struct {
	mu  sync.Mutex
	now time.Time
}

func (w *watch) time() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *watch) move(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

func newWatch() (*watch, *inprocThrottle) {
	w := &watch{now: time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)}
	return w, newInprocThrottle(w.time)
}

func address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}

func (t *inprocThrottle) fails(g guesser) error {
	err := t.begin(g)
	if err == nil {
		t.end(g, true)
	}
	return err
}

// wait reads how long a refusal says to wait; 0 for none.
func wait(tb testing.TB, err error) time.Duration {
	tb.Helper()
	if err == nil {
		return 0
	}
	p, ok := problem.As(err)
	if !ok || p.Kind != problem.RateLimited || p.Details.Policy != LoginPolicy {
		tb.Fatalf("got %v, want a refusal by the policy login", err)
	}
	return p.RetryAfter
}

func TestAnAddressHasTenTriesAtAnEmail(t *testing.T) {
	t.Parallel()
	w, throttle := newWatch()
	g := newGuesser("a@example.org", address(1))
	for i := range maxFromPair {
		if err := throttle.fails(g); err != nil {
			t.Fatalf("try %d: %v", i+1, err)
		}
		w.move(time.Minute)
	}
	if got := wait(t, throttle.refused(g)); got != 5*time.Minute {
		t.Errorf("the eleventh try waits %s, want until the first is 15 minutes old: 5m", got)
	}
	if err := throttle.refused(newGuesser("b@example.org", address(1))); err != nil {
		t.Errorf("another email from there: %v", err)
	}
	if err := throttle.refused(newGuesser("a@example.org", address(2))); err != nil {
		t.Errorf("the email from elsewhere: %v", err)
	}
	w.move(5 * time.Minute)
	if err := throttle.fails(g); err != nil {
		t.Errorf("when the first is 15 minutes old: %v", err)
	}
	if got := wait(t, throttle.refused(g)); got != time.Minute {
		t.Errorf("then the next waits %s, want 1m", got)
	}
}

func TestAnAddressHasThirtyTries(t *testing.T) {
	t.Parallel()
	_, throttle := newWatch()
	for i := range maxFromAddress {
		if err := throttle.fails(newGuesser(fmt.Sprint(i), address(1))); err != nil {
			t.Fatalf("try %d: %v", i+1, err)
		}
	}
	if wait(t, throttle.refused(newGuesser("another", address(1)))) == 0 {
		t.Error("a 31st try was allowed")
	}
	six := func(text string) guesser { return newGuesser("a", netip.MustParseAddr(text)) }
	for range maxFromPair {
		_ = throttle.fails(six("2001:db8::1"))
	}
	if wait(t, throttle.refused(six("2001:db8::ffff:1"))) == 0 {
		t.Error("an address of the same /64 counts anew")
	}
	if err := throttle.refused(six("2001:db8:0:1::1")); err != nil {
		t.Errorf("another /64: %v", err)
	}
}

func TestManyAtOnceGetNoMoreTries(t *testing.T) {
	t.Parallel()
	_, throttle := newWatch()
	g := newGuesser("a@example.org", address(1))
	var tried atomic.Int64
	var running sync.WaitGroup
	for range 100 {
		running.Go(func() {
			if throttle.begin(g) == nil {
				tried.Add(1)
				runtime.Gosched()
				throttle.end(g, true)
			}
		})
	}
	running.Wait()
	if tried.Load() != maxFromPair {
		t.Errorf("%d tries of 100 at once, want %d", tried.Load(), maxFromPair)
	}
}

func TestARightPasswordCostsNoTry(t *testing.T) {
	t.Parallel()
	_, throttle := newWatch()
	g := newGuesser("a@example.org", address(1))
	for i := range 100 {
		if err := throttle.begin(g); err != nil {
			t.Fatalf("login %d: %v", i, err)
		}
		throttle.end(g, false)
	}
}

func TestAnEmailThatManyGuessAtIsCheckedOnceASecond(t *testing.T) {
	t.Parallel()
	w, throttle := newWatch()
	ctx := context.Background()
	for i := range freeOfEmail + 1 {
		done, err := throttle.queue(ctx, newGuesser("a@example.org", address(i)))
		if err != nil {
			t.Fatalf("try %d: %v", i+1, err)
		}
		_ = throttle.fails(newGuesser("a@example.org", address(i)))
		done()
	}
	var slept []time.Duration
	throttle.sleep = func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil }
	var dones []func()
	owner := newGuesser("a@example.org", address(105))
	throttle.succeeded(owner)
	if _, err := throttle.queue(ctx, newGuesser("b@example.org", address(105))); err != nil {
		t.Errorf("another email from the owner's address: %v", err)
	}
	for i := range 6 { // now, and in 1, 2, 3 and 4 seconds; in 5 who signed in from there before
		if i == 5 {
			if _, _, err := throttle.lineUp(newGuesser("a@example.org", address(199))); wait(t, err) == 0 {
				t.Error("a stranger has the last place")
			}
		}
		l, d, err := throttle.lineUp(newGuesser("a@example.org", address(100+i)))
		if err != nil || l == nil || d != time.Duration(i)*time.Second {
			t.Fatalf("place %d: waits %s, %v", i, d, err)
		}
		dones = append(dones, func() { throttle.leaveLine(newGuesser("a@example.org", address(100+i)), l) })
	}
	if _, err := throttle.queue(ctx, newGuesser("a@example.org", address(200))); wait(t, err) == 0 {
		t.Error("somebody waits longer than 5 seconds")
	}
	if _, err := throttle.queue(ctx, newGuesser("b@example.org", address(200))); err != nil {
		t.Errorf("another email: %v", err)
	}
	for _, done := range dones {
		done()
	}
	w.move(10 * time.Second)
	done, err := throttle.queue(ctx, newGuesser("a@example.org", address(1)))
	if err != nil || slept[len(slept)-1] != 0 {
		t.Errorf("when the line is over: %v, waited %v", err, slept)
	}
	if _, err := throttle.queue(ctx, newGuesser("a@example.org", address(1))); wait(t, err) == 0 {
		t.Error("one address waits twice")
	}
	done()

	if throttle.inLines != 0 {
		t.Errorf("%d are said to wait when nobody does", throttle.inLines)
	}

	// It is one at a time, too: who has its second but not its turn gives up in the end.
	w.move(time.Minute)
	done, err = throttle.queue(ctx, newGuesser("a@example.org", address(1)))
	if err != nil {
		t.Fatal(err)
	}
	w.move(time.Minute)
	gone, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := throttle.queue(gone, newGuesser("a@example.org", address(2))); wait(t, err) == 0 {
		t.Error("two at a time")
	}
	done()
	w.move(throttleWindow)
	if l, _, _ := throttle.lineUp(newGuesser("a@example.org", address(1))); l != nil {
		t.Error("there is still a line when the failures are over")
	}
}

func TestWhoComesAtOnceOvertakesNoLine(t *testing.T) {
	t.Parallel()
	_, throttle := newWatch()
	const many = 50
	for i := range many {
		if _, err := throttle.queue(context.Background(), newGuesser("a@example.org", address(i))); err != nil {
			t.Fatalf("try %d: %v", i+1, err)
		}
	}
	checked := 0
	for i := range many {
		if throttle.fails(newGuesser("a@example.org", address(i))) == nil {
			checked++
		}
	}
	if checked != freeOfEmail+1 {
		t.Errorf("%d guesses that came at once were checked, want %d", checked, freeOfEmail+1)
	}
}

func TestTheThrottleRemembersABoundedNumber(t *testing.T) {
	t.Parallel()
	_, throttle := newWatch()
	guessed := newGuesser("victim@example.org", address(1))
	for i := range 2 * throttleEntries {
		if i%(throttleEntries/20) == 0 {
			_ = throttle.fails(guessed)
		}
		_ = throttle.fails(newGuesser(fmt.Sprint(i), address(2+i)))
	}
	if n := len(throttle.pairs.byKey) + len(throttle.addresses.byKey) + len(throttle.emails.byKey); n > 3*throttleEntries {
		t.Errorf("%d entries are remembered, want at most %d", n, 3*throttleEntries)
	}
	if wait(t, throttle.refused(guessed)) == 0 {
		t.Error("who goes on guessing was forgotten")
	}
}
