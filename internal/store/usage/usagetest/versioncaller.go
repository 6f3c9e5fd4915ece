package usagetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/store/usage"
)

func testCallers(t *testing.T, setup setup) {
	t.Run("CallersAreListedByWorkspaceCallerRouteAndClient", func(t *testing.T) {
		s := setup(t)
		add := func(at time.Time, list ...lifecycle.Caller) {
			t.Helper()
			for i := range list {
				list[i].LastAt = at
			}
			noError(t, s.Callers.AddCallers(t.Context(), list, 10))
		}
		a := lifecycle.Caller{Version: 1, WorkspaceID: "wsp_a", CallerID: "key_a", Route: "GET /a", Client: "curl/8"}
		b, c, d, other := a, a, a, a
		b.Client, c.CallerID, d.WorkspaceID, other.Version = "wget/1", "usr_a", "wsp_b", 2
		add(after(time.Minute), d, c, b, a, other)
		add(after(time.Hour), a)
		add(epoch, b) // an older time changes nothing
		a.LastAt, b.LastAt, c.LastAt, d.LastAt = after(time.Hour), after(time.Minute), after(time.Minute), after(time.Minute)

		wantCallers(t, s, lifecycle.CallerQuery{Version: 1, Limit: 9}, a, b, c, d)
		wantCallers(t, s, lifecycle.CallerQuery{Version: 1, Limit: 2}, a, b)
		wantCallers(t, s, lifecycle.CallerQuery{Version: 1, Limit: 9, After: &b}, c, d)
		wantCallers(t, s, lifecycle.CallerQuery{Version: 1, Limit: 9, WorkspaceID: "wsp_b"}, d)
		wantCallers(t, s, lifecycle.CallerQuery{Version: 1, Limit: 9, From: after(time.Hour)}, a)
		wantCallers(t, s, lifecycle.CallerQuery{Version: 3, Limit: 9})
		console := lifecycle.Caller{Version: 4, WorkspaceID: "wsp_a", CallerID: "usr_a", Route: "GET /a", Client: lifecycle.Console}
		program := console
		program.Client = "wget/1"
		add(after(2*time.Minute), console)
		add(after(time.Minute), program)
		console.LastAt, program.LastAt = after(2*time.Minute), after(time.Minute)
		wantCallers(t, s, lifecycle.CallerQuery{Version: 4, Limit: 9}, console, program)
		wantCallers(t, s, lifecycle.CallerQuery{Version: 4, Limit: 9, NoConsole: true}, program)
		for noConsole, want := range map[bool]lifecycle.Caller{false: console, true: program} {
			if calls, err := s.Callers.LastCalls(t.Context(), "wsp_a", noConsole); err != nil || !calls[4].Equal(want.LastAt) {
				t.Errorf("without the console %v: the last call is %v, %v, want %v", noConsole, calls[4], err, want.LastAt)
			}
		}
		noError(t, s.Callers.PruneCallers(t.Context(), after(time.Hour)))
		wantCallers(t, s, lifecycle.CallerQuery{Version: 1, Limit: 9}, a)
	})

	t.Run("ManyCallersAreAddedAtOnce", func(t *testing.T) {
		s := setup(t)
		var many []lifecycle.Caller
		for i := range 700 {
			many = append(many, lifecycle.Caller{
				Version: 1 + i%2, WorkspaceID: fmt.Sprint("wsp_", i%3), CallerID: fmt.Sprintf("key_%03d", i/5),
				Route: "GET /a", Client: fmt.Sprintf("made/%d", i%50), LastAt: after(time.Duration(i) * time.Second),
			})
		}
		var all sync.WaitGroup
		for range 4 {
			mixed := slices.Clone(many)
			rand.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
			all.Go(func() {
				if err := s.Callers.AddCallers(t.Context(), mixed, 100); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		found := map[lifecycle.Caller]bool{}
		for version := 1; version <= 2; version++ {
			list, err := s.Callers.Callers(t.Context(), lifecycle.CallerQuery{Version: version, Limit: 1_000})
			noError(t, err)
			for _, c := range list {
				found[c] = true
			}
		}
		for _, c := range many {
			if !found[c] {
				t.Fatalf("%+v is missing", c)
			}
		}
		if len(found) != len(many) {
			t.Errorf("%d callers, want %d", len(found), len(many))
		}
		// The clients beyond the limit become one, with their latest time.
		var crowd []lifecycle.Caller
		for i := range 9 {
			crowd = append(crowd, lifecycle.Caller{
				Version: 3, WorkspaceID: "wsp_a", CallerID: "key_a", Route: "GET /a", Client: fmt.Sprintf("made/%d", i), LastAt: after(time.Duration(i) * time.Second),
			})
		}
		noError(t, s.Callers.AddCallers(t.Context(), crowd, 2))
		other := crowd[8]
		other.Client = lifecycle.ManyClients
		wantCallers(t, s, lifecycle.CallerQuery{Version: 3, Limit: 9}, crowd[0], crowd[1], other)
	})

	t.Run("ACallerHasOnlySoManyClients", func(t *testing.T) {
		s := setup(t)
		for i := range 20 {
			noError(t, s.Callers.AddCallers(t.Context(), []lifecycle.Caller{
				{Version: 1, WorkspaceID: "wsp_a", CallerID: "key_a", Route: "GET /a", Client: fmt.Sprintf("made/%02d", i), LastAt: epoch},
				{Version: 1, WorkspaceID: "wsp_a", CallerID: "key_b", Route: "GET /a", Client: "curl/8", LastAt: epoch},
			}, 3))
		}
		// A client that has an entry of its own also gets one on another route.
		noError(t, s.Callers.AddCallers(t.Context(), []lifecycle.Caller{
			{Version: 1, WorkspaceID: "wsp_a", CallerID: "key_a", Route: "GET /b", Client: "made/01", LastAt: epoch},
		}, 3))
		list, err := s.Callers.Callers(t.Context(), lifecycle.CallerQuery{Version: 1, Limit: 99})
		noError(t, err)
		var got []string
		for _, c := range list {
			got = append(got, c.CallerID+" "+c.Route+" "+c.Client)
		}
		want := []string{
			"key_a GET /a made/00", "key_a GET /a made/01", "key_a GET /a made/02", "key_a GET /a other",
			"key_a GET /b made/01", "key_b GET /a curl/8",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func wantCallers(t *testing.T, s *usage.Store, q lifecycle.CallerQuery, want ...lifecycle.Caller) {
	t.Helper()
	got, err := s.Callers.Callers(t.Context(), q)
	noError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("callers of %+v (-want +got):\n%s", q, diff)
	}
}
