package opensearch

import (
	"fmt"
	"testing"
	"time"
)

func TestManyClaimsAreTriedLessOften(t *testing.T) {
	t.Parallel()
	for workspaces, want := range map[int]time.Duration{1: claimRetry, 100: claimRetry, 1_000: 20 * time.Second} {
		f := NewFollower(FollowerOptions{Now: time.Now})
		var ids []string
		for n := range workspaces {
			ids = append(ids, fmt.Sprint("wsp_", n))
		}
		f.Follow(ids)
		if got := f.retry(); got != want {
			t.Errorf("with %d workspaces, a claim is tried after %v, want %v", workspaces, got, want)
		}
	}
}
