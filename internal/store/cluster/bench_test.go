package cluster_test

import (
	"log/slog"
	"testing"
	"time"

	"keepsake/internal/store/cluster"
)

// BenchmarkCurrent is the check in every request with a credential.
func BenchmarkCurrent(b *testing.B) {
	r := cluster.NewReader(cluster.ReaderOptions{
		Source: newBoard(), MaxStaleness: 10 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err := r.Begin(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !r.Current() {
			b.Fatal("not current")
		}
	}
}
