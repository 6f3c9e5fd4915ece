package account_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/audit"
	"keepsake/internal/govern/auth"
	"keepsake/internal/store/postgres"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

// long is more than a crowd waits for on a busy machine.
const long = time.Minute

// members are offices of two processes on one database, whose clocks are half a minute apart.
func members(t testing.TB) [2]*office {
	t.Helper()
	return membersOn(t, enginetest.PostgresCopy(t, "migrated", func(ctx context.Context, url string) error {
		return postgres.Migrate(ctx, postgres.Options{URL: url})
	}))
}

func membersOn(t testing.TB, url string) [2]*office {
	t.Helper()
	opt := postgres.Options{URL: url, Connections: 8, Connect: long, Acquire: long, Lock: long, Commit: long, Answer: long}
	var two [2]*office
	signing := safe{}
	for i := range two {
		engine, err := postgres.Open(t.Context(), opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { engine.Close() })
		two[i] = officeOn(t, engine, signing)
		two[i].clock.Store(time.Now().Add(time.Duration(i) * 30 * time.Second).UnixMilli())
	}
	first, err := two[0].people.FirstStart(t.Context(), account.Admin{Email: email, Password: password},
		func(context.Context, string) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := two[1].Directory.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, o := range two {
		o.SetGuessTimeout(long)
		o.SetTryLife(long)
		o.user = first.UserID
		o.admin = &auth.Principal{Kind: auth.Local, WorkspaceID: first.WorkspaceID, Operator: true, Scopes: auth.All}
	}
	return two
}

func from(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 1, byte(i >> 8), byte(i)}) }

// outcomes counts how tries end that two members get at once.
type outcomes struct{ checked, refused atomic.Int64 }

func (g *outcomes) all(t *testing.T, two [2]*office, n int, who func(i int) (email string, from netip.Addr)) {
	t.Helper()
	var running sync.WaitGroup
	for i := range n {
		running.Go(func() {
			name, addr := who(i)
			_, err := two[i%2].Authenticate(context.Background(), name, "not the password", addr)
			switch p, _ := problem.As(err); {
			case p != nil && p.Code == problem.CodeInvalidCredentials:
				g.checked.Add(1)
			case p != nil && p.Kind == problem.RateLimited && p.Details.Policy == account.LoginPolicy:
				g.refused.Add(1)
			default:
				t.Errorf("try %d: %v", i, err)
			}
		})
	}
	running.Wait()
}

func TestGuessesAtTwoMembersAreCountedTogether(t *testing.T) {
	t.Parallel()
	tries := testtier.Rounds(40, 100)
	two := members(t)
	for name, c := range map[string]struct {
		who  func(i int) (string, netip.Addr)
		want int64
	}{
		"OfAPair":     {func(int) (string, netip.Addr) { return email, from(1) }, 10},
		"OfAnAddress": {func(i int) (string, netip.Addr) { return fmt.Sprintf("%d@example.org", i), from(2) }, 30},
		"OfNobody":    {func(int) (string, netip.Addr) { return "nobody@example.org", from(3) }, 10},
		"OfOneNetwork": {func(i int) (string, netip.Addr) {
			return "x@example.org", netip.MustParseAddr(fmt.Sprintf("2001:db8::%x", i))
		}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			var g outcomes
			g.all(t, two, tries, c.who)
			if g.checked.Load() != c.want {
				t.Errorf("%d of %d tries at once were checked, want %d", g.checked.Load(), tries, c.want)
			}
			for i, o := range two { // also at the member that got no attempt
				name, addr := c.who(1000)
				if _, err := o.Authenticate(t.Context(), name, password, addr); !limited(err) {
					t.Errorf("member %d then: %v", i, err)
				}
			}
		})
	}
}

func limited(err error) bool {
	p, ok := problem.As(err)
	return ok && p.Kind == problem.RateLimited && p.Details.Policy == account.LoginPolicy
}

func TestTwoMembersShareAQueue(t *testing.T) {
	t.Parallel()
	two := members(t)
	w := stopClock(two)
	if _, err := two[0].Authenticate(t.Context(), email, password, here); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	var checked, refused, signedIn atomic.Int64
	come := func(i int, password string, from netip.Addr) {
		running.Go(func() {
			_, err := two[i%2].Authenticate(ctx, email, password, from)
			switch p, _ := problem.As(err); {
			case err == nil:
				signedIn.Add(1)
			case limited(err):
				refused.Add(1)
			case p != nil && p.Code == problem.CodeInvalidCredentials:
				checked.Add(1)
			case ctx.Err() == nil:
				t.Errorf("try %d: %v", i, err)
			}
		})
	}
	came := int64(0)
	settled := func() {
		t.Helper()
		await.Until(t, "each attemptKey has its answer or sleeps", func() bool {
			return checked.Load()+refused.Load()+signedIn.Load()+w.asleep() == came
		})
	}
	stranger := func() {
		came++
		come(int(came), "not the password", from(int(came)))
	}

	// Of many at once these are checked: eleven that are free, those under way when the line forms, and the first of the line.
	for range 40 {
		stranger()
	}
	settled()
	if n, most := checked.Load(), 11+2*int64(runtime.GOMAXPROCS(0)); n < 11 || n > most {
		t.Errorf("%d of 40 guesses from as many addresses were checked, want 11 to %d", n, most)
	}

	// Strangers fill the line up to its last place. That place is for addresses from which the user signed in before.
	for before := refused.Load(); refused.Load() == before; {
		stranger()
		settled()
	}
	if n := w.asleep(); n != 4 {
		t.Errorf("%d strangers wait, want 4", n)
	}
	came++
	come(1, password, here)
	settled()
	for second := range 5 {
		before := checked.Load() + signedIn.Load()
		w.move(time.Second)
		settled()
		if n := checked.Load() + signedIn.Load() - before; n != 1 {
			t.Errorf("%d passwords were checked in second %d, want 1", n, second+1)
		}
		if (signedIn.Load() == 1) != (second == 4) {
			t.Errorf("%d signed in after second %d, want the one who knows the password after second 5", signedIn.Load(), second+1)
		}
		stranger() // the guesses go on
		settled()
	}
}

// hanging is a store in which reading a user never ends.
type hanging struct {
	account.SessionStore
	began chan struct{}
	end   chan struct{}
}

func (h *hanging) UserByEmail(context.Context, string) (*account.User, error) {
	h.began <- struct{}{}
	<-h.end
	return nil, errors.New("this member has died")
}

func TestTriesOfADeadMemberExpire(t *testing.T) {
	t.Parallel()
	two := members(t)
	w := stopClock(two)
	dying := &hanging{two[0].Sessions, make(chan struct{}, 30), make(chan struct{})}
	two[0].Sessions = dying
	slots := min(4, account.HashSlots(runtime.GOMAXPROCS(0))) // fewer than there are tries
	var hung sync.WaitGroup
	for range slots {
		hung.Go(func() {
			_, err := two[0].Authenticate(context.Background(), email, password, here)
			// It was gone for longer than its tries counted, so its result is not used.
			if p, ok := problem.As(err); !ok || p.Kind != problem.Unavailable {
				t.Errorf("the member that came back: %v", err)
			}
		})
	}
	for range slots {
		await.Receive(t, "a try of the member that dies is under way", dying.began)
	}
	const tries = 20
	var g outcomes
	other := [2]*office{two[1], two[1]}
	g.all(t, other, tries, func(int) (string, netip.Addr) { return email, here })
	if want := int64(10 - slots); g.checked.Load() != want {
		t.Errorf("%d guesses were checked beside %d of a member that died, want %d", g.checked.Load(), slots, want)
	}
	w.move(long)
	g.all(t, other, tries, func(int) (string, netip.Addr) { return email, here })
	if g.checked.Load() != 10 {
		t.Errorf("after the life of a try %d guesses were checked in all, want 10", g.checked.Load())
	}
	close(dying.end)
	hung.Wait()
}

func TestLoginIsRefusedWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "stops a PostgreSQL server twice")
	server := enginetest.StartPostgres(t, enginetest.PostgresOptions{})
	two := membersOn(t, server.Database(t))
	for range 10 {
		_, err := two[0].Authenticate(t.Context(), email, "not the password", from(1))
		wantCode(t, err, problem.CodeInvalidCredentials)
	}
	away := func() {
		t.Helper()
		for _, o := range two {
			o.SetGuessTimeout(200 * time.Millisecond)
			for _, try := range []string{password, "not the password"} {
				_, err := o.Authenticate(t.Context(), email, try, here)
				wantCode(t, err, problem.CodeUnavailable)
			}
			o.SetGuessTimeout(long)
		}
	}
	back := func(o *office, what string) {
		t.Helper()
		await.Until(t, "the user signs in "+what, func() bool {
			_, err := o.Authenticate(t.Context(), email, password, here)
			return err == nil
		})
	}
	server.Pause(t)
	away()
	server.Resume(t)
	back(two[0], "when the server goes on")
	server.Stop(t)
	away()
	server.Start(t)
	back(two[1], "when the server is back")
	if _, err := two[1].Authenticate(t.Context(), email, password, from(1)); !limited(err) {
		t.Errorf("an address that failed ten times before the stop: %v", err)
	}
}

func TestTwoMembersRefreshATokenOnce(t *testing.T) {
	t.Parallel()
	two := members(t)
	// The parent gives its child again for ten seconds of the clock that both agree on; a busy machine may need more.
	at, err := two[0].Clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range two {
		agreed := o.Clock
		o.Clock = func(ctx context.Context) (time.Time, error) {
			_, err := agreed(ctx)
			return at, err
		}
	}
	g := two[0].login(t)
	for round := range testtier.Rounds(2, 5) {
		var mu sync.Mutex
		children := map[string]int{}
		var running sync.WaitGroup
		for i := range 20 {
			running.Go(func() {
				next, err := two[i%2].Refresh(context.Background(), g.RefreshToken)
				if err != nil {
					t.Errorf("round %d: %v", round, err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				children[next.RefreshToken]++
			})
		}
		running.Wait()
		if len(children) != 1 {
			t.Fatalf("round %d: %d children, want one", round, len(children))
		}
		for child := range children {
			g.RefreshToken = child
		}
	}
}

// A token whose child was used, and which comes again at many places at once, ends its family once.
func TestTwoMembersEndAFamilyOnce(t *testing.T) {
	t.Parallel()
	two := members(t)
	first := two[0].login(t)
	second := two[1].refresh(t, first.RefreshToken)
	third := two[0].refresh(t, second.RefreshToken)
	var running sync.WaitGroup
	for i := range 20 {
		running.Go(func() {
			_, err := two[i%2].Refresh(context.Background(), first.RefreshToken)
			if p, ok := problem.As(err); !ok || p.Kind != problem.Unauthenticated {
				t.Errorf("got %v, want it refused", err)
			}
		})
	}
	running.Wait()
	if n := two[0].log.count(audit.RefreshTokenReused) + two[1].log.count(audit.RefreshTokenReused); n != 1 {
		t.Errorf("the reuse is in the log %d times, want once", n)
	}
	for _, o := range two {
		if _, err := o.Refresh(t.Context(), third.RefreshToken); err == nil {
			t.Error("a token of a family that ended works")
		}
	}
}

// Whatever ends a user's sessions on one member and comes at the same moment as a login or a refresh on another: none is
// left.
func TestNoSessionOutlivesADisabledUser(t *testing.T) {
	t.Parallel()
	two := members(t)
	hash, err := two[0].people.HashPassword(t.Context(), password)
	if err != nil {
		t.Fatal(err)
	}
	for round := range testtier.Rounds(3, 10) {
		made := account.NewUser{Email: fmt.Sprintf("bob%d@example.org", round), Role: account.RoleMember, Password: hash}
		bob, err := two[0].people.CreateUser(t.Context(), two[0].admin, made)
		if err != nil {
			t.Fatal(err)
		}
		u, err := two[1].Authenticate(t.Context(), bob.Email, password, from(round))
		if err != nil {
			t.Fatal(err)
		}
		old, err := two[1].Start(t.Context(), u)
		if err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		tokens := []string{old.RefreshToken}
		var running sync.WaitGroup
		for i := range 4 {
			running.Go(func() {
				var g *account.Grant
				var err error
				if i%2 == 0 {
					g, err = two[1].Start(context.Background(), u)
				} else {
					g, err = two[1].Refresh(context.Background(), old.RefreshToken)
				}
				if err == nil {
					mu.Lock()
					defer mu.Unlock()
					tokens = append(tokens, g.RefreshToken)
				}
			})
		}
		disabled := true
		if _, err := two[0].people.ChangeUser(t.Context(), two[0].admin, bob.ID, nil, account.UserChange{Disabled: &disabled}); err != nil {
			t.Fatal(err)
		}
		running.Wait()
		for _, token := range tokens {
			if _, err := two[1].Refresh(t.Context(), token); err == nil {
				t.Fatalf("round %d: one of %d sessions goes on", round, len(tokens))
			}
		}
	}
}
