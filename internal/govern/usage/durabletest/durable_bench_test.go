//go:build unix

package durabletest

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/govern/usage"
	"keepsake/internal/store"
	"keepsake/internal/testing/enginetest"
)

// BenchmarkFlushToDisk is the flush of a busy second with many combinations of key and route, most of them counted before in
// the same minute.
func BenchmarkFlushToDisk(b *testing.B) {
	for _, c := range engines(b) {
		for _, n := range []struct{ cells, routes int }{{10, 10}, {2_000, 20}, {2_000, 1}, {5_000, 20}} {
			b.Run(fmt.Sprintf("%s/Cells=%d/Keys=%d", c.engine, n.cells, n.cells/n.routes), func(b *testing.B) {
				benchmarkFlush(b, c.open, n.cells, n.routes)
			})
		}
	}
}

type engine struct {
	engine string
	open   opener
}

func engines(b *testing.B) []engine {
	return []engine{{"SQLite", onSQLite(b.TempDir())}, {"PostgreSQL", onPostgres(durable(b))}}
}

// durable is a database on a server that syncs its disk at each commit.
func durable(b *testing.B) string {
	return enginetest.StartPostgres(b, enginetest.PostgresOptions{Fsync: true}).Database(b)
}

// benchmarkFlush flushes as each second of a minute does. A new minute begins after 60 flushes.
func benchmarkFlush(b *testing.B, open opener, cells, routes int) {
	s, end := open(b)
	defer end()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	second := newSecond(s.Counters, cells, routes)
	random := rand.New(rand.NewPCG(1, 1))
	n := 0
	var cpu time.Duration
	for b.Loop() {
		b.StopTimer()
		second.now = at.Add(time.Duration(n) * time.Second)
		second.record(second.now, random)
		n++
		before := cpuTime(b)
		b.StartTimer()
		if err := second.recorder.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
		cpu += cpuTime(b) - before
	}
	var bytes, rows int64
	err := s.Counters.EachCell(b.Context(), usage.CellQuery{From: at, To: at.Add(24 * time.Hour), Step: time.Minute}, func(c *usage.Cell) error {
		bytes, rows = bytes+int64(len(c.Latency.AppendJSON(nil))), rows+1
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(bytes)/float64(rows), "bytes/histogram")
	b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}

// second records a second's requests of many series, some routes of each key: ten requests of each, with durations around a
// millisecond.
type second struct {
	recorder *usage.Recorder
	owners   []usage.Owner
	routes   []usage.Route
	now      time.Time // of the recorder
}

// cpuTime is what this process has used so far. On a busy machine it says more than the time.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func newSecond(s usage.Store, series, routes int) *second {
	c := &second{}
	r := usage.NewRecorder(s, func() time.Time { return c.now }, slog.New(slog.DiscardHandler))
	c.recorder = r
	for i := range min(series, routes) {
		c.routes = append(c.routes, r.Route("GET", fmt.Sprintf("/api/v1/resource/%d/{id}", i)))
	}
	for i := range (series + routes - 1) / routes {
		c.owners = append(c.owners, r.Owner(workspace, fmt.Sprintf("key_%026d", i)))
	}
	return c
}

func (c *second) record(at time.Time, random *rand.Rand) {
	for _, o := range c.owners {
		for _, route := range c.routes {
			for range 10 {
				c.recorder.Record(usage.Event{Owner: o, Route: route, Status: 200, At: at, Charged: 1, Took: took(random)})
			}
		}
	}
}

func took(random *rand.Rand) time.Duration {
	return time.Duration(float64(time.Millisecond) * math.Exp(random.NormFloat64()/2))
}

// BenchmarkWritesDuringFlushes is the p99 of a client's writes, without flushes and with one of 2,000 series each second.
func BenchmarkWritesDuringFlushes(b *testing.B) {
	const seconds = 15
	for _, c := range engines(b) {
		for _, series := range []int{0, 2_000} {
			b.Run(fmt.Sprintf("%s/Series=%d", c.engine, series), func(b *testing.B) {
				s, end := c.open(b)
				defer end()
				ctx, stop := context.WithTimeout(b.Context(), seconds*time.Second)
				defer stop()
				var flushing sync.WaitGroup
				if series > 0 {
					counts := newSecond(s.Counters, series, 20)
					flushing.Go(func() {
						random := rand.New(rand.NewPCG(1, 1))
						for tick := time.NewTicker(time.Second); ctx.Err() == nil; <-tick.C {
							counts.now = time.Now()
							counts.record(counts.now, random)
							if err := counts.recorder.Flush(context.WithoutCancel(ctx)); err != nil {
								b.Error(err)
							}
						}
					})
				}
				var all []time.Duration
				prefix := fmt.Sprintf("wsp_%s_%d_%d", c.engine, series, time.Now().UnixNano())
				for n := 0; ctx.Err() == nil; n++ {
					began := time.Now()
					if err := s.main.Accounts.CreateWorkspace(context.WithoutCancel(ctx), &account.Workspace{ID: fmt.Sprint(prefix, n), Name: "x", Tier: "free", CreatedAt: began, Revision: 1}); err != nil {
						b.Fatal(err)
					}
					all = append(all, time.Since(began))
				}
				flushing.Wait()
				slices.Sort(all)
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(len(all)/seconds), "writes/s")
				b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms")
				b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms")
			})
		}
	}
}

// BenchmarkReadCells reads 90 days of 100 keys with 20 routes each, all of it by day and key.
func BenchmarkReadCells(b *testing.B) {
	const keys, routes, days = 100, 20, 90
	for _, c := range engines(b) {
		s, end := c.open(b)
		defer end()
		first := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
		random := rand.New(rand.NewPCG(1, 1))
		for day := range days {
			var cells []usage.Cell
			for key := range keys {
				for route := range routes {
					cell := usage.Cell{
						Start: first.AddDate(0, 0, day), WorkspaceID: workspace, KeyID: fmt.Sprintf("key_%026d", key),
						Route: fmt.Sprintf("/api/v1/resource/%d/{id}", route), Method: "GET", Status: 200, Version: 1, Surface: "primary",
						Requests: 200, Charged: 200, BytesIn: 10_000, BytesOut: 100_000,
					}
					for range cell.Requests {
						cell.Latency.Add(took(random))
					}
					cells = append(cells, cell)
				}
			}
			if _, err := s.Counters.AddUsage(b.Context(), usage.Delta{Cells: cells}); err != nil {
				b.Fatal(err)
			}
		}
		midnight := first.Truncate(24 * time.Hour)
		if err := s.Counters.RollUpUsage(b.Context()); err != nil {
			b.Fatal(err)
		}
		for _, read := range []struct {
			name    string
			keyIDs  []string
			groupBy func(c *usage.Cell) string
			step    time.Duration
		}{
			{"OneKey", []string{fmt.Sprintf("key_%026d", 50)}, func(c *usage.Cell) string { return c.Route }, 24 * time.Hour},
			{"AllKeys", nil, func(c *usage.Cell) string { return c.KeyID }, 24 * time.Hour},
			{"AllKeysByHour", nil, func(c *usage.Cell) string { return c.KeyID }, time.Hour},
		} {
			b.Run(c.engine+"/"+read.name, func(b *testing.B) {
				q := usage.CellQuery{WorkspaceID: workspace, KeyIDs: read.keyIDs, From: midnight, To: midnight.AddDate(0, 0, days), Step: read.step}
				before := cpuTime(b)
				for b.Loop() {
					groups := map[string]*usage.Histogram{}
					var n int64
					err := s.Counters.EachCell(b.Context(), q, func(c *usage.Cell) error {
						g := groups[read.groupBy(c)]
						if g == nil {
							g = &usage.Histogram{}
							groups[read.groupBy(c)] = g
						}
						n += c.Requests
						g.Merge(&c.Latency)
						return nil
					})
					if err != nil {
						b.Fatal(err)
					}
					if want := int64(days * routes * 200 * cmp.Or(len(read.keyIDs), keys)); n != want {
						b.Fatalf("read %d requests, want %d", n, want)
					}
				}
				b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// BenchmarkRollUp rolls up ten flushes of 2,000 series, as each ten seconds do, and reports the longest transaction on the writer
// that flushes wait for.
func BenchmarkRollUp(b *testing.B) {
	const flushes = 10
	for _, c := range engines(b) {
		b.Run(c.engine, func(b *testing.B) {
			timed := &timedEngine{}
			watched = func(e store.Engine) store.Engine {
				timed.Engine = e
				return timed
			}
			defer func() { watched = nil }()
			s, end := c.open(b)
			defer end()
			start := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			counts := newSecond(s.Counters, 2_000, 20)
			random := rand.New(rand.NewPCG(1, 1))
			var longest, all []time.Duration
			for n := 0; b.Loop(); n++ {
				b.StopTimer()
				for i := range flushes {
					counts.now = start.Add(time.Duration(n*flushes+i) * time.Second)
					counts.record(counts.now, random)
					if err := counts.recorder.Flush(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				timed.runs = nil
				b.StartTimer()
				if err := s.Counters.RollUpUsage(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				slices.Sort(timed.runs)
				longest, all = append(longest, timed.runs[len(timed.runs)-1]), append(all, timed.runs...)
				b.StartTimer()
			}
			slices.Sort(all)
			b.ReportMetric(float64(slices.Max(longest).Microseconds())/1000, "max-ms/transaction")
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "p50-ms/transaction")
			b.ReportMetric(float64(all[len(all)*99/100].Microseconds())/1000, "p99-ms/transaction")
		})
	}
}

// timedEngine measures the transactions of the usage database.
type timedEngine struct {
	store.Engine
	runs []time.Duration
}

type timedDatabase struct {
	store.Database
	of *timedEngine
}

func (e *timedEngine) Usage() store.Database { return timedDatabase{e.Engine.Usage(), e} }

func (d timedDatabase) Run(ctx context.Context, fn func(ctx context.Context) error) error {
	var began time.Time
	err := d.Database.Run(ctx, func(ctx context.Context) error {
		began = time.Now() // without waiting for the writer
		return fn(ctx)
	})
	d.of.runs = append(d.of.runs, time.Since(began))
	return err
}

// BenchmarkRestore is the time that a start with 100,000 keys used this month spends on their counters.
func BenchmarkRestore(b *testing.B) {
	s, end := onSQLite(b.TempDir())(b)
	defer end()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := usage.NewRecorder(s.Counters, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	const keys = 100_000
	for i := range keys {
		r.Record(usage.Event{Owner: r.Owner(workspace, fmt.Sprintf("key_%026d", i)), Status: 200, At: now, Charged: 1})
	}
	if err := r.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		used, err := r.Restore(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if day, _ := used(workspace); day != keys {
			b.Fatalf("got %d, want %d", day, keys)
		}
	}
}
