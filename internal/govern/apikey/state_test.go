package apikey

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The table of docs/spec/apikeys.md: the leftmost column with a yes decides.
const stateTable = `
revoked  disabled  expired  two live secrets  state
no       no        no       no                active
no       no        no       yes               rotating
no       no        yes      no                expired
no       no        yes      yes               expired
no       yes       no       no                disabled
no       yes       no       yes               disabled
no       yes       yes      no                disabled
no       yes       yes      yes               disabled
yes      no        no       no                revoked
yes      no        no       yes               revoked
yes      no        yes      no                revoked
yes      no        yes      yes               revoked
yes      yes       no       no                revoked
yes      yes       no       yes               revoked
yes      yes       yes      no                revoked
yes      yes       yes      yes               revoked
`

func TestStateFollowsFromTimestamps(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	table := "\nrevoked  disabled  expired  two live secrets  state\n"
	yes := map[bool]string{true: "yes", false: "no"}
	for row := range 16 {
		revoked, disabled, expired, two := row&8 != 0, row&4 != 0, row&2 != 0, row&1 != 0
		k := keyIn(now, revoked, disabled, expired, two)
		line := fmt.Sprintf("%-8s %-9s %-8s %-17s %s", yes[revoked], yes[disabled], yes[expired], yes[two], k.StateAt(now))
		table += strings.TrimRight(line, " ") + "\n"
	}
	if table != stateTable {
		t.Errorf("the states are%swant%s", table, stateTable)
	}
}

// keyIn returns a key of which these things are only just true at now.
func keyIn(now time.Time, revoked, disabled, expired, two bool) *APIKey {
	past, next := now.Add(-time.Millisecond), now.Add(time.Millisecond)
	k := &APIKey{ExpiresAt: &next, Secrets: []Secret{{}, {ValidUntil: &now}}}
	if revoked {
		k.RevokedAt = &past
	}
	if disabled {
		k.DisabledAt = &past
	}
	if expired {
		k.ExpiresAt = &now
	}
	if two {
		k.Secrets[1].ValidUntil = &next
	}
	return k
}

func TestRevokedKeyStaysRevoked(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(rapid.Int64Range(0, 1<<34).Draw(t, "now"), 0)
		k := keyIn(now, true, rapid.Bool().Draw(t, "disabled"), rapid.Bool().Draw(t, "expired"), rapid.Bool().Draw(t, "two"))
		if got := k.StateAt(now.Add(time.Duration(rapid.Int64().Draw(t, "later")))); got != Revoked {
			t.Fatalf("a revoked key is %s", got)
		}
	})
}
