package apikey_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/limit"
	"keepsake/internal/govern/usage"
)

func TestLastUseIsShownBeforeAndAfterAFlush(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.newKey(t, apikey.Draft{})
	live, err := b.Directory.Authenticate(t.Context(), k.Text, b.now())
	if err != nil {
		t.Fatal(err)
	}
	used := b.now().Add(1500 * time.Millisecond)
	live.Touch(used)
	for _, when := range []string{"before the flush", "after the flush"} {
		read, err := b.APIKey(t.Context(), b.manager(auth.All), k.ID)
		if err != nil {
			t.Fatal(err)
		}
		at := read.LiveSecrets[0].LastUsedAt
		if at == nil || used.Sub(*at) >= time.Second || at.After(used) || read.LastUsedAt == nil || !read.LastUsedAt.Equal(*at) {
			t.Errorf("%s the last use is %v, want %v to the second", when, at, used)
		}
		if err := b.recorder.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	again := apikey.NewDirectory(b.store.APIKeys, b.Hasher, b.Accounts, usage.NewRecorder(b.counters, b.now, nil), b.now)
	if err := again.Load(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	b.set(func(o *apikey.Options) { o.Directory = again })
	read, err := b.APIKey(t.Context(), b.manager(auth.All), k.ID)
	if err != nil || read.LastUsedAt == nil {
		t.Errorf("after a restart the last use is %v, %v", read.LastUsedAt, err)
	}
}

func TestReadingLimitsChargesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	perMinute, daily := int64(10), int64(100)
	k := b.newKey(t, apikey.Draft{RequestsPerMinute: &perMinute, Quota: apikey.Quota{Daily: &daily}})
	live, err := b.Directory.Authenticate(t.Context(), k.Text, b.now())
	if err != nil {
		t.Fatal(err)
	}
	limit.Local{}.Charge(b.now(), 3, live.Workspace.Account(), live.Account)
	for range 2 {
		l, err := b.Limits(t.Context(), b.manager(auth.All), k.ID)
		if err != nil {
			t.Fatal(err)
		}
		if m := l.OfKey.Minute; m.Limit != 10 || m.Remaining != 7 || !m.ResetsAt.After(b.now()) || m.ResetsAt.Sub(b.now()) > time.Minute {
			t.Errorf("the key's minute is %+v", m)
		}
		if d := l.OfKey.Daily; d == nil || d.Limit != 100 || d.Remaining != 97 || !d.ResetsAt.Equal(noon.Add(12*time.Hour)) {
			t.Errorf("the key's day is %+v", d)
		}
		if l.OfKey.Monthly != nil {
			t.Errorf("a key without a monthly quota has %+v", l.OfKey.Monthly)
		}
		w := l.OfWorkspace
		if w.Minute.Limit != 60 || w.Minute.Remaining != 57 || w.Daily.Remaining != 4997 || w.Monthly.Remaining != 99_997 {
			t.Errorf("the workspace has %+v", w)
		}
		if want := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC); !w.Monthly.ResetsAt.Equal(want) {
			t.Errorf("the month resets at %s, want %s", w.Monthly.ResetsAt, want)
		}
	}
}

func TestUsageHasAPointForEveryStep(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.pass(10 * time.Minute)
	k := b.newKey(t, apikey.Draft{})
	live, err := b.Directory.Authenticate(t.Context(), k.Text, b.now())
	if err != nil {
		t.Fatal(err)
	}
	route := b.recorder.Route("GET", "/api/v1/health")
	for _, status := range []uint16{200, 200, 404, 429, 500} {
		e := usage.Event{Owner: live.Usage, Route: route, Version: 1, Status: status, At: b.now()}
		if status < 429 {
			e.Charged = 1
		}
		b.recorder.Record(e)
	}
	if err := b.recorder.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		window, step time.Duration
		steps        int
		first        time.Time
	}{
		{time.Hour, time.Minute, 60, noon.Add(-49 * time.Minute)},
		{24 * time.Hour, time.Hour, 24, noon.Add(-23 * time.Hour)},
		{30 * 24 * time.Hour, 24 * time.Hour, 30, time.Date(2026, 10, 23, 0, 0, 0, 0, time.UTC)},
	} {
		u, err := b.Usage(t.Context(), b.manager(auth.All), k.ID, c.window, c.step)
		if err != nil {
			t.Fatal(err)
		}
		if len(u.Points) != c.steps || !u.Points[0].At.Equal(c.first) || !u.From.Equal(c.first) || !u.To.Equal(b.now()) {
			t.Errorf("%s in steps of %s are %d from %s, want %d from %s", c.window, c.step, len(u.Points), u.From, c.steps, c.first)
		}
		for i, p := range u.Points {
			want := usage.Point{At: c.first.Add(time.Duration(i) * c.step)}
			if i == c.steps-1 {
				want.Requests, want.Errors, want.Throttled, want.Charged = 5, 2, 1, 3
			}
			if !p.At.Equal(want.At) || p.Requests != want.Requests || p.Errors != want.Errors || p.Throttled != want.Throttled || p.Charged != want.Charged {
				t.Errorf("%s in steps of %s: point %d is %+v, want %+v", c.window, c.step, i, p, want)
			}
		}
	}
}

// brokenUses cannot read last uses.
type brokenUses struct{ apikey.UsageStore }

func (brokenUses) LastUses(context.Context, []string) ([]usage.LastUse, error) {
	return nil, errors.New("the usage database is away")
}

func TestChangeSucceedsWithoutLastUses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, p := t.Context(), b.manager(auth.All)
	created, other := b.newKey(t, apikey.Draft{}), b.newKey(t, apikey.Draft{})
	b.set(func(o *apikey.Options) { o.Uses = brokenUses{b.counters} })
	rotated, err := b.Rotate(ctx, p, created.ID, nil, apikey.Rotation{}) // without grace: the old secret ends
	if err != nil {
		t.Fatalf("rotate: %v", err)
	}
	if got := b.codeWith(t, rotated.Text); got != "" {
		t.Errorf("the new secret answers %q", got)
	}
	name := "renamed"
	if k, err := b.Change(ctx, p, created.ID, nil, apikey.Change{Name: &name}); err != nil || k.Name != name {
		t.Errorf("change: %+v, %v", k, err)
	}
	if k, err := b.CompleteRotation(ctx, p, created.ID, nil); err != nil || k.State != apikey.Active {
		t.Errorf("complete: %+v, %v", k, err)
	}
	if k, err := b.Revoke(ctx, p, created.ID, nil, ""); err != nil || k.State != apikey.Revoked {
		t.Errorf("revoke: %+v, %v", k, err)
	}
	b.set(func(o *apikey.Options) { o.Units = fullDisk{} })
	if k, err := b.Revoke(ctx, p, other.ID, nil, ""); err != nil || !k.Pending {
		t.Errorf("revoke on a full disk: %+v, %v", k, err)
	}
	if k, err := b.APIKey(ctx, p, created.ID); err == nil {
		t.Errorf("reading a key without its last uses succeeds: %+v", k)
	}
}

// looseSeries returns a point between two steps.
type looseSeries struct{ apikey.UsageStore }

func (looseSeries) KeySeries(_ context.Context, _, _ string, from, _ time.Time, step time.Duration) ([]usage.Point, error) {
	return []usage.Point{{At: from.Add(step / 2), Requests: 1}, {At: from.Add(step), Requests: 2}, {At: from.Add(3 * step), Requests: 3}}, nil
}

func TestPointBetweenStepsHidesNoOther(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := b.newKey(t, apikey.Draft{})
	b.set(func(o *apikey.Options) { o.Uses = looseSeries{b.counters} })
	u, err := b.Usage(t.Context(), b.manager(auth.All), k.ID, 5*time.Minute, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int64{0, 2, 0, 3, 0} {
		if got := u.Points[i].Requests; got != want {
			t.Errorf("step %d has %d requests, want %d", i, got, want)
		}
	}
}
