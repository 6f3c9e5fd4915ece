package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/base/unit"
	"keepsake/internal/govern/account"
	"keepsake/internal/govern/apikey"
	"keepsake/internal/govern/auth"
	"keepsake/internal/search/document"
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
	if err := s.Accounts.CreateWorkspace(b.Context(), w); err != nil {
		b.Fatal(err)
	}
	return e, s
}

// BenchmarkDurableWrites compares, in one run, the writes of 64 clients that commit in groups with what they would be
// without: a transaction and an fsync for each, from one client alone and from 64 that wait for SQLite's lock. An
// operation is one acknowledged document. How much a group is worth depends on the disk: its fsync is shared, the
// statements are not.
func BenchmarkDurableWrites(b *testing.B) {
	rate := map[string]float64{}
	measure := func(name string, clients int, run func(s *store.Store, e *Engine) func() error) {
		b.Run(name, func(b *testing.B) {
			e, s := benchStore(b)
			write := run(s, e)
			var next atomic.Int64
			b.ResetTimer()
			var all sync.WaitGroup
			for range clients {
				all.Go(func() {
					for next.Add(1) <= int64(b.N) {
						if err := write(); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			rate[name] = float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate[name], "writes/s")
			for other, r := range rate {
				if other != name {
					b.ReportMetric(rate[name]/r, "×"+other)
				}
			}
		})
	}
	own := func(clients int) func(*store.Store, *Engine) func() error {
		return func(_ *store.Store, e *Engine) func() error {
			s := store.New(newOwnTransactions(b, e, clients))
			return func() error { return s.Run(b.Context(), keep(s)) }
		}
	}
	measure("OneTransactionEach/1Client", 1, own(1))
	measure("OneTransactionEach/64Clients", 64, own(64))
	measure("GroupCommit/64Clients", 64, func(s *store.Store, _ *Engine) func() error {
		return func() error { return s.Run(b.Context(), keep(s)) }
	})
}

// ownTransactions is an engine whose units each have a connection and a transaction of their own.
type ownTransactions struct {
	*Engine
	free chan *session
}

func newOwnTransactions(b *testing.B, e *Engine, clients int) *ownTransactions {
	b.Helper()
	o := &ownTransactions{Engine: e, free: make(chan *session, clients)}
	db, err := sql.Open("sqlite", dsn(filepath.Join(e.dir, mainFile), false))
	if err != nil {
		b.Fatal(err)
	}
	for range clients {
		conn, err := db.Conn(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		// 64 clients that sleep and try again are unfair to each other.
		if _, err := conn.ExecContext(b.Context(), "PRAGMA busy_timeout = 60000"); err != nil {
			b.Fatal(err)
		}
		o.free <- newSession(conn)
	}
	b.Cleanup(func() {
		for range clients {
			if err := (<-o.free).close(); err != nil {
				b.Error(err)
			}
		}
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	return o
}

func (o *ownTransactions) Main() store.Database { return o }

func (o *ownTransactions) Once(ctx context.Context, query string, args ...any) (int64, error) {
	return o.In(ctx).Exec(ctx, query, args...)
}

func (o *ownTransactions) Hold(context.Context, string, ...any) error { return nil }

func (o *ownTransactions) HoldRow(ctx context.Context, query string, args ...any) store.Row {
	return o.In(ctx).QueryRow(ctx, query, args...)
}

func (o *ownTransactions) In(ctx context.Context) store.Querier {
	return ctx.Value(o).(*transaction)
}

func (o *ownTransactions) Run(ctx context.Context, fn func(context.Context) error) error {
	if ctx.Value(o) != nil {
		return fn(ctx)
	}
	s := <-o.free
	defer func() { o.free <- s }()
	if err := s.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	ctx, hooks := unit.Begin(context.WithValue(ctx, o, &transaction{session: s}))
	if err := fn(ctx); err != nil {
		return errors.Join(err, s.exec("ROLLBACK"))
	}
	if err := hooks.RunBefore(ctx); err != nil {
		return errors.Join(err, s.exec("ROLLBACK"))
	}
	return s.exec("COMMIT")
}

var documentNumber atomic.Int64

// keep is a unit that writes one small document.
func keep(s *store.Store) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		_, err := s.Documents.PutDocument(ctx, "wsp_01h00000000000000000000000", sampleDocument(documentNumber.Add(1)), document.Put{})
		return err
	}
}

func sampleDocument(n int64) *document.Document {
	return &document.Document{
		ID: fmt.Sprintf("doc_%026d", n), Collection: "default", Title: "A title of some words",
		Text: sampleText, Tags: []string{"one"}, UpdatedAt: time.UnixMilli(1_790_000_000_000),
	}
}

func sampleWrites(n int) []document.Write {
	list := make([]document.Write, n)
	for i := range list {
		list[i].Document = sampleDocument(documentNumber.Add(1))
	}
	return list
}

var sampleText = func() string {
	text := ""
	for i := range 60 {
		text += fmt.Sprintf("word%d and ", i)
	}
	return text
}()

// BenchmarkImport writes documents as an import does, 256 in a transaction. An operation is one document.
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
						if _, err := s.Documents.PutDocuments(b.Context(), "wsp_01h00000000000000000000000", sampleWrites(256)); err != nil {
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
				if err := s.APIKeys.CreateAPIKey(ctx, k, nil); err != nil {
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
		if err := s.APIKeys.EachAPIKey(b.Context(), func(*apikey.APIKey) error { n++; return nil }); err != nil || n != keys {
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
