package audit_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"keepsake/internal/govern/audit"
)

// BenchmarkRecord is one row on stable storage for each of 64 writers at a time, as when each request writes one. The
// unit without a row is what the commit alone costs.
func BenchmarkRecord(b *testing.B) {
	for _, test := range []struct {
		name string
		fn   func(ctx context.Context, l *bundle) error
	}{
		{"row", func(ctx context.Context, l *bundle) error {
			return l.Record(ctx, audit.Entry{
				Action: "memory.recalled", WorkspaceID: "wsp_01kakakakafkhvayayayayayay", Actor: "key_01kakakakafkhvayayayayayay",
				Target: "subject:2sNq0pVbRkqYw1m3tq1yZg", Count: 10, RequestID: "req_01kakakakafkhvayayayayayay",
			})
		}},
		{"statement", func(ctx context.Context, l *bundle) error {
			return l.store.Run(ctx, func(ctx context.Context) error {
				_, err := l.engine.Main().In(ctx).Exec(ctx, "UPDATE probe SET filler = zeroblob(256) WHERE id = 1")
				return err
			})
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			l := setup(b)
			const writers = 64
			var mu sync.Mutex
			var took []time.Duration
			var all sync.WaitGroup
			b.ResetTimer()
			for w := range writers {
				all.Go(func() {
					var own []time.Duration
					for range (b.N + w) / writers {
						began := time.Now()
						if err := test.fn(b.Context(), l); err != nil {
							b.Error(err)
							return
						}
						own = append(own, time.Since(began))
					}
					mu.Lock()
					defer mu.Unlock()
					took = append(took, own...)
				})
			}
			all.Wait()
			b.StopTimer()
			slices.Sort(took)
			b.ReportMetric(float64(len(took))/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
		})
	}
}

// BenchmarkVerify is the reading of a log of 20,000 rows.
func BenchmarkVerify(b *testing.B) {
	l := setup(b)
	const rows = 20_000
	err := l.store.Run(b.Context(), func(ctx context.Context) error {
		for range rows {
			if err := l.Record(ctx, audit.Entry{Action: audit.KeyChanged, Actor: "local", Target: "key_01kakakakafkhvayayayayayay"}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if v := l.verify(b); v.Break() != nil || v.Rows != rows {
			b.Fatalf("%+v", v)
		}
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
