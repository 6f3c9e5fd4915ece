package redis

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

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

// patient gives a server as long to answer as a machine with much to do needs: what the test is about is what it answers.
func patient(url string) string { return url + "?dial_timeout=2m&write_timeout=2m" }

func TestRedisIsALedger(t *testing.T) {
	t.Parallel()
	ledgertest.Run(t, func(t *testing.T) func() limit.Ledger {
		url := patient(enginetest.Redis(t))
		return func() limit.Ledger { return open(t, url) }
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
		name, at, err := l.Life(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if since := time.Since(at); since < -10*time.Second || since > 10*time.Second {
			t.Errorf("its clock is %v away", since)
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
	for _, r := range l.Exchange(t.Context(), append(one(1, 3), one(2, 4)...)) { // a server that was started anew knows no script
		if r.Err != nil {
			t.Error(r.Err)
		}
	}
}

// A contact that lay in a server that was paused changes nothing once later ones were heard.
func TestAServerThatIsPausedIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	s := enginetest.StartRedis(t, enginetest.RedisOptions{})
	l := open(t, s.URL())
	n := uint64(0)
	answers := func(own int64) { // in the end
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; {
			n++
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			r := l.Exchange(ctx, one(n, own))[0]
			cancel()
			if r.Err == nil && r.Budget[0].Own == own {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("got %+v", r)
			}
		}
	}
	answers(3)
	s.Pause(t)
	n++
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if r := l.Exchange(ctx, one(n, 9))[0]; r.Err == nil {
		t.Error("it answers")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it was given up after %v", took)
	}
	s.Resume(t)
	answers(4)
}

func TestWindowsExpireSoonAfterTheirEnd(t *testing.T) {
	t.Parallel()
	s := enginetest.StartRedis(t, enginetest.RedisOptions{})
	l := open(t, patient(s.URL()))
	began := time.Now()
	if r := l.Exchange(t.Context(), one(1, 3))[0]; r.Err != nil {
		t.Fatal(r.Err)
	}
	answer := s.Do(t, "TTL keepsake:{wsp_1}:minute:wsp_1:7")
	passed := int(time.Since(began)/time.Second) + 1
	if ttl, err := strconv.Atoi(strings.TrimPrefix(answer, ":")); err != nil || ttl > 120 || ttl < 120-passed {
		t.Errorf("it expires in %s s, %d s after it was written, want a minute after its end", answer, passed)
	}
}
