package storetest

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit/audittest"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/lifecycle"
	"keepsake/internal/store"
)

func testVersion(t *testing.T, setup setup) {
	t.Run("VersionsComeBackAsTheyWere", func(t *testing.T) {
		s := setup(t)
		want := []lifecycle.Version{
			{
				Number: 1, Since: epoch, AnnouncedAt: after(time.Hour), SunsetAt: after(2 * time.Hour), RetiredAt: after(3 * time.Hour),
				GuideURL: "https://example.org/guide", Backdated: true, Revision: 2, DatedAt: after(time.Minute),
			},
			{Number: 2, Since: epoch, Revision: 1},
		}
		noError(t, s.Versions.KeepVersion(t.Context(), &want[1]))
		noError(t, s.Versions.KeepVersion(t.Context(), &want[0]))
		wantVersions(t, s, want)

		changed := want[1]
		changed.AnnouncedAt, changed.SunsetAt, changed.Revision = epoch, after(time.Hour), 2
		noError(t, s.Versions.KeepVersion(t.Context(), &changed))
		wantVersions(t, s, []lifecycle.Version{want[0], changed})
	})

	t.Run("AVersionIsChangedFromTheRevisionThatWasRead", func(t *testing.T) {
		s := setup(t)
		v := lifecycle.Version{Number: 2, Since: epoch, Revision: 1}
		noError(t, s.Versions.KeepVersion(t.Context(), &v))
		for _, revision := range []int64{1, 3} {
			stale := v
			stale.Revision = revision
			wantProblem(t, s.Versions.KeepVersion(t.Context(), &stale), problem.Mismatch, problem.CodeRevisionMismatch)
		}
		wantVersions(t, s, []lifecycle.Version{v})
	})

	t.Run("ARehearsalTakesThePlaceOfItsKeysOlderOne", func(t *testing.T) {
		s := setup(t)
		keep := func(key string, until, now time.Time) {
			t.Helper()
			noError(t, s.Versions.KeepRehearsal(t.Context(), &lifecycle.Rehearsal{Version: 1, KeyID: key, WorkspaceID: "wsp_a", Until: until}, now))
		}
		keep("key_a", after(time.Hour), epoch)
		keep("key_b", after(time.Minute), epoch)
		keep("key_a", after(2*time.Hour), epoch)
		wantRehearsals(t, s, map[string]time.Time{"key_a": after(2 * time.Hour), "key_b": after(time.Minute)})
		keep("key_c", after(time.Hour), after(time.Minute)) // key_b's has ended
		wantRehearsals(t, s, map[string]time.Time{"key_a": after(2 * time.Hour), "key_c": after(time.Hour)})
	})

	t.Run("AVersionComesBackWithItsChecksAndItsLastNotice", func(t *testing.T) {
		s := setup(t)
		v := lifecycle.Version{Number: 1, Since: epoch, AnnouncedAt: epoch, SunsetAt: after(time.Hour), Revision: 1}
		noError(t, s.Versions.KeepVersion(t.Context(), &v))
		check := lifecycle.Check{
			Version: 1, SunsetAt: v.SunsetAt, At: after(time.Minute), Verdict: lifecycle.Extended, NewSunsetAt: after(2 * time.Hour),
			Traffic:    lifecycle.Traffic{From: epoch, Days: 14, Requests: 1, AllRequests: 2, Keys: 3, ActiveKeys: 4},
			Thresholds: lifecycle.Thresholds{Days: 5, Percent: 6, Keys: 7, KeysPercent: 8, KeyRequests: 9, KeyDays: 10},
		}
		wantAdded(t, true)(s.Versions.AddCheck(t.Context(), &check))
		again := check
		again.Verdict = lifecycle.Kept
		wantAdded(t, false)(s.Versions.AddCheck(t.Context(), &again)) // of the same version and date
		for _, days := range []int{30, 14, 30} {
			wantAdded(t, days == 14 || v.NoticeDays == 0)(s.Versions.AddNotice(t.Context(), 1, v.SunsetAt, days, after(time.Minute)))
			v.NoticeDays = days
		}
		v.Checks, v.Checked, v.NoticeDays = []lifecycle.Check{check}, true, 14
		wantVersions(t, s, []lifecycle.Version{v})

		moved := v
		moved.SunsetAt, moved.Revision = check.NewSunsetAt, 2
		noError(t, s.Versions.KeepVersion(t.Context(), &moved))
		moved.Checked, moved.NoticeDays = false, 0 // both were about the old date
		wantVersions(t, s, []lifecycle.Version{moved})
	})

	t.Run("ATransitionIsRecordedOnce", func(t *testing.T) {
		s := setup(t)
		first := lifecycle.Transition{Version: 1, State: lifecycle.Deprecated, At: epoch}
		next := lifecycle.Transition{Version: 1, State: lifecycle.Sunset, At: after(time.Hour)}
		var all sync.WaitGroup
		var added atomic.Int32
		for range 4 {
			all.Go(func() {
				ok, err := s.Versions.AddTransition(t.Context(), first, after(time.Minute))
				if err != nil {
					t.Error(err)
				}
				if ok {
					added.Add(1)
				}
			})
		}
		all.Wait()
		if added.Load() != 1 {
			t.Errorf("it was added %d times", added.Load())
		}
		wantAdded(t, true)(s.Versions.AddTransition(t.Context(), next, after(time.Hour)))
		got, err := s.Versions.Transitions(t.Context())
		if diff := cmp.Diff([]lifecycle.Transition{first, next}, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})

	t.Run("ProcessesThatCheckAtOnceExtendASunsetOnce", func(t *testing.T) {
		s := setup(t)
		now := epoch
		newService := func() *lifecycle.Service {
			registry, err := lifecycle.New(lifecycle.First())
			noError(t, err)
			service := lifecycle.NewService(lifecycle.Options{
				Store: s.Versions, History: s.Versions, Units: s, Registry: registry, Audit: &audittest.Recorder{}, Events: event.Discard{}, Newest: 2,
				Thresholds: lifecycle.Thresholds{Days: 14, Percent: 1, Keys: 5, KeysPercent: 2, KeyRequests: 10, KeyDays: 3},
				EachUse: func(_ context.Context, from, _ time.Time, fn func(lifecycle.Use)) error {
					fn(lifecycle.Use{At: from, KeyID: "key_a", Version: 1, Route: "/api/v1/search", Requests: 1})
					return nil
				},
				Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
				Callers: lifecycle.NewCallers(nil, func() time.Time { return now }, slog.New(slog.DiscardHandler)),
			})
			noError(t, service.Load(t.Context()))
			return service
		}
		_, err := newService().Release(t.Context(), &auth.Principal{Kind: auth.Local}, lifecycle.Release{Number: 2})
		noError(t, err)
		released, err := s.Versions.Versions(t.Context())
		noError(t, err)
		now = released[0].CheckAt()
		services := []*lifecycle.Service{newService(), newService(), newService(), newService()}
		var all sync.WaitGroup
		for _, service := range services {
			all.Go(func() {
				if err := service.Advance(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		list, err := s.Versions.Versions(t.Context())
		noError(t, err)
		want := lifecycle.AddMonths(released[0].SunsetAt, 3)
		if v := list[0]; len(v.Checks) != 1 || !v.SunsetAt.Equal(want) || v.Revision != released[0].Revision+1 {
			t.Errorf("after four checks: %+v, want the sunset at %s", v, want)
		}
		for i, service := range services {
			if v := service.Registry.Snapshot().Version(1); !v.SunsetAt.Equal(want) {
				t.Errorf("process %d knows the sunset %s", i, v.SunsetAt)
			}
		}
	})

	t.Run("TheLatestDaysOfServiceAreKept", func(t *testing.T) {
		s := setup(t)
		day := func(n int) time.Time { return epoch.Truncate(24*time.Hour).AddDate(0, 0, n) }
		for _, n := range []int{3, 1, 2, 2} {
			noError(t, s.Versions.AddServiceDay(t.Context(), day(n)))
		}
		wantDays := func(max int, want ...time.Time) {
			t.Helper()
			got, err := s.Versions.ServiceDays(t.Context(), max)
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		}
		wantDays(2, day(3), day(2))
		for n := range lifecycle.MaxDays {
			noError(t, s.Versions.AddServiceDay(t.Context(), day(100+n)))
		}
		got, err := s.Versions.ServiceDays(t.Context(), 1000)
		if err != nil || len(got) != lifecycle.MaxDays || !got[0].Equal(day(99+lifecycle.MaxDays)) {
			t.Errorf("%d days are kept: %v, %v", len(got), got, err)
		}
	})

	t.Run("AKeysWorkspaceIsFound", func(t *testing.T) {
		s := setup(t)
		newWorkspace(t, s, "wsp_a")
		noError(t, s.APIKeys.CreateAPIKey(t.Context(), newKey("key_a", "wsp_a", 1), nil))
		got, err := s.Versions.WorkspaceOfAPIKey(t.Context(), "key_a")
		if err != nil || got != "wsp_a" {
			t.Errorf("got %q, %v", got, err)
		}
		_, err = s.Versions.WorkspaceOfAPIKey(t.Context(), "key_b")
		wantProblem(t, err, problem.NotFound, problem.CodeNotFound)
	})
}

// wantAdded returns a check of what an Add method returns.
func wantAdded(t *testing.T, want bool) func(added bool, err error) {
	return func(added bool, err error) {
		t.Helper()
		if err != nil || added != want {
			t.Errorf("added is %v, %v, want %v", added, err, want)
		}
	}
}

func wantVersions(t *testing.T, s *store.Store, want []lifecycle.Version) {
	t.Helper()
	got, err := s.Versions.Versions(context.WithoutCancel(t.Context()))
	noError(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
}

func wantRehearsals(t *testing.T, s *store.Store, want map[string]time.Time) {
	t.Helper()
	list, err := s.Versions.Rehearsals(t.Context())
	noError(t, err)
	got := map[string]time.Time{}
	for _, r := range list {
		got[r.KeyID] = r.Until
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rehearsals (-want +got):\n%s", diff)
	}
}
