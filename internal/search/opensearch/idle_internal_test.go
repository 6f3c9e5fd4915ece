package opensearch

import (
	"testing"
	"time"

	"keepsake/internal/search/document"
)

// A process follows a workspace without the claim only while nothing else is stored in an index that lacks changes.
func TestAnIdleClaimIsPassedOver(t *testing.T) {
	t.Parallel()
	begin := time.Unix(1_000_000, 0)
	var i idle
	for _, step := range []struct {
		what           string
		last, has, own int64
		after          time.Duration
		instead        bool
	}{
		{"nothing is missing", 5, 5, unknown, 0, false},
		{"a change is missing", 6, 5, unknown, time.Second, false},
		{"it is stored slowly", 9, 6, unknown, patience, false},
		{"nothing is stored", 9, 6, unknown, 2*patience - 1, false},
		{"nothing is stored for too long", 9, 6, unknown, 2 * patience, true},
		{"this process stores", 9, 9, 9, 2*patience + 10*time.Second, true},
		{"this process lacks a change", 10, 9, 9, 2*patience + 20*time.Second, true},
		{"another process stores", 10, 10, 9, 2*patience + 30*time.Second, false},
		{"another change is missing", 11, 10, 9, 4 * patience, false},
		{"and is stored", 11, 11, 9, 6 * patience, false},
	} {
		i = i.after(document.State{Change: step.last}, step.has, step.own, begin.Add(step.after))
		if i.instead != step.instead {
			t.Errorf("%s: it follows: %v", step.what, i.instead)
		}
	}
}
