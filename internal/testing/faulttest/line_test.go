package faulttest

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/testtier"
)

// TestAnOwnerComesThroughALineOfStrangers holds T8 where it is hardest: guesses at one email come without rest from sixty
// addresses, more than its line has places for. Its owner, at an address the email signed in from before, is let in.
func TestAnOwnerComesThroughALineOfStrangers(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "hashes passwords for many seconds")
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
	await.Until(t, "the line is full", func() bool { return turnedAway.Load() > 0 })
	tries := 0
	await.Until(t, "the owner is let in while the guesses go on", func() bool {
		tries++
		return owner.login("ada@example.org", goodPassword).status == http.StatusOK
	})
	over.Store(true)
	guessing.Wait()
	t.Logf("the owner was in after %d tries; %d guesses were checked, %d turned away", tries, checked.Load(), turnedAway.Load())
	s.MustLive()
}
