// Package usagetest tests what domain packages rely on, on a store of usage with any engine.
package usagetest

import (
	"sync"
	"testing"
	"time"

	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
	usagestore "keepsake/internal/store/usage"
)

// Run runs the suite. open gives each case an empty engine and closes it when the case ends.
func Run(t *testing.T, open func(t *testing.T) store.Engine) {
	setup := func(t *testing.T) *usagestore.Store {
		t.Helper()
		t.Parallel()
		return usagestore.New(open(t))
	}
	t.Run("Usage", func(t *testing.T) { testUsage(t, setup, open) })
	t.Run("Report", func(t *testing.T) { testReports(t, setup) })
	t.Run("RequestLog", func(t *testing.T) { testRequestLog(t, setup) })
	t.Run("VersionCaller", func(t *testing.T) { testCallers(t, setup) })
}

type setup func(t *testing.T) *usagestore.Store

// epoch is the time at which most cases begin. Stores have a resolution of a microsecond.
var epoch = time.Date(2026, 11, 21, 10, 30, 0, 123456000, time.UTC)

func after(d time.Duration) time.Time { return epoch.Add(d) }

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// RunSideBySide tests two stores that write concurrently to one database, as two processes do. open gives each case an
// empty database with two engines. They can be the same engine if it allows only one.
func RunSideBySide(t *testing.T, open func(t *testing.T) (a, b store.Engine)) {
	t.Run("UsageIsRolledUpOnceAndFlushesAdd", func(t *testing.T) {
		t.Parallel()
		a, b := open(t)
		p := [2]*usagestore.Store{usagestore.New(a), usagestore.New(b)}
		start := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
		flush := func(s *usagestore.Store, minutes int) error {
			var cells []usage.Cell
			for m := range minutes {
				for status := range 3 {
					cells = append(cells, usage.Cell{
						Start: start.Add(time.Duration(m) * time.Minute), WorkspaceID: "wsp_a", KeyID: "key_a", Route: "/x", Method: "GET",
						Status: 200 + status, Version: 1, Surface: "primary", Requests: 1, Charged: 1,
					})
				}
			}
			_, err := s.Counters.AddUsage(t.Context(), usage.Delta{Cells: cells})
			return err
		}
		noError(t, flush(p[0], 60))
		race(t, p, 8, func(i int, s *usagestore.Store) error {
			if i < 4 {
				return flush(s, 60)
			}
			return s.Counters.RollUpUsage(t.Context())
		})
		points, err := p[0].Counters.KeySeries(t.Context(), "wsp_a", "key_a", start, start.Add(time.Hour), time.Hour)
		noError(t, err)
		if len(points) != 1 || points[0].Requests != 5*180 || points[0].Charged != 5*180 {
			t.Errorf("got %+v, want %d requests", points, 5*180)
		}
		wantQuotas(t, p[1], []string{"2026-11-20"}, map[string]int64{"2026-11-20 wsp_a": 5 * 180, "2026-11-20 key_a": 5 * 180})
	})
}

// race runs f n times concurrently, alternating between two stores, and reports its errors.
func race(t *testing.T, two [2]*usagestore.Store, n int, f func(i int, s *usagestore.Store) error) {
	t.Helper()
	ready, begin := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			ready <- struct{}{}
			<-begin
			if err := f(i, two[i%2]); err != nil {
				t.Error(err)
			}
		})
	}
	for range n {
		<-ready
	}
	close(begin)
	all.Wait()
}
