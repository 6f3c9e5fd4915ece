package memory

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

func TestExpiredMemoriesAreErasedMoreOftenThanTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &Sweeper{now: time.Now, log: slog.New(slog.DiscardHandler)}
		var sweeps, expiries int
		go s.schedule(ctx, func(context.Context, time.Time) error { sweeps++; return errors.New("the database is away") },
			func(context.Context) error { expiries++; return nil })
		time.Sleep(2*time.Minute + time.Second)
		synctest.Wait()
		if sweeps != 3 || expiries != 8 {
			t.Errorf("in two minutes there were %d sweeps, want 3, and %d looks for expired memories, want 8", sweeps, expiries)
		}
		cancel()
		synctest.Wait()
	})
}
