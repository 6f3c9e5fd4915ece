package audit_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"keepsake/internal/govern/audit"
	"keepsake/internal/store"
	"keepsake/internal/store/sqlite"
	"keepsake/internal/store/sqlite/sqlitetest"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bundle is a log over a real store, with a clock a test moves.
type bundle struct {
	*audit.Log
	store  *store.Store
	engine *sqlite.Engine
	dir    string
	at     atomic.Int64 // Unix microseconds
}

func (b *bundle) now() time.Time       { return time.UnixMicro(b.at.Load()).UTC() }
func (b *bundle) pass(d time.Duration) { b.at.Add(d.Microseconds()) }

func setup(t testing.TB) *bundle {
	t.Helper()
	return setupIn(t, sqlitetest.Dir(t))
}

func setupIn(t testing.TB, dir string) *bundle {
	t.Helper()
	engine, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	b := &bundle{store: store.New(engine), engine: engine, dir: dir}
	b.at.Store(noon.UnixMicro())
	b.Log = audit.NewLog(audit.Options{
		Store: b.store.Audit, Units: b.store, Chain: "main", Secret: make([]byte, 32), Checkpoints: filepath.Join(dir, "audit.checkpoints"),
		Random: rand.Reader, Now: b.now, Log: slog.New(slog.DiscardHandler),
	})
	b.begin(t, true)
	return b
}

func (b *bundle) begin(t testing.TB, fresh bool) {
	t.Helper()
	if err := b.Begin(t.Context(), fresh); err != nil {
		t.Fatal(err)
	}
}

// again is the same process after a restart.
func (b *bundle) again(t testing.TB) *bundle {
	t.Helper()
	next := &bundle{store: b.store, engine: b.engine, dir: b.dir}
	next.at.Store(b.at.Load())
	o := b.Options
	o.Now = next.now
	next.Log = audit.NewLog(o)
	next.begin(t, false)
	return next
}

// beside is another process on the same database, with a chain and checkpoints of its own.
func (b *bundle) beside(t testing.TB, chain string) *bundle {
	t.Helper()
	other := &bundle{store: b.store, engine: b.engine, dir: t.TempDir()}
	other.at.Store(b.at.Load())
	o := b.Options
	o.Chain, o.Checkpoints, o.Now = chain, filepath.Join(other.dir, "audit.checkpoints"), other.now
	other.Log = audit.NewLog(o)
	other.begin(t, false)
	return other
}

// write adds n rows in one unit, one a second.
func (b *bundle) write(t testing.TB, n int) {
	t.Helper()
	err := b.store.Run(t.Context(), func(ctx context.Context) error {
		for range n {
			b.pass(time.Second)
			e := audit.Entry{
				Action: audit.KeyCreated, WorkspaceID: "wsp_a", Actor: "local", Target: "key_a",
				Details: map[string]string{"scopes": "read"}, Address: netip.MustParseAddr("192.0.2.7"),
			}
			if err := b.Record(ctx, e); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) checkpoint(t testing.TB) {
	t.Helper()
	if err := b.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) verify(t testing.TB) *audit.Verified {
	t.Helper()
	v, err := b.Verify(t.Context(), b.Checkpoints)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// rows reads the chain.
func (b *bundle) rows(t testing.TB) []*audit.Row {
	t.Helper()
	rows, err := b.store.Audit.AuditRowsAfter(t.Context(), "main", 0, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// tamper changes the database behind the program's back.
func (b *bundle) tamper(t testing.TB, statements ...string) {
	t.Helper()
	b.tamperWith(t, "main.db", statements...)
}

func (b *bundle) tamperWith(t testing.TB, file string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(b.dir, file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(context.Background(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// placeOf is the condition of a packed row.
func placeOf(chain string, sequence int64) string {
	return fmt.Sprintf("place = (SELECT number FROM audit_name WHERE name = '%s') * 1099511627776 + %d", chain, sequence)
}

var errTest = errors.New("no")

// randomness is rand.Reader.
type randomness struct{}

func (randomness) Read(p []byte) (int, error) { return rand.Read(p) }
