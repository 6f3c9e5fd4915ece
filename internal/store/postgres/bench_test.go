package postgres_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"keepsake/internal/search/document"
	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
	"keepsake/internal/testing/enginetest"
)

// BenchmarkDurableWrites stores documents, each in a transaction of its own, on a server that syncs its disk: in one
// workspace, whose writers follow each other, and in one for each client.
func BenchmarkDurableWrites(b *testing.B) {
	server := enginetest.StartPostgres(b, enginetest.PostgresOptions{Fsync: true})
	for _, clients := range []int{1, 16, 64} {
		for _, workspaces := range []int{1, clients} {
			b.Run(fmt.Sprintf("clients=%d/workspaces=%d", clients, workspaces), func(b *testing.B) {
				s := store.New(open(b, postgres.Options{URL: server.Database(b)}))
				for i := range workspaces {
					if err := s.Accounts.CreateWorkspace(b.Context(), workspace(fmt.Sprintf("wsp_%d", i))); err != nil {
						b.Fatal(err)
					}
				}
				var next, client atomic.Int64
				b.SetParallelism(max(1, clients/runtime.GOMAXPROCS(0)))
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					w := fmt.Sprintf("wsp_%d", client.Add(1)%int64(workspaces))
					for pb.Next() {
						d := &document.Document{ID: fmt.Sprintf("d%d", next.Add(1)), Text: "some words", UpdatedAt: at}
						err := s.Run(b.Context(), func(ctx context.Context) error {
							_, err := s.Documents.PutDocument(ctx, w, d, document.Put{})
							return err
						})
						if err != nil {
							b.Error(err)
						}
					}
				})
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
			})
			if clients == 1 {
				break
			}
		}
	}
}
