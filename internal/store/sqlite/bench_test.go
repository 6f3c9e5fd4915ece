package sqlite

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/account"
	"keepsake/internal/apikey"
	"keepsake/internal/auth"
	"keepsake/internal/document"
	"keepsake/internal/store"
)

func benchStore(b *testing.B) (*Engine, *store.Store) {
	b.Helper()
	e, err := Open(b.Context(), Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(); err != nil {
			b.Error(err)
		}
	})
	s := store.New(e)
	w := &account.Workspace{ID: "wsp_01h00000000000000000000000", Name: "w", Tier: "unlimited", CreatedAt: time.Now(), Revision: 1}
	if err := s.CreateWorkspace(b.Context(), w); err != nil {
		b.Fatal(err)
	}
	return e, s
}

// BenchmarkDurableWrites compares, in one run, units of 64 clients that commit in groups with units that each have a
// transaction and an fsync of their own. An operation is one acknowledged write.
func BenchmarkDurableWrites(b *testing.B) {
	var alone, grouped float64
	b.Run("OneTransactionEach", func(b *testing.B) {
		e, s := benchStore(b)
		for b.Loop() {
			if err := e.main.Run(b.Context(), keep(s)); err != nil {
				b.Fatal(err)
			}
		}
		alone = float64(b.N) / b.Elapsed().Seconds()
		b.ReportMetric(alone, "writes/s")
	})
	b.Run("64Clients", func(b *testing.B) {
		_, s := benchStore(b)
		var next atomic.Int64
		b.ResetTimer()
		var clients sync.WaitGroup
		for range 64 {
			clients.Go(func() {
				for next.Add(1) <= int64(b.N) {
					if err := s.Run(b.Context(), keep(s)); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		clients.Wait()
		grouped = float64(b.N) / b.Elapsed().Seconds()
		b.ReportMetric(grouped, "writes/s")
		b.ReportMetric(grouped/alone, "×alone")
	})
}

var documentNumber atomic.Int64

// keep is a unit that writes one small document.
func keep(s *store.Store) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.PutDocument(ctx, "wsp_01h00000000000000000000000", sampleDocument(documentNumber.Add(1)), document.Put{})
		return err
	}
}

func sampleDocument(n int64) *document.Document {
	return &document.Document{
		ID: fmt.Sprintf("doc_%026d", n), Collection: "default", Title: "A title of some words",
		Text: sampleText, Tags: []string{"one"}, UpdatedAt: time.UnixMilli(1_790_000_000_000),
	}
}

var sampleText = func() string {
	text := ""
	for i := range 60 {
		text += fmt.Sprintf("word%d and ", i)
	}
	return text
}()

// BenchmarkImport writes documents as an import does, 256 in a unit. An operation is one document.
func BenchmarkImport(b *testing.B) {
	for _, clients := range []int{1, 4} {
		b.Run(fmt.Sprintf("%dClients", clients), func(b *testing.B) {
			_, s := benchStore(b)
			var next atomic.Int64
			b.ResetTimer()
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					for next.Add(256) <= int64(b.N)+256 {
						if err := s.Run(b.Context(), func(ctx context.Context) error {
							for range 256 {
								if err := keep(s)(ctx); err != nil {
									return err
								}
							}
							return nil
						}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "documents/s")
		})
	}
}

// BenchmarkEachAPIKey reads 100,000 keys, as a start does.
func BenchmarkEachAPIKey(b *testing.B) {
	_, s := benchStore(b)
	const keys = 100_000
	for n := 0; n < keys; {
		if err := s.Run(b.Context(), func(ctx context.Context) error {
			for end := n + 10_000; n < end; n++ {
				k := &apikey.APIKey{
					ID: fmt.Sprintf("key_%026d", n), WorkspaceID: "wsp_01h00000000000000000000000", Name: "a key of a customer",
					Scopes: auth.Read | auth.Write, CreatedAt: time.Now(), UpdatedAt: time.Now(), CreatedBy: "local", Revision: 1,
					Secrets: []apikey.Secret{{Hint: "kpsk_abcd", CreatedAt: time.Now()}},
				}
				binary.BigEndian.PutUint64(k.Secrets[0].Hash[:], uint64(n)*0x9e3779b97f4a7c15)
				if err := s.CreateAPIKey(ctx, k, 0); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		n := 0
		if err := s.EachAPIKey(b.Context(), func(*apikey.APIKey) error { n++; return nil }); err != nil || n != keys {
			b.Fatalf("%d keys, error %v", n, err)
		}
	}
}

// BenchmarkOpen opens a folder that is empty, and one that is not.
func BenchmarkOpen(b *testing.B) {
	b.Run("Empty", func(b *testing.B) {
		for b.Loop() {
			openAndClose(b, b.TempDir())
		}
	})
	b.Run("Again", func(b *testing.B) {
		dir := b.TempDir()
		openAndClose(b, dir)
		for b.Loop() {
			openAndClose(b, dir)
		}
	})
}

func openAndClose(b *testing.B, dir string) {
	b.Helper()
	e, err := Open(b.Context(), Options{Dir: dir})
	if err != nil {
		b.Fatal(err)
	}
	if err := e.Close(); err != nil {
		b.Fatal(err)
	}
}
