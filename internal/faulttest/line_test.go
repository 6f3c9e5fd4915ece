package faulttest

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestAnOwnerComesThroughALineOfStrangers holds T8 where it is hardest: guesses at one email come without rest from sixty
// addresses, more than its line has places for. Its owner, at an address the email signed in from before, is let in.
func TestAnOwnerComesThroughALineOfStrangers(t *testing.T) {
	s := start(t, t.TempDir(), "")
	s.Must(http.StatusOK, http.MethodPut, "/api/v1/admin/tiers/anonymous", map[string]int{
		"requestsPerMinute": 10_000, "daily": 1_000_000, "monthly": 1_000_000, "keys": 0, "users": 0, "documents": 0, "memories": 0,
	})
	s.newUser("ada@example.org", goodPassword, "member")
	owner := s.at(1)
	owner.signIn("ada@example.org", goodPassword)

	var over atomic.Bool
	var checked, turnedAway atomic.Int64
	var guessing sync.WaitGroup
	attacked := time.Now()
	for i := range 60 {
		guessing.Go(func() {
			for p := s.at(10 + i); !over.Load(); time.Sleep(100 * time.Millisecond) {
				if p.login("ada@example.org", "not the password").status == http.StatusUnauthorized {
					checked.Add(1)
				} else {
					turnedAway.Add(1)
				}
			}
		})
	}
	time.Sleep(3 * time.Second) // the line is full by now
	began, tries := time.Now(), 1
	for ; owner.login("ada@example.org", goodPassword).status != http.StatusOK && tries < 20; tries++ {
		time.Sleep(500 * time.Millisecond)
	}
	took := time.Since(began)
	over.Store(true)
	guessing.Wait()
	t.Logf("the owner was in after %s and %d tries; %d guesses were checked, %d turned away", took.Round(time.Millisecond), tries, checked.Load(), turnedAway.Load())
	if tries == 20 {
		t.Error("the owner was kept out")
	}
	if most := int64(time.Since(attacked)/time.Second) + 11 + int64(gateSize()) + 1; checked.Load() > most {
		t.Errorf("%d guesses were checked, want at most %d", checked.Load(), most)
	}
	s.MustLive()
}
