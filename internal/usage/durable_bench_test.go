package usage_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"keepsake/internal/enginetest"
	"keepsake/internal/usage"
)

// BenchmarkFlushToDisk is the flush of a busy second with many combinations of key and minute, each counted before.
func BenchmarkFlushToDisk(b *testing.B) {
	for _, c := range []struct {
		engine string
		open   opener
	}{{"SQLite", onSQLite(b.TempDir())}, {"PostgreSQL", onPostgres(durable(b))}} {
		for _, cells := range []int{10, 1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/Cells=%d", c.engine, cells), func(b *testing.B) { benchmarkFlush(b, c.open, cells) })
		}
	}
}

// durable is a database on a server that syncs its disk at each commit.
func durable(b *testing.B) string {
	return enginetest.StartPostgres(b, enginetest.PostgresOptions{Fsync: true}).Database(b)
}

func benchmarkFlush(b *testing.B, open opener, cells int) {
	s, end := open(b)
	defer end()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := usage.NewRecorder(s, time.Now, slog.New(slog.DiscardHandler))
	owners := make([]usage.Owner, cells)
	for i := range owners {
		owners[i] = r.Owner(workspace, fmt.Sprintf("key_%026d", i))
	}
	for b.Loop() {
		for _, o := range owners {
			r.Record(usage.Event{Owner: o, Status: 200, At: now, Charged: 1})
		}
		if err := r.Flush(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRestore is the time that a start with 100,000 keys used this month spends on their counters.
func BenchmarkRestore(b *testing.B) {
	s, end := onSQLite(b.TempDir())(b)
	defer end()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	r := usage.NewRecorder(s, func() time.Time { return now }, slog.New(slog.DiscardHandler))
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
