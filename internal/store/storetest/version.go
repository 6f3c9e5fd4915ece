package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/lifecycle"
	"keepsake/internal/problem"
	"keepsake/internal/store"
)

func testVersion(t *testing.T, setup setup) {
	t.Run("VersionsComeBackAsTheyWere", func(t *testing.T) {
		s := setup(t)
		want := []lifecycle.Version{
			{
				Number: 1, Since: epoch, AnnouncedAt: after(time.Hour), SunsetAt: after(2 * time.Hour), RetiredAt: after(3 * time.Hour),
				GuideURL: "https://example.org/guide", Backdated: true, Revision: 2,
			},
			{Number: 2, Since: epoch, Revision: 1},
		}
		noError(t, s.KeepVersion(t.Context(), &want[1]))
		noError(t, s.KeepVersion(t.Context(), &want[0]))
		wantVersions(t, s, want)

		changed := want[1]
		changed.AnnouncedAt, changed.SunsetAt, changed.Revision = epoch, after(time.Hour), 2
		noError(t, s.KeepVersion(t.Context(), &changed))
		wantVersions(t, s, []lifecycle.Version{want[0], changed})
	})

	t.Run("AVersionIsChangedFromTheRevisionThatWasRead", func(t *testing.T) {
		s := setup(t)
		v := lifecycle.Version{Number: 2, Since: epoch, Revision: 1}
		noError(t, s.KeepVersion(t.Context(), &v))
		for _, revision := range []int64{1, 3} {
			stale := v
			stale.Revision = revision
			wantProblem(t, s.KeepVersion(t.Context(), &stale), problem.Mismatch, problem.CodeRevisionMismatch)
		}
		wantVersions(t, s, []lifecycle.Version{v})
	})

	t.Run("ARehearsalTakesThePlaceOfItsKeysOlderOne", func(t *testing.T) {
		s := setup(t)
		keep := func(key string, until, now time.Time) {
			t.Helper()
			noError(t, s.KeepRehearsal(t.Context(), &lifecycle.Rehearsal{Version: 1, KeyID: key, WorkspaceID: "wsp_a", Until: until}, now))
		}
		keep("key_a", after(time.Hour), epoch)
		keep("key_b", after(time.Minute), epoch)
		keep("key_a", after(2*time.Hour), epoch)
		wantRehearsals(t, s, map[string]time.Time{"key_a": after(2 * time.Hour), "key_b": after(time.Minute)})
		keep("key_c", after(time.Hour), after(time.Minute)) // key_b's has ended
		wantRehearsals(t, s, map[string]time.Time{"key_a": after(2 * time.Hour), "key_c": after(time.Hour)})
	})

	t.Run("AKeysWorkspaceIsFound", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		noError(t, s.CreateAPIKey(t.Context(), newKey("key_a", "wsp_a", 1), 0))
		got, err := s.WorkspaceOfAPIKey(t.Context(), "key_a")
		if err != nil || got != "wsp_a" {
			t.Errorf("got %q, %v", got, err)
		}
		_, err = s.WorkspaceOfAPIKey(t.Context(), "key_b")
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
	})

	t.Run("CallersAreListedByWorkspaceCallerRouteAndClient", func(t *testing.T) {
		s := setup(t)
		add := func(at time.Time, list ...lifecycle.Caller) {
			t.Helper()
			for i := range list {
				list[i].LastAt = at
			}
			noError(t, s.AddCallers(t.Context(), list, 10))
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
		noError(t, s.PruneCallers(t.Context(), after(time.Hour)))
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
				if err := s.AddCallers(t.Context(), mixed, 100); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		found := map[lifecycle.Caller]bool{}
		for version := 1; version <= 2; version++ {
			list, err := s.Callers(t.Context(), lifecycle.CallerQuery{Version: version, Limit: 1_000})
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
		noError(t, s.AddCallers(t.Context(), crowd, 2))
		other := crowd[8]
		other.Client = lifecycle.ManyClients
		wantCallers(t, s, lifecycle.CallerQuery{Version: 3, Limit: 9}, crowd[0], crowd[1], other)
	})

	t.Run("ACallerHasOnlySoManyClients", func(t *testing.T) {
		s := setup(t)
		for i := range 20 {
			noError(t, s.AddCallers(t.Context(), []lifecycle.Caller{
				{Version: 1, WorkspaceID: "wsp_a", CallerID: "key_a", Route: "GET /a", Client: fmt.Sprintf("made/%02d", i), LastAt: epoch},
				{Version: 1, WorkspaceID: "wsp_a", CallerID: "key_b", Route: "GET /a", Client: "curl/8", LastAt: epoch},
			}, 3))
		}
		// A client that has an entry of its own also gets one on another route.
		noError(t, s.AddCallers(t.Context(), []lifecycle.Caller{
			{Version: 1, WorkspaceID: "wsp_a", CallerID: "key_a", Route: "GET /b", Client: "made/01", LastAt: epoch},
		}, 3))
		list, err := s.Callers(t.Context(), lifecycle.CallerQuery{Version: 1, Limit: 99})
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

func wantVersions(t *testing.T, s *store.Store, want []lifecycle.Version) {
	t.Helper()
	got, err := s.Versions(context.WithoutCancel(t.Context()))
	noError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func wantRehearsals(t *testing.T, s *store.Store, want map[string]time.Time) {
	t.Helper()
	list, err := s.Rehearsals(t.Context())
	noError(t, err)
	got := map[string]time.Time{}
	for _, r := range list {
		got[r.KeyID] = r.Until
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rehearsals (-want +got):\n%s", diff)
	}
}

func wantCallers(t *testing.T, s *store.Store, q lifecycle.CallerQuery, want ...lifecycle.Caller) {
	t.Helper()
	got, err := s.Callers(t.Context(), q)
	noError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("callers of %+v (-want +got):\n%s", q, diff)
	}
}
