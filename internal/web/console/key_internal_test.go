package console

import (
	"testing"
	"time"

	"keepsake/client"
)

func TestKeysAreMarkedTwoWeeksBeforeTheyExpire(t *testing.T) {
	t.Parallel()
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		state   string
		expires *time.Time
		soon    bool
	}{
		{"active", nil, false},
		{"active", new(now.Add(warnBefore + time.Nanosecond)), false},
		{"active", new(now.Add(warnBefore)), true},
		{"rotating", new(now.Add(time.Second)), true},
		{"disabled", new(now.Add(time.Hour)), true},
		{"revoked", new(now.Add(time.Hour)), false},
		{"active", new(now), false}, // the API says so a moment later
		{"expired", new(now.Add(-time.Hour)), false},
	} {
		if left, soon := expiresSoon(client.APIKey{State: c.state, ExpiresAt: c.expires}, now); soon != c.soon || soon && left != c.expires.Sub(now) {
			t.Errorf("%s until %v: got %v, %v, want %v", c.state, c.expires, left, soon, c.soon)
		}
	}
}
