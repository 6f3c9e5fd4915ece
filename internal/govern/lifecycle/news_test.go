package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	"keepsake/internal/govern/auth"
	"keepsake/internal/govern/lifecycle"
)

func TestAVersionThatAnotherProcessReleased(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC) }
	shared := &cupboard{}
	a, b := newService(t, shared, now, false), newService(t, shared, now, false)
	var prepared []int
	fails := true
	b.Registry.Prepare(func(number int) error {
		prepared = append(prepared, number)
		if fails {
			return errors.New("no route")
		}
		return nil
	})
	if _, err := a.Release(t.Context(), &auth.Principal{Kind: auth.Local}, lifecycle.Release{Number: 2}); err != nil {
		t.Fatal(err)
	}
	if err := b.Hear(t.Context()); !errors.Is(err, lifecycle.ErrCannotServe) || b.Registry.Snapshot().Current().Number != 1 {
		t.Errorf("got %v; the current version is %d, want the one it can serve", err, b.Registry.Snapshot().Current().Number)
	}
	fails = false
	for range 2 {
		if err := b.Hear(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(prepared) != 2 || b.Registry.Snapshot().Current().Number != 2 {
		t.Errorf("prepared %v, the current version is %d", prepared, b.Registry.Snapshot().Current().Number)
	}
	if v := b.Registry.Snapshot().Version(1); v.SunsetAt.IsZero() {
		t.Error("the end of its predecessor is not known")
	}
}
