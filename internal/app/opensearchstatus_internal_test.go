package app

import (
	"slices"
	"testing"

	v1 "keepsake/internal/web/api/v1"
)

func TestTheWorstWorkspaceIsFirst(t *testing.T) {
	t.Parallel()
	want := []v1.OpenSearchWorkspace{
		{ID: "a", State: "full", ChangesBehind: new(int64(1)), Complete: new(true)},
		{ID: "b", State: "ok", ChangesBehind: new(int64(2)), Complete: new(false)},
		{ID: "c", State: "elsewhere", Complete: new(false)},
		{ID: "d", State: "elsewhere", ChangesBehind: new(int64(3)), Complete: new(true)},
		{ID: "e", State: "ok", ChangesBehind: new(int64(2)), Complete: new(true)},
		{ID: "f", State: "elsewhere"},
		{ID: "g", State: "ok", ChangesBehind: new(int64(0)), Complete: new(true)},
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, worseFirst)
	for i := range want {
		if got[i].ID != want[i].ID {
			t.Errorf("place %d has %s, want %s", i, got[i].ID, want[i].ID)
		}
	}
}
