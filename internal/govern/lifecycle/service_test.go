package lifecycle_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"keepsake/internal/base/problem"
	"keepsake/internal/govern/audit/audittest"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/event"
	"keepsake/internal/govern/lifecycle"
)

// cupboard is a Store and a History in memory whose units always commit. What follows from a unit that does not is the engines'
// test.
type cupboard struct {
	versions    []lifecycle.Version
	rehearsals  []lifecycle.Rehearsal
	checks      []lifecycle.Check
	transitions []lifecycle.Transition
	notices     []notice
	days        []time.Time // the latest first
	callers     []lifecycle.Caller
	uses        []lifecycle.Use
	events      []event.Event
}

type notice struct {
	version  int
	sunsetAt time.Time
	days     int
}

func (c *cupboard) Run(ctx context.Context, fn func(ctx context.Context) error) error { return fn(ctx) }

func (c *cupboard) Versions(context.Context) ([]lifecycle.Version, error) {
	list := slices.Clone(c.versions)
	for i := range list {
		v := &list[i]
		v.Checks, v.Checked, v.NoticeDays = nil, false, 0
		for _, check := range c.checks {
			if check.Version == v.Number {
				v.Checks = append(v.Checks, check)
				v.Checked = v.Checked || check.SunsetAt.Equal(v.SunsetAt)
			}
		}
		for _, n := range c.notices {
			if n.version == v.Number && n.sunsetAt.Equal(v.SunsetAt) && (v.NoticeDays == 0 || n.days < v.NoticeDays) {
				v.NoticeDays = n.days
			}
		}
	}
	return list, nil
}

func (c *cupboard) AddCheck(_ context.Context, check *lifecycle.Check) (bool, error) {
	for _, known := range c.checks {
		if known.Version == check.Version && known.SunsetAt.Equal(check.SunsetAt) {
			return false, nil
		}
	}
	c.checks = append(c.checks, *check)
	return true, nil
}

func (c *cupboard) AddTransition(_ context.Context, t lifecycle.Transition, _ time.Time) (bool, error) {
	for _, known := range c.transitions {
		if known.Version == t.Version && known.State == t.State {
			return false, nil
		}
	}
	c.transitions = append(c.transitions, t)
	return true, nil
}

func (c *cupboard) Transitions(context.Context) ([]lifecycle.Transition, error) {
	return slices.Clone(c.transitions), nil
}

func (c *cupboard) AddNotice(_ context.Context, version int, sunsetAt time.Time, days int, _ time.Time) (bool, error) {
	n := notice{version, sunsetAt, days}
	if slices.Contains(c.notices, n) {
		return false, nil
	}
	c.notices = append(c.notices, n)
	return true, nil
}

func (c *cupboard) AddServiceDay(_ context.Context, day time.Time) error {
	if !slices.ContainsFunc(c.days, day.Equal) {
		c.days = append(c.days, day)
		slices.SortFunc(c.days, func(a, b time.Time) int { return b.Compare(a) })
	}
	return nil
}

func (c *cupboard) ServiceDays(_ context.Context, max int) ([]time.Time, error) {
	return slices.Clone(c.days[:min(max, len(c.days))]), nil
}

func (c *cupboard) eachUse(_ context.Context, from, to time.Time, fn func(lifecycle.Use)) error {
	for _, u := range c.uses {
		if !u.At.Before(from) && u.At.Before(to) {
			fn(u)
		}
	}
	return nil
}

// AddCallers and the methods below make it a CallerStore.
func (c *cupboard) AddCallers(context.Context, []lifecycle.Caller, int) error { return nil }

func (c *cupboard) Callers(_ context.Context, q lifecycle.CallerQuery) ([]lifecycle.Caller, error) {
	var list []lifecycle.Caller
	for _, caller := range c.callers {
		if caller.Version == q.Version && !caller.LastAt.Before(q.From) {
			list = append(list, caller)
		}
	}
	return list, nil
}

func (c *cupboard) PruneCallers(context.Context, time.Time) error { return nil }

// Record makes it an event.Recorder.
func (c *cupboard) Record(_ context.Context, e event.Event) error {
	c.events = append(c.events, e)
	return nil
}

func (c *cupboard) KeepVersion(_ context.Context, v *lifecycle.Version) error {
	for i := range c.versions {
		if c.versions[i].Number == v.Number {
			c.versions[i] = *v
			return nil
		}
	}
	c.versions = append(c.versions, *v)
	slices.SortFunc(c.versions, func(a, b lifecycle.Version) int { return a.Number - b.Number })
	return nil
}

func (c *cupboard) Rehearsals(context.Context) ([]lifecycle.Rehearsal, error) {
	return slices.Clone(c.rehearsals), nil
}

func (c *cupboard) KeepRehearsal(_ context.Context, r *lifecycle.Rehearsal, _ time.Time) error {
	c.rehearsals = append(c.rehearsals, *r)
	return nil
}

func (c *cupboard) WorkspaceOfAPIKey(context.Context, string) (string, error) {
	return "", problem.Missing()
}

func newService(t interface{ Fatal(...any) }, c *cupboard, now func() time.Time, backdating bool) *lifecycle.Service {
	registry, err := lifecycle.New(lifecycle.First())
	if err != nil {
		t.Fatal(err)
	}
	s := lifecycle.NewService(lifecycle.Options{
		Store: c, History: c, Units: c, Registry: registry, Audit: &audittest.Recorder{}, Events: c, Newest: 3, EachUse: c.eachUse,
		AllowBackdating: backdating, Thresholds: thresholds, Now: now, Log: slog.New(slog.DiscardHandler),
		Callers: lifecycle.NewCallers(c, now, slog.New(slog.DiscardHandler)),
	})
	if err := s.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	return s
}

var operator = &auth.Principal{Kind: auth.Local, WorkspaceID: "wsp_operator", Operator: true, Scopes: auth.All}

// Whatever is released, moved and retired, and however long one waits in between: clients have their notice, dates never
// come nearer, no version goes back to a state it has left, and there is always one that is served.
func TestPromisesToClientsAreKept(t *testing.T) {
	t.Parallel()
	rank := map[lifecycle.State]int{lifecycle.Active: 0, lifecycle.Deprecated: 1, lifecycle.Sunset: 2, lifecycle.Retired: 3}
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		now := date("2026-11-21")
		c := &cupboard{}
		s := newService(t, c, func() time.Time { return now }, false)
		before := map[int]lifecycle.Version{}
		reached := map[int]int{}
		day := func(name string, from, to int) time.Time {
			return now.AddDate(0, 0, rapid.IntRange(from, to).Draw(t, name))
		}
		refused := func(err error) bool {
			if p, ok := problem.As(err); err != nil && (!ok || p.Kind != problem.Invalid && p.Kind != problem.Conflict && p.Kind != problem.NotFound) {
				t.Fatalf("refused as %v", err)
			}
			return err != nil
		}
		number := func() int { return rapid.IntRange(1, 4).Draw(t, "number") }
		t.Repeat(map[string]func(*rapid.T){
			"release": func(t *rapid.T) {
				r := lifecycle.Release{Number: number()}
				if rapid.Bool().Draw(t, "announced") {
					at := day("announcedAt", -400, 100)
					r.AnnouncedAt = &at
				}
				if rapid.Bool().Draw(t, "sunset") {
					at := day("sunsetAt", -400, 600)
					r.SunsetAt = &at
				}
				current := s.Registry.Snapshot().Current().Number
				if _, err := s.Release(ctx, operator, r); refused(err) {
					return
				}
				if r.Number != current+1 || r.Number > s.Newest {
					t.Fatalf("version %d was released after %d", r.Number, current)
				}
				ended := s.Registry.Snapshot().Version(current)
				if ended.SunsetAt.Before(lifecycle.AddMonths(now, 6)) || ended.SunsetAt.Before(lifecycle.AddMonths(ended.AnnouncedAt, 6)) {
					t.Fatalf("version %d, announced %s, is sunset %s, now is %s", current, ended.AnnouncedAt, ended.SunsetAt, now)
				}
			},
			"move": func(t *rapid.T) {
				at := day("to", -100, 900)
				_, err := s.ChangeEnd(ctx, operator, number(), nil, lifecycle.EndChange{SunsetAt: &at})
				refused(err)
			},
			"retire": func(t *rapid.T) {
				_, err := s.Retire(ctx, operator, number())
				refused(err)
			},
			"wait": func(t *rapid.T) { now = day("days", 1, 200) }, // and the service does not run
			"run": func(t *rapid.T) {
				for range rapid.IntRange(1, 15).Draw(t, "days of service") {
					now = now.AddDate(0, 0, rapid.IntRange(1, 3).Draw(t, "days later"))
					if rapid.Bool().Draw(t, "traffic") {
						c.uses = append(c.uses, lifecycle.Use{At: now, Version: number(), Route: "/api/v1/search", Requests: 10})
					}
					if err := s.Advance(ctx); err != nil {
						t.Fatal(err)
					}
				}
			},
			"": func(t *rapid.T) {
				snapshot := s.Registry.Snapshot()
				for _, v := range snapshot.All() {
					if old, ok := before[v.Number]; ok && !old.SunsetAt.IsZero() && v.SunsetAt.Before(old.SunsetAt) {
						t.Fatalf("the sunset of version %d came nearer: %s, then %s", v.Number, old.SunsetAt, v.SunsetAt)
					}
					state := v.At(now)
					if rank[state] < reached[v.Number] {
						t.Fatalf("version %d went back to %s", v.Number, state)
					}
					if state == lifecycle.Sunset && !v.Checked {
						t.Fatalf("version %d is sunset without a check", v.Number)
					}
					if v.Live(now) != (state == lifecycle.Active || state == lifecycle.Deprecated) {
						t.Fatalf("version %d is %s and live is %v", v.Number, state, v.Live(now))
					}
					before[v.Number], reached[v.Number] = v, rank[state]
				}
				if !snapshot.Current().Live(now) {
					t.Fatal("no version is served")
				}
				for _, check := range c.checks {
					if check.NewSunsetAt.Before(check.SunsetAt) || check.At.Before(check.SunsetAt.Add(-30*24*time.Hour)) {
						t.Fatalf("check %+v", check)
					}
					if v := snapshot.Version(check.Version); v.SunsetAt.Before(check.NewSunsetAt) {
						t.Fatalf("version %d is sunset %s, before the date of the check %+v", v.Number, v.SunsetAt, check)
					}
				}
				again := newService(t, c, s.Now, false)
				if diff := cmp.Diff(snapshot.All(), again.Registry.Snapshot().All()); diff != "" {
					t.Fatalf("after a restart (-before +after):\n%s", diff)
				}
			},
		})
	})
}

func TestBackdatingIsRecordedWhereItWasMadeUseOf(t *testing.T) {
	t.Parallel()
	now := date("2026-11-21")
	for _, c := range []struct {
		announced, sunset string
		backdated         bool
	}{
		{"2026-01-01", "2026-11-30", true},
		{"2026-01-01", "2027-05-21", false}, // notice enough as it is
	} {
		s := newService(t, &cupboard{}, func() time.Time { return now }, true)
		announced, sunset := date(c.announced), date(c.sunset)
		if _, err := s.Release(t.Context(), operator, lifecycle.Release{Number: 2, AnnouncedAt: &announced, SunsetAt: &sunset}); err != nil {
			t.Fatal(err)
		}
		if got := s.Registry.Snapshot().Version(1).Backdated; got != c.backdated {
			t.Errorf("announced %s for %s: backdated is %v, want %v", c.announced, c.sunset, got, c.backdated)
		}
	}
}

func TestAVersionThatCannotBeServedIsNotPrepared(t *testing.T) {
	t.Parallel()
	s := newService(t, &cupboard{}, func() time.Time { return date("2026-11-21") }, false)
	broken := errors.New("two operations clash")
	var asked []int
	s.Registry.Prepare(func(number int) error {
		asked = append(asked, number)
		return broken
	})
	if err := s.Prepare(2); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	for _, number := range []int{1, 3, 99} { // whatever is not next
		if err := s.Prepare(number); err != nil {
			t.Errorf("version %d: got %v", number, err)
		}
	}
	if !slices.Equal(asked, []int{2}) {
		t.Errorf("made ready: %v, want only the next version", asked)
	}
}
