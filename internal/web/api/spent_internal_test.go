package api

import (
	"strings"
	"testing"
	"time"

	"keepsake/internal/govern/limit"
)

// A refusal for want of knowledge says so, and names no window, whichever budget it is about.
func TestRefusalSaysThatTheRestIsUnknown(t *testing.T) {
	t.Parallel()
	for policy, usedUp := range whatIsSpent {
		p := spent(&limit.Verdict{Policy: policy, ResetIn: 1500 * time.Millisecond, Unknown: true}, time.Now())
		if !strings.HasPrefix(p.Message, unknownRest) || !strings.HasSuffix(p.Message, "in 2 seconds.") || p.Details.Policy != string(policy) {
			t.Errorf("%s: got %+v", policy, p)
		}
		if p = spent(&limit.Verdict{Policy: policy, ResetIn: time.Hour}, time.Now()); !strings.HasPrefix(p.Message, usedUp) {
			t.Errorf("%s: got %q, want %q", policy, p.Message, usedUp)
		}
	}
}
