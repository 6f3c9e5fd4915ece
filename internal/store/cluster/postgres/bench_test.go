package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/govern/account"
	"keepsake/internal/store"
	"keepsake/internal/store/cluster"
	"keepsake/internal/store/cluster/postgres"
	engine "keepsake/internal/store/postgres"
	"keepsake/internal/testing/enginetest"
)

// BenchmarkWriteEvent is a write with an event, by eight writers that share the head.
func BenchmarkWriteEvent(b *testing.B) {
	e, err := engine.Open(b.Context(), engine.Options{URL: enginetest.Postgres(b), Connections: 8})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	s := store.New(e)
	var n atomic.Int64
	b.SetParallelism(4)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprint("wsp_", n.Add(1))
			w := &account.Workspace{ID: id, Name: id, Tier: "free", CreatedAt: time.Now(), Revision: 1}
			if err := s.Accounts.CreateWorkspace(context.Background(), w); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkPoll is a poll without new events, which every member does four times a second.
func BenchmarkPoll(b *testing.B) {
	e, err := engine.Open(b.Context(), engine.Options{URL: enginetest.Postgres(b)})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	board := postgres.NewEventReader(e.Connect)
	defer board.Close()
	r := cluster.NewReader(cluster.ReaderOptions{Source: board, MaxStaleness: time.Second, Log: slog.New(slog.DiscardHandler)})
	if err := r.Begin(b.Context()); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := r.Poll(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
