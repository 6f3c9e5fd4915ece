package redis

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/limit/limittest"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
)

func TestMain(m *testing.M) { enginetest.Main(m) }

func open(t *testing.T, url string) *Store {
	t.Helper()
	l, err := Open(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// patient is url with long time-outs, for slow machines: most tests here are about the responses of a server.
func patient(url string) string { return url + "?dial_timeout=2m&write_timeout=2m" }

func TestRedisIsACounterStore(t *testing.T) {
	t.Parallel()
	const settling = 200 * time.Millisecond // by the clock of Redis, which a test cannot set
	limittest.TestStore(t, settling, func(t *testing.T) limit.CounterStore {
		s := open(t, patient(enginetest.Redis(t)))
		s.settling = settling
		return s
	})
}

// one is a sync request with one limit.
func one(number uint64, own int64) *limit.SyncRequest {
	return &limit.SyncRequest{Group: "wsp_1", Number: number, Entries: []limit.SyncEntry{{
		Subject: "wsp_1", Window: 7, End: time.Now().Add(time.Minute), Limit: 10, Reporter: "r", Own: own, Known: own,
	}}}
}

func TestEveryKindOfAddressConnects(t *testing.T) {
	t.Parallel()
	for name, opt := range map[string]enginetest.RedisOptions{
		"Socket": {}, "TCP": {TCP: true}, "Password": {TCP: true, Password: "secret"}, "SocketPassword": {Password: "secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := enginetest.StartRedis(t, opt)
			l := open(t, patient(s.URL()))
			if _, _, err := l.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r, err := l.Sync(t.Context(), one(1, 3)); err != nil || r.Sums[0].Total != 3 {
				t.Errorf("got %+v, %v", r, err)
			}
		})
	}
}

func TestErrorsDoNotShowTheAddress(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "http://:canary@host", "redis://:canary@host:port", "redis://:canary@host/x/y", "unix://canary%zz"} {
		if _, err := Open(url); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: got %v", url, err)
		}
	}
	for _, url := range []string{"redis://:canary@127.0.0.1:1", "redis://:canary@canary.invalid:1", "unix://:canary@/canary/x"} {
		if _, _, err := open(t, url).Ping(t.Context()); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: got %v", url, err)
		}
	}
	s := enginetest.StartRedis(t, enginetest.RedisOptions{TCP: true, Password: "secret"})
	if _, _, err := open(t, strings.Replace(s.URL(), "secret", "canary", 1)).Ping(t.Context()); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("a wrong password: got %v", err)
	}
}

func TestLossChangesTheGeneration(t *testing.T) {
	t.Parallel()
	s := enginetest.StartRedis(t, enginetest.RedisOptions{})
	l := open(t, patient(s.URL()))
	generation := func() string {
		before := time.Now().Truncate(time.Millisecond)
		name, at, err := l.Ping(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if now := time.Now(); at.Before(before) || at.After(now) { // Redis is on this machine
			t.Errorf("it answers that it is %v, between %v and %v", at, before, now)
		}
		return name
	}
	first := generation()
	if generation() != first {
		t.Error("it has another name without a reason")
	}
	s.Flush(t)
	flushed := generation()
	if flushed == first {
		t.Error("it has the same name after a flush")
	}
	s.Kill(t)
	if _, _, err := l.Ping(t.Context()); err == nil {
		t.Error("it lives without a server")
	}
	s.Start(t)
	if generation() == flushed {
		t.Error("it has the same name after a start")
	}
	if _, err := l.Sync(t.Context(), one(1, 3)); err != nil { // a restarted server knows no script
		t.Error(err)
	}
}

// A request waits for a paused server only as long as its context lasts. If the server processes the request later,
// that does not affect newer ones.
func TestPausedServerIsGivenUpInTime(t *testing.T) {
	t.Parallel()
	s := enginetest.StartRedis(t, enginetest.RedisOptions{})
	l := open(t, patient(s.URL()))
	answers := func(number uint64, own int64) {
		t.Helper()
		if r, err := l.Sync(t.Context(), one(number, own)); err != nil || r.Sums[0].Own != own {
			t.Fatalf("request %d: got %+v, %v", number, r, err)
		}
	}
	answers(1, 3)
	s.Pause(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	given := make(chan error, 1)
	go func() {
		_, err := l.Sync(ctx, one(2, 9))
		given <- err
	}()
	if err := await.Receive(t, "the request is given up while the server is paused", given); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the time was over", err)
	}
	s.Resume(t)
	answers(3, 4)
	if r, err := l.Sync(t.Context(), one(2, 9)); !errors.Is(err, limit.ErrOutdated) {
		t.Errorf("the request that was given up comes late: got %+v, %v, want %v", r, err, limit.ErrOutdated)
	}
}

func TestWindowsExpireSoonAfterTheirEnd(t *testing.T) {
	t.Parallel()
	s := enginetest.StartRedis(t, enginetest.RedisOptions{})
	l := open(t, patient(s.URL()))
	r := one(1, 3)
	if _, err := l.Sync(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	got := s.Do(t, "PEXPIRETIME keepsake:{wsp_1}:minute:wsp_1:7")
	want := fmt.Sprintf(":%d", r.Entries[0].End.Add(time.Minute).UnixMilli())
	if got != want {
		t.Errorf("it expires at %s, want %s, a minute after its end", got, want)
	}
}
