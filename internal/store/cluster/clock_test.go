package cluster_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/store/cluster"
)

func TestClockOffsetFollowsTheClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var wrong atomic.Int64
		m := cluster.NewMembers(cluster.MembersOptions{
			Table: &link{table: newTable()}, Self: cluster.Member{ID: "a", Name: "a"}, Log: slog.New(slog.DiscardHandler),
			Clock: func() time.Time { return time.Now().Add(time.Duration(wrong.Load())) },
		})
		ctx, stop := context.WithCancel(t.Context())
		if err := m.Join(ctx); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() { defer close(done); m.Run(ctx) }()
		const year = 365 * 24 * time.Hour
		for _, by := range []time.Duration{0, 5 * time.Second, 6 * time.Second, -5 * time.Second, -6 * time.Second, year, 0, -year, 0} {
			wrong.Store(int64(by))
			time.Sleep(2 * cluster.HeartbeatEvery)
			if got := m.ClockOffset(); got != by {
				t.Errorf("ahead by %s: got %s", by, got)
			}
			if !m.Settled() {
				t.Errorf("ahead by %s: the member is away", by)
			}
		}
		stop()
		<-done
	})
}
