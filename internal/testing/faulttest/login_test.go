package faulttest

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// TestLoginRevealsNoAccounts holds T7: a known email with a wrong password and an unknown one get the same status, body
// and names of headers; long passwords alike. `go run ./bench secrecy` compares the times.
func TestLoginRevealsNoAccounts(t *testing.T) {
	t.Parallel()
	s := start(t, t.TempDir(), "")
	const perEmail = 8 // failures of one email, before its checks wait for each other
	pairs := testtier.Rounds(10, 30)
	for i := range pairs/perEmail + 1 {
		s.newUser(fmt.Sprintf("known%d@example.org", i), goodPassword, "member")
	}
	shape := func(r *reply) string {
		delete(r.body, "requestId")
		names := slices.Sorted(maps.Keys(r.header))
		return fmt.Sprint(r.status, r.body, names, r.header.Get("X-RateLimit-Remaining"), r.header.Get("WWW-Authenticate"))
	}
	for i := range pairs {
		password := "not the password"
		if i%10 == 9 {
			password = strings.Repeat("long ", 2000)
		}
		known := shape(s.at(2*i).login(fmt.Sprintf("known%d@example.org", i/perEmail), password))
		unknown := shape(s.at(2*i+1).login(fmt.Sprintf("unknown%d@example.org", i), password))
		if known != unknown || !strings.HasPrefix(known, "401") {
			t.Fatalf("pair %d: a known email got %s, an unknown one %s", i, known, unknown)
		}
	}
	s.MustLive()
}

// TestGuessingIsSlowAndLocksOutNoUser holds T8.
func TestGuessingIsSlowAndLocksOutNoUser(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "hashes passwords for many seconds")
	s := start(t, t.TempDir(), "")
	s.newUser("müller@example.org", goodPassword, "member")
	// One account in four spellings, from one address, a hundred requests at a time. This also spends the address's limit for
	// requests without a credential.
	spelled := []string{"müller@example.org", " Müller@Example.ORG\t", "MÜLLER@EXAMPLE.ORG", "mu\u0308ller@example.org"}
	s.Must(http.StatusOK, http.MethodPut, "/api/v1/admin/tiers/anonymous", map[string]int{
		"requestsPerMinute": 1000, "daily": 100000, "monthly": 1000000, "keys": 0, "users": 0, "documents": 0, "memories": 0,
	})
	var mu sync.Mutex
	var running sync.WaitGroup
	got, sent := map[string]int{}, 0
	guess := func(spelled string) {
		r := s.at(1).login(spelled, "not the password")
		mu.Lock()
		defer mu.Unlock()
		got[strconv.Itoa(r.status)+" "+r.code()]++
		if r.status == http.StatusTooManyRequests {
			details, _ := r.body["details"].(map[string]any)
			seconds, _ := strconv.Atoi(r.header.Get("Retry-After"))
			reset, _ := r.body["resetTimeMs"].(float64)
			if details["policy"] != "login" || r.body["remaining"] != float64(0) || seconds < 1 ||
				(int(reset)+999)/1000 != seconds || !strings.Contains(r.body["message"].(string), strconv.Itoa(seconds)+" seconds") {
				t.Errorf("the refusal is %s, Retry-After %d", r.text, seconds)
			}
		}
	}
	// Each is checked or refused. On a busy machine a request can time out after ten seconds; it is then sent again.
	for ; sent == 0 || sent < 500 && got["401 invalid_credentials"] < 10; sent += 100 {
		for i := range 100 {
			running.Go(func() { guess(spelled[i%len(spelled)]) })
		}
		running.Wait()
	}
	for ; got["429 rate_limit_exceeded"] < 90 && sent < 700; sent++ {
		guess(spelled[sent%len(spelled)])
	}
	if n := got["429 rate_limit_exceeded"]; got["401 invalid_credentials"] != 10 || n < 90 || 10+n+got["503 unavailable"] != sent {
		t.Errorf("%d guesses were answered %v, want ten 401 and else 429", sent, got)
	}
	if r := s.at(1).login("müller@example.org", goodPassword); r.status != http.StatusTooManyRequests {
		t.Errorf("the right password from the guesser's address: %d", r.status)
	}
	if r := s.at(1).login("nobody@example.org", "not the password"); r.status != http.StatusUnauthorized {
		t.Errorf("another email from there: %d %s", r.status, r.text)
	}
	// Guesses from many addresses form a queue, and the right password gets through it.
	for i := range 3 {
		if r := s.at(10+i).login("müller@example.org", "not the password"); r.status != http.StatusUnauthorized {
			t.Errorf("a guess from elsewhere: %d %s", r.status, r.text)
		}
	}
	for i := range 2 {
		running.Go(func() { s.at(20+i).login("müller@example.org", "not the password") })
	}
	running.Wait()
	await.Until(t, "the owner is let in", func() bool {
		r := s.at(30).login(spelled[1], goodPassword)
		if r.status != http.StatusOK && r.header.Get("Retry-After") == "" { // a busy machine has the owner come again
			t.Fatalf("the owner: %d %s", r.status, r.text)
		}
		return r.status == http.StatusOK
	})
	s.MustLive()
}

// TestAFloodOfLoginsLeavesRoomForTheRest holds T10: 500 logins at once are hashed a few at a time, so that the process has
// memory for a few, and requests are answered meanwhile.
func TestAFloodOfLoginsLeavesRoomForTheRest(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "hashes passwords for many seconds")
	s := start(t, t.TempDir(), "")
	s.newUser("ada@example.org", goodPassword, "member")
	s.at(0).signIn("ada@example.org", goodPassword)
	ctx, stop := context.WithCancel(context.Background())
	var pending, beside atomic.Int64 // logins that wait for an answer; other requests that were answered meanwhile
	pending.Store(500)
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			if status, text, err := s.Do(context.Background(), http.MethodGet, "/api/v1/health", nil); err != nil || status != http.StatusOK {
				t.Errorf("health: %d %s %v", status, text, err)
			}
			if pending.Load() > 0 {
				beside.Add(1)
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
	var mu sync.Mutex
	var running sync.WaitGroup
	got := map[int]int{}
	for i := range 500 {
		running.Go(func() {
			r := s.at(1+i).login("ada@example.org", goodPassword)
			pending.Add(-1)
			mu.Lock()
			defer mu.Unlock()
			got[r.status]++
			if r.status == http.StatusServiceUnavailable && r.header.Get("Retry-After") == "" {
				t.Errorf("a 503 without Retry-After: %s", r.text)
			}
		})
	}
	running.Wait()
	stop()
	watching.Wait()
	// 500 that are hashed at once would take nine GiB. Garbage may double what is in use.
	memory, most := s.memory("VmHWM"), 4*int64(gateSize())*19<<20+128<<20
	t.Logf("500 logins at once: %v; %d other requests were answered meanwhile; the process had %d MiB at most", got, beside.Load(), memory>>20)
	if memory > most {
		t.Errorf("the process had %d MiB, want at most %d", memory>>20, most>>20)
	}
	if beside.Load() == 0 {
		t.Error("no other request was answered before the last login")
	}
	// How many are worked off within the ten seconds of a request is the machine's affair.
	if got[http.StatusOK]+got[http.StatusServiceUnavailable]+got[http.StatusTooManyRequests] != 500 || got[http.StatusOK] < gateSize() {
		t.Errorf("500 logins were answered %v", got)
	}
	if r := s.at(900).login("ada@example.org", strings.Repeat("x", 1_000_000)); r.status != http.StatusUnauthorized {
		t.Errorf("a password of a megabyte: %d %s", r.status, r.text)
	}
	// Only the header announces the size: a client that sends more of a refused body can see a reset before the 413.
	res, body, err := s.speak(t, "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1048577\r\n\r\n{")
	if err != nil || res.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a body over a mebibyte: %v %v %s", res, err, body)
	}
	s.MustLive()
}
