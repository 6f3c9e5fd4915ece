package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"keepsake/internal/await"
	"keepsake/internal/enginetest"
	"keepsake/internal/limit"
	"keepsake/internal/limit/ledgertest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func open(t *testing.T, url string) *Ledger {
	t.Helper()
	l, err := Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// patient is url with time-outs that no machine is too slow for: most tests here are about what a server answers.
func patient(url string) string { return url + "?dial_timeout=2m&write_timeout=2m" }

func TestRedisIsALedger(t *testing.T) {
	t.Parallel()
	const settle = 200 * time.Millisecond // by the clock of Redis, which a test cannot set
	ledgertest.Run(t, settle, func(t *testing.T) func() limit.Ledger {
		url := patient(enginetest.Redis(t))
		return func() limit.Ledger {
			l := open(t, url)
			l.settling = settle
			return l
		}
	})
}

func one(number uint64, own int64) []limit.Contact {
	return []limit.Contact{{Tag: "wsp_1", Number: number, Budget: []limit.Entry{{
		Subject: "wsp_1", Window: 7, Ends: time.Now().Add(time.Minute), Limit: 10, Own: own, Known: own,
	}}}}
}

func TestLedgersAreReachedByEveryKindOfAddress(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]enginetest.RedisOptions{
		"Socket": {}, "TCP": {TCP: true}, "Password": {TCP: true, Password: "secret"}, "SocketPassword": {Password: "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := enginetest.StartRedis(t, opt)
			l := open(t, patient(s.URL()))
			if _, _, err := l.Life(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r := l.Exchange(t.Context(), one(1, 3))[0]; r.Err != nil || r.Budget[0].Total != 3 {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestAddressesThatAreNoneAreNotShown(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "http://:canary@host", "redis://:canary@host:port", "redis://:canary@host/x/y", "unix://canary%zz"} {
		if _, err := Open(url); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: got %v", url, err)
		}
	}
	for _, url := range []string{"redis://:canary@127.0.0.1:1", "redis://:canary@canary.invalid:1", "unix://:canary@/canary/x"} {
		if _, _, err := open(t, url).Life(t.Context()); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: got %v", url, err)
		}
	}
	s := enginetest.StartRedis(t, enginetest.RedisOptions{TCP: true, Password: "secret"})
	if _, _, err := open(t, strings.Replace(s.URL(), "secret", "canary", 1)).Life(t.Context()); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a wrong password: got %v", err)
	}
}

func TestTheLifeOfALedgerEndsWithWhatItHolds(t *testing.T) {
	t.Parallel()
	s := enginetest.StartRedis(t, enginetest.RedisOptions{})
	l := open(t, patient(s.URL()))
	life := func() string {
		before := time.Now().Truncate(time.Millisecond)
		name, at, err := l.Life(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if now := time.Now(); at.Before(before) || at.After(now) { // Redis is on this machine
			t.Errorf("it answers that it is %v, between %v and %v", at, before, now)
		}
		return name
	}
	first := life()
	if life() != first {
		t.Error("it has another name without a reason")
	}
	s.Flush(t)
	flushed := life()
	if flushed == first {
		t.Error("it has the same name after a flush")
	}
	s.Kill(t)
	if _, _, err := l.Life(t.Context()); err == nil {
		t.Error("it lives without a server")
	}
	s.Start(t)
	if life() == flushed {
		t.Error("it has the same name after a start")
	}
	for _, r := range l.Exchange(t.Context(), append(one(1, 3), one(2, 4)...)) { // a restarted server knows no script
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
}

// A request waits for a paused server only as long as its context lasts. The contact that lay in the server meanwhile
// changes nothing after a later one.
func TestAServerThatIsPausedIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	s := enginetest.StartRedis(t, enginetest.RedisOptions{})
	l := open(t, patient(s.URL()))
	answers := func(number uint64, own int64) {
		t.Helper()
		if r := l.Exchange(t.Context(), one(number, own))[0]; r.Err != nil || r.Budget[0].Own != own {
			t.Fatalf("contact %d: got %+v", number, r)
		}
	}
	answers(1, 3)
	s.Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	given := make(chan error, 1)
	go func() { given <- l.Exchange(ctx, one(2, 9))[0].Err }()
	if err := await.Receive(t, "the contact is given up while the server is paused", given); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the time was over", err)
	}
	s.Resume(t)
	answers(3, 4)
	if r := l.Exchange(t.Context(), one(2, 9))[0]; !errors.Is(r.Err, limit.ErrOvertaken) {
		t.Errorf("the contact that was given up comes late: got %+v, want %v", r, limit.ErrOvertaken)
	}
}

func TestWindowsExpireSoonAfterTheirEnd(t *testing.T) {
	t.Parallel()
	s := enginetest.StartRedis(t, enginetest.RedisOptions{})
	l := open(t, patient(s.URL()))
	contact := one(1, 3)
	if r := l.Exchange(t.Context(), contact)[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	got := s.Do(t, "PEXPIRETIME keepsake:{wsp_1}:minute:wsp_1:7")
	want := fmt.Sprintf(":%d", contact[0].Budget[0].Ends.Add(time.Minute).UnixMilli())
	if got != want {
		t.Errorf("it expires at %s, want %s, a minute after its end", got, want)
	}
}
