package account

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/base/problem"
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

func address(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
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

// guessMap is a GuessStore that only remembers.
type guessMap struct {
	now func() time.Time

	mu   sync.Mutex
	down error
	all  map[GuessName]GuessState
}

func (m *guessMap) states(names []GuessName) [][]byte {
	out := make([][]byte, len(names))
	for i, name := range names {
		out[i] = slices.Clone(m.all[name].Text)
	}
	return out
}

func (m *guessMap) Guesses(_ context.Context, names []GuessName) (time.Time, [][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now(), m.states(names), m.down
}

func (m *guessMap) ChangeGuesses(_ context.Context, names []GuessName, change func(time.Time, [][]byte) ([]GuessState, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down != nil {
		return m.down
	}
	states, err := change(m.now(), m.states(names))
	if err != nil {
		return err
	}
	for i, s := range states {
		if m.all[names[i]] = s; len(s.Text) == 0 {
			delete(m.all, names[i])
		}
	}
	return nil
}

func (m *guessMap) PruneGuesses(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, s := range m.all {
		if !s.Until.After(m.now()) {
			delete(m.all, name)
		}
	}
	return nil
}

// members are throttles that share a store, on one clock.
func members(n int) (*watch, *guessMap, []*throttle) {
	w := &watch{now: time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)}
	m := &guessMap{now: w.time, all: map[GuessName]GuessState{}}
	list := make([]*throttle, n)
	for i := range list {
		list[i] = newThrottle(m, nil, []byte("secret"))
		list[i].now = w.time
		list[i].sleep = func(_ context.Context, d time.Duration) error { w.move(d); return nil }
	}
	return w, m, list
}

// try has a password checked that is wrong or right.
func try(t *throttle, g attemptKey, o outcome) error {
	ctx := context.Background()
	v, err := t.enter(ctx, g)
	if err != nil {
		return err
	}
	defer v.leave(ctx)
	if err := v.begin(ctx); err != nil {
		return err
	}
	return v.end(ctx, o)
}

func TestMembersCountTogether(t *testing.T) {
	t.Parallel()
	w, m, two := members(2)
	g := newAttemptKey("a@example.org", address(1))
	for i := range maxFromPair {
		if err := try(two[i%2], g, wrong); err != nil {
			t.Fatalf("try %d: %v", i+1, err)
		}
		w.move(time.Minute)
	}
	for i, throttle := range two {
		if got := wait(t, try(throttle, g, wrong)); got != 5*time.Minute {
			t.Errorf("member %d: the eleventh try waits %s, want until the first is 15 minutes old: 5m", i, got)
		}
	}
	m.down = errors.New("away") // who was refused for good is not looked up again
	for i, throttle := range two {
		if got := wait(t, try(throttle, g, wrong)); got != 5*time.Minute {
			t.Errorf("member %d: %s is remembered, want 5m", i, got)
		}
	}
	m.down = nil
	if err := try(two[0], newAttemptKey("b@example.org", address(1)), right); err != nil {
		t.Errorf("another email from there: %v", err)
	}
	if err := try(two[1], newAttemptKey("a@example.org", address(2)), right); err != nil {
		t.Errorf("the email from elsewhere: %v", err)
	}
	w.move(5 * time.Minute)
	if err := try(two[1], g, wrong); err != nil {
		t.Errorf("when the first is 15 minutes old: %v", err)
	}
	if got := wait(t, try(two[0], g, wrong)); got != time.Minute {
		t.Errorf("then the next waits %s, want 1m", got)
	}
	for i := range maxFromAddress {
		if err := try(two[i%2], newAttemptKey(fmt.Sprint(i), address(3)), wrong); err != nil {
			t.Fatalf("try %d from one address: %v", i+1, err)
		}
	}
	if wait(t, try(two[0], newAttemptKey("another", address(3)), right)) == 0 {
		t.Error("a 31st try from one address was allowed")
	}
}

func TestIPv6NetworkCountsAsOneAddress(t *testing.T) {
	t.Parallel()
	_, _, two := members(2)
	six := func(text string) attemptKey { return newAttemptKey("a@example.org", netip.MustParseAddr(text)) }
	for range maxFromPair {
		if err := try(two[0], six("2001:db8::1"), wrong); err != nil {
			t.Fatal(err)
		}
	}
	if wait(t, try(two[1], six("2001:db8::ffff:1"), wrong)) == 0 {
		t.Error("another address of the /64 has tries of its own")
	}
	if err := try(two[1], six("2001:db8:0:1::1"), wrong); err != nil {
		t.Errorf("another /64: %v", err)
	}
}

// A process that shares the database with no other counts by its own clock.
func TestSingleProcessUsesItsOwnClock(t *testing.T) {
	t.Parallel()
	w := &watch{now: time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)}
	m := &guessMap{now: time.Now, all: map[GuessName]GuessState{}}
	alone := newThrottle(m, w.time, []byte("secret"))
	g := newAttemptKey("a@example.org", address(1))
	for range maxFromPair {
		if err := try(alone, g, wrong); err != nil {
			t.Fatal(err)
		}
	}
	if got := wait(t, try(alone, g, right)); got != throttleWindow {
		t.Errorf("refused for %s, want %s", got, throttleWindow)
	}
	w.move(throttleWindow)
	if err := try(alone, g, right); err != nil {
		t.Errorf("when the failures are over: %v", err)
	}
}

func TestRememberedRefusalsAreBounded(t *testing.T) {
	t.Parallel()
	w, _, two := members(1)
	for i := range throttleEntries + 100 {
		two[0].mu.Lock()
		two[0].failed.Add(GuessName{byte(i), byte(i >> 8), byte(i >> 16)}, w.time().Add(time.Minute))
		two[0].mu.Unlock()
	}
	if n := two[0].failed.Len(); n != throttleEntries {
		t.Errorf("%d refusals are remembered, want %d", n, throttleEntries)
	}
}

// Of a pair and an address that both failed too often, the pair is refused for longer, whatever a member knows of them.
func TestLongerRefusalIsReported(t *testing.T) {
	t.Parallel()
	w, m, two := members(2)
	g := newAttemptKey("a@example.org", address(1))
	for i := range maxFromAddress {
		who := newAttemptKey(fmt.Sprint(i), address(1))
		if i >= maxFromAddress-maxFromPair {
			who = g
		}
		if i == maxFromAddress-maxFromPair {
			w.move(5 * time.Minute)
		}
		if err := try(two[0], who, wrong); err != nil {
			t.Fatalf("try %d: %v", i+1, err)
		}
	}
	other := newAttemptKey("b@example.org", address(1))
	for i, throttle := range two {
		if got := wait(t, try(throttle, other, right)); got != 10*time.Minute {
			t.Errorf("throttle %d: another email from there waits %s, want 10m", i, got)
		}
		if got := wait(t, try(throttle, g, right)); got != 15*time.Minute {
			t.Errorf("throttle %d: the email waits %s, want 15m", i, got)
		}
	}
	m.down = errors.New("away")
	for i, throttle := range two {
		for _, c := range []struct {
			g    attemptKey
			want time.Duration
		}{{g, 15 * time.Minute}, {other, 10 * time.Minute}} {
			if got := wait(t, try(throttle, c.g, right)); got != c.want {
				t.Errorf("throttle %d without its store: waits %s, want %s", i, got, c.want)
			}
			if got := wait(t, throttle.refused(c.g)); got != c.want {
				t.Errorf("throttle %d by what it remembers: %s, want %s", i, got, c.want)
			}
		}
		if err := throttle.refused(newAttemptKey("a@example.org", address(2))); err != nil {
			t.Errorf("throttle %d refuses another address: %v", i, err)
		}
	}
}

// What refuses a member's guessers is known to it without a look.
func TestRefusalIsRememberedAtOnce(t *testing.T) {
	t.Parallel()
	_, _, two := members(2)
	g := newAttemptKey("a@example.org", address(1))
	for i := range maxFromPair {
		if err := two[0].refused(g); err != nil {
			t.Fatalf("refused after %d failures: %v", i, err)
		}
		if err := try(two[0], g, wrong); err != nil {
			t.Fatal(err)
		}
	}
	if got := wait(t, two[0].refused(g)); got != throttleWindow {
		t.Errorf("refused for %s, want %s", got, throttleWindow)
	}
}

func TestConcurrentMembersGiveNoExtraTries(t *testing.T) {
	t.Parallel()
	_, _, two := members(2)
	for name, c := range map[string]struct {
		who  func(i int) attemptKey
		want int64
	}{
		"pair":    {func(int) attemptKey { return newAttemptKey("a@example.org", address(1)) }, maxFromPair},
		"address": {func(i int) attemptKey { return newAttemptKey(fmt.Sprint(i), address(2)) }, maxFromAddress},
	} {
		var tried atomic.Int64
		var running sync.WaitGroup
		for i := range 100 {
			running.Go(func() {
				if try(two[i%2], c.who(i), wrong) == nil {
					tried.Add(1)
				}
			})
		}
		running.Wait()
		if tried.Load() != c.want {
			t.Errorf("%s: %d tries of 100 at once, want %d", name, tried.Load(), c.want)
		}
	}
}

func TestRightPasswordUsesNoTry(t *testing.T) {
	t.Parallel()
	w, m, two := members(2)
	g := newAttemptKey("a@example.org", address(1))
	for i := range 100 {
		if err := try(two[i%2], g, right); err != nil {
			t.Fatalf("login %d: %v", i, err)
		}
	}
	if len(m.all) != 1 {
		t.Errorf("%d texts are kept, want the one that says from where the email signed in", len(m.all))
	}
	w.move(keepSignIn)
	if err := m.PruneGuesses(t.Context()); err != nil || len(m.all) != 0 {
		t.Errorf("%d texts are kept for ever, %v", len(m.all), err)
	}
}

func TestTryOfADeadMemberExpires(t *testing.T) {
	t.Parallel()
	w, _, two := members(2)
	ctx := t.Context()
	g := newAttemptKey("a@example.org", address(1))
	for i := range maxFromPair {
		v, err := two[0].enter(ctx, g)
		if err == nil {
			err = v.begin(ctx)
		}
		if err != nil {
			t.Fatalf("try %d: %v", i+1, err)
		}
	}
	w.move(attemptLifetime - time.Millisecond)
	if got := wait(t, try(two[1], g, wrong)); got != time.Second {
		t.Errorf("beside ten that are under way a try waits %s, want 1s", got)
	}
	w.move(time.Millisecond)
	if err := try(two[1], g, wrong); err != nil {
		t.Errorf("after %s: %v", attemptLifetime, err)
	}
}

func TestLateOutcomeIsNotRevealed(t *testing.T) {
	t.Parallel()
	w, m, two := members(2)
	ctx := t.Context()
	for _, o := range []outcome{wrong, right} {
		v, err := two[0].enter(ctx, newAttemptKey("a@example.org", address(1)))
		if err == nil {
			err = v.begin(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
		if o == wrong {
			w.move(attemptLifetime)
			err = v.end(ctx, o)
		} else {
			m.down = problem.NotAvailable("away", time.Second)
			err = v.end(ctx, o)
		}
		if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable {
			t.Errorf("got %v, want it to be unavailable", err)
		}
	}
}

func TestLoginIsRefusedWithoutTheStore(t *testing.T) {
	t.Parallel()
	_, m, two := members(2)
	ctx := t.Context()
	g := newAttemptKey("a@example.org", address(1))
	v, err := two[0].enter(ctx, g)
	if err != nil {
		t.Fatal(err)
	}
	m.down = problem.NotAvailable("away", time.Second)
	for what, err := range map[string]error{"begin": v.begin(ctx), "enter": try(two[1], g, right)} {
		if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable {
			t.Errorf("%s: got %v, want it to be unavailable", what, err)
		}
	}
}

// silent is a GuessStore that never answers.
type silent struct{ GuessStore }

func (silent) Guesses(ctx context.Context, _ []GuessName) (time.Time, [][]byte, error) {
	<-ctx.Done()
	return time.Time{}, nil, ctx.Err()
}

func TestSilentStoreTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := try(newThrottle(silent{}, nil, []byte("secret")), newAttemptKey("a@example.org", address(1)), right)
		if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable {
			t.Errorf("got %v, want it to be unavailable", err)
		}
		if waited := time.Since(began); waited != guessTimeout { // of the clock of the bubble
			t.Errorf("the attemptKey waited %s, want %s", waited, guessTimeout)
		}
	})
}

// guessedAt has an email fail from more addresses than are free of a line.
func guessedAt(t *testing.T, throttle *throttle, email string) {
	t.Helper()
	for i := range maxUnqueued + 1 {
		if err := try(throttle, newAttemptKey(email, address(1000+i)), wrong); err != nil {
			t.Fatalf("try %d: %v", i+1, err)
		}
	}
}

func TestMembersShareAQueue(t *testing.T) {
	t.Parallel()
	w, m, two := members(2)
	ctx := t.Context()
	const email = "a@example.org"
	owner := newAttemptKey(email, address(5))
	if err := try(two[1], owner, right); err != nil {
		t.Fatal(err)
	}
	guessedAt(t, two[0], email)
	if err := try(two[1], newAttemptKey("b@example.org", address(1)), wrong); err != nil {
		t.Errorf("another email: %v", err)
	}

	// Whose second is in how long, one member after the other.
	enter := func(i int) (*attempt, time.Duration, error) {
		var slept time.Duration
		throttle := two[i%2]
		throttle.sleep = func(_ context.Context, d time.Duration) error { slept = max(slept, d); return nil }
		v := &attempt{throttle: throttle, id: fmt.Sprint(i)}
		g := newAttemptKey(email, address(i))
		v.names = throttle.names(g)
		err := v.change(ctx, func(t *guessRecord) (err error) {
			slept, err = t.enqueue(v.id, fmt.Sprint(i), attemptLifetime)
			return err
		})
		v.queued = err == nil
		return v, slept, err
	}
	var places []*attempt
	for i := range 5 {
		v, d, err := enter(i)
		if err != nil || d != time.Duration(i)*time.Second {
			t.Fatalf("place %d: waits %s, %v", i, d, err)
		}
		places = append(places, v)
	}
	if _, _, err := enter(6); wait(t, err) == 0 {
		t.Error("a stranger has the last place")
	}
	v, d, err := enter(5)
	if err != nil || d != 5*time.Second {
		t.Errorf("who signed in from there before waits %s, %v, want 5s", d, err)
	}
	places = append(places, v)
	if _, _, err := enter(2); wait(t, err) == 0 {
		t.Error("one address waits twice")
	}

	// One at a time, and only whose turn it is.
	if err := places[0].turn(ctx); err != nil {
		t.Fatal(err)
	}
	if err := places[1].begin(ctx); wait(t, err) == 0 {
		t.Error("who has a place but not the turn is checked")
	}
	if err := places[0].begin(ctx); err != nil {
		t.Fatal(err)
	}
	if err := places[1].turn(ctx); wait(t, err) == 0 {
		t.Error("two at a time")
	}
	if err := places[0].end(ctx, wrong); err != nil {
		t.Fatal(err)
	}
	if err := places[1].turn(ctx); err != nil {
		t.Errorf("when the one before is over: %v", err)
	}
	places[1].leave(ctx)

	// A member that dies with the turn in hand keeps it for a while.
	if err := places[2].turn(ctx); err != nil {
		t.Fatal(err)
	}
	w.move(attemptLifetime)
	if err := places[3].turn(ctx); err != nil {
		t.Errorf("after a member died: %v", err)
	}
	places[3].leave(ctx)
	w.move(time.Minute)
	if err := places[4].turn(ctx); wait(t, err) == 0 {
		t.Error("a place lasts for ever")
	}

	w.move(throttleWindow)
	if err := m.PruneGuesses(ctx); err != nil || len(m.all) != 1 {
		t.Errorf("%d texts are left, %v, want the one that says from where the email signed in", len(m.all), err)
	}
	if err := try(two[0], newAttemptKey(email, address(1)), wrong); err != nil {
		t.Errorf("there is still a line when the failures are over: %v", err)
	}
}

func TestConcurrentAttemptsDoNotSkipTheQueue(t *testing.T) {
	t.Parallel()
	_, _, two := members(2)
	ctx := t.Context()
	const many = 50
	var visits []*attempt
	for i := range many {
		v, err := two[i%2].enter(ctx, newAttemptKey("a@example.org", address(i)))
		if err != nil {
			t.Fatalf("try %d: %v", i+1, err)
		}
		visits = append(visits, v)
	}
	checked := 0
	for _, v := range visits {
		if v.begin(ctx) == nil && v.end(ctx, wrong) == nil {
			checked++
		}
	}
	if checked != maxUnqueued+1 {
		t.Errorf("%d guesses that came at once were checked, want %d", checked, maxUnqueued+1)
	}
}

func TestQueueIsBoundedAndDrains(t *testing.T) {
	t.Parallel()
	_, m, two := members(2)
	ctx := t.Context()
	guessedAt(t, two[0], "a@example.org")
	gone := errors.New("the client went away")
	two[1].sleep = func(context.Context, time.Duration) error { return gone }
	for i := range 3 {
		if err := try(two[1], newAttemptKey("a@example.org", address(i)), right); !errors.Is(err, gone) {
			t.Fatalf("got %v, want that the client went away", err)
		}
	}
	names := two[0].names(newAttemptKey("a@example.org", address(1)))
	now, states, err := m.Guesses(ctx, names[:])
	if err != nil {
		t.Fatal(err)
	}
	if left, err := readGuesses(now, states); err != nil || len(left.email.Waiting) != 0 || two[1].waiting.Load() != 0 {
		t.Errorf("who went away still waits: %+v, %d, %v", left.email, two[1].waiting.Load(), err)
	}
	two[0].waiting.Store(maxQueued)
	if wait(t, try(two[0], newAttemptKey("a@example.org", address(9)), right)) == 0 {
		t.Error("more wait than one member lets")
	}
}

func TestClockSetBackDelaysNoLogin(t *testing.T) {
	t.Parallel()
	w, _, two := members(2)
	ctx := t.Context()
	g := newAttemptKey("a@example.org", address(1))
	for range maxFromPair {
		v, err := two[0].enter(ctx, g)
		if err == nil {
			err = v.begin(ctx)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.move(-time.Hour)
	if err := try(two[1], g, wrong); err != nil {
		t.Errorf("tries of a member that died an hour ahead: %v", err)
	}
}
