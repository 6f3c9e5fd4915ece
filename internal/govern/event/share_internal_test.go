package event

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// several returns webhooks of a workspace that are due.
func several(workspaceID string, n int, like Due) (list []Due) {
	for i := range n {
		d := like
		d.WorkspaceID, d.WebhookID = workspaceID, fmt.Sprintf("%s/%d", workspaceID, i)
		list = append(list, d)
	}
	return list
}

// counts counts requests by workspace.
func counts(lists ...[]*slot) map[string]int {
	n := map[string]int{}
	for _, list := range lists {
		for _, s := range list {
			n[s.workspaceID]++
		}
	}
	return n
}

func TestSendersAreSharedByWorkspaces(t *testing.T) {
	t.Parallel()
	slow, failing := Due{Slow: true}, Due{Failing: true}
	for name, test := range map[string]struct {
		due  []Due
		want map[string]int
	}{
		"one webhook":            {several("a", 1, Due{}), map[string]int{"a": 4}},
		"one slow webhook":       {several("a", 1, slow), map[string]int{"a": 2}},
		"one failing webhook":    {several("a", 1, failing), map[string]int{"a": 1}},
		"one workspace":          {several("a", 10, Due{}), map[string]int{"a": 16}},
		"one slow workspace":     {several("a", 10, slow), map[string]int{"a": 4}},
		"two workspaces":         {slices.Concat(several("a", 10, Due{}), several("b", 1, Due{})), map[string]int{"a": 12, "b": 4}},
		"a slow and a quick one": {slices.Concat(several("a", 10, slow), several("b", 10, Due{})), map[string]int{"a": 4, "b": 12}},
		"four workspaces": {
			slices.Concat(several("a", 10, Due{}), several("b", 10, Due{}), several("c", 10, Due{}), several("d", 10, Due{})),
			map[string]int{"a": 8, "b": 8, "c": 8, "d": 8},
		},
		"fifty that are failing": {
			slices.Concat(several("a", 10, failing), several("b", 10, failing), several("c", 10, failing), several("d", 10, failing),
				several("e", 10, failing), several("f", 1, Due{})),
			map[string]int{"a": 4, "b": 3, "c": 3, "d": 3, "e": 3, "f": 4},
		},
	} {
		got := counts(assign(noon, nil, map[string]int64{}, test.due))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A receiver that has never answered is slow as soon as a request to it takes long.
func TestRequestsThatTakeLongCountAsSlow(t *testing.T) {
	t.Parallel()
	turns, due := map[string]int64{}, several("a", 10, Due{})
	running := assign(noon, nil, turns, due)
	if n := len(assign(noon, running, turns, append(due, several("b", 10, Due{})...))); n != shareOfOne {
		t.Errorf("another workspace gets %d senders, want %d", n, shareOfOne)
	}
	later := noon.Add(SlowAfter)
	more := assign(later, running, turns, append(several("b", 10, Due{Slow: true}), several("c", 10, Due{})...))
	if diff := cmp.Diff(map[string]int{"c": 8}, counts(more)); diff != "" {
		t.Errorf("when the first are slow (-want +got):\n%s", diff)
	}
}

// Between two deliveries of a workspace, another one's is sent, however many are due.
func TestWorkspacesTakeTurns(t *testing.T) {
	t.Parallel()
	turns := map[string]int64{}
	due := append(several("a", 10, Due{}), several("b", 1, Due{})...)
	running := []*slot{}
	for range maxRunning - 1 { // others leave one sender
		running = append(running, &slot{webhookID: "x", workspaceID: fmt.Sprint("x", len(running)), began: noon})
	}
	order := ""
	for range 6 {
		list := assign(noon, running, turns, due)
		if len(list) != 1 {
			t.Fatalf("%d senders", len(list))
		}
		order += list[0].workspaceID
	}
	if order != "ababab" {
		t.Errorf("the order is %s", order)
	}
}

// TestSharesHold checks the promises for any load.
func TestSharesHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		now, turns := noon, map[string]int64{}
		var running []*slot
		for range rapid.IntRange(1, 12).Draw(t, "rounds") {
			var due []Due
			for w := range rapid.IntRange(1, 12).Draw(t, "workspaces") {
				due = append(due, several(fmt.Sprint("w", w), rapid.IntRange(1, 10).Draw(t, "webhooks"), Due{
					Slow: rapid.Bool().Draw(t, "slow"), Failing: rapid.Bool().Draw(t, "failing"),
				})...)
			}
			before := counts(running)
			given := assign(now, running, turns, due)
			running = append(running, given...)
			after := counts(running)
			if len(running) > maxRunning {
				t.Fatalf("%d run", len(running))
			}
			for w, n := range after {
				if n > half {
					t.Fatalf("%s has %d", w, n)
				}
			}
			// A workspace without a sender gets one, unless all are taken or its receivers are poor and the poor have their share.
			poor := 0
			for _, s := range running {
				if s.isPoor(now) {
					poor++
				}
			}
			for i := range due {
				d := &due[i]
				if before[d.WorkspaceID] == 0 && after[d.WorkspaceID] == 0 && len(running) < maxRunning && (poor < poorShare || !d.Slow && !d.Failing) {
					t.Fatalf("%s got nothing: %d run, %d of them to poor receivers", d.WorkspaceID, len(running), poor)
				}
			}
			ended := rapid.IntRange(0, len(running)).Draw(t, "ended")
			running = rapid.Permutation(running).Draw(t, "order")[ended:]
			now = now.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "seconds")) * time.Second)
		}
	})
}
