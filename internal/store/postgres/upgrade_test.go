package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"keepsake/internal/store"
	"keepsake/internal/store/postgres"
)

// grows and shrinks are migrations of a newer program.
var (
	grows = map[string]string{"main/9001_grow.sql": `
		ALTER TABLE workspace ADD COLUMN place TEXT COLLATE "C" NOT NULL DEFAULT '';
		CREATE TABLE bookmark (id TEXT COLLATE "C" NOT NULL PRIMARY KEY);`}
	shrinks = map[string]string{"main/9001_shrink.sql": `
		-- keepsake: oldest 9001
		ALTER TABLE workspace RENAME COLUMN name TO title;`}
)

func openNewer(t testing.TB, opt postgres.Options, more map[string]string) *postgres.Engine {
	t.Helper()
	e, err := postgres.OpenNewer(context.WithoutCancel(t.Context()), patient(opt), more)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// said is a log that a test can read.
type said struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *said) count(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.text.String(), text)
}

func (s *said) log() *slog.Logger { return slog.New(slog.NewTextHandler(s, nil)) }

func TestOlderProcessWorksOnAGrownSchema(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	older := open(t, postgres.Options{URL: url})
	s := store.New(older)
	ended := make(chan error, 1)
	var stop atomic.Bool
	var units int
	go func() {
		for ; !stop.Load(); units++ {
			if err := s.Accounts.CreateWorkspace(context.WithoutCancel(t.Context()), workspace(fmt.Sprintf("wsp_%06d", units))); err != nil {
				ended <- err
				return
			}
			if _, err := s.Accounts.Workspaces(context.WithoutCancel(t.Context())); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	newer := openNewer(t, postgres.Options{URL: url}, grows)
	again := open(t, postgres.Options{URL: url}) // an older process starts
	for i, e := range []*postgres.Engine{newer, again, older} {
		if err := store.New(e).Accounts.CreateWorkspace(t.Context(), workspace(fmt.Sprintf("wsp_of_%d", i))); err != nil {
			t.Error(err)
		}
		if err := e.Ready(t.Context()); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	if err := <-ended; err != nil {
		t.Errorf("after %d units: %v", units, err)
	}
	list, err := store.New(newer).Accounts.Workspaces(t.Context())
	if err != nil || len(list) != units+3 {
		t.Errorf("%d workspaces, want %d; %v", len(list), units+3, err)
	}
}

func TestOlderProcessStopsOnAShrunkSchema(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	var log said
	older := open(t, postgres.Options{URL: url, Log: log.log()})
	s := store.New(older)
	if err := s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_a")); err != nil {
		t.Fatal(err)
	}
	listening, err := older.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer listening.Close(context.WithoutCancel(t.Context()))

	// A transaction is running when the newer program migrates.
	begun, migrated := make(chan struct{}), make(chan struct{})
	running := make(chan error, 1)
	go func() {
		running <- s.Run(context.WithoutCancel(t.Context()), func(ctx context.Context) error {
			if err := s.Accounts.CreateWorkspace(ctx, workspace("wsp_begun")); err != nil {
				return err
			}
			close(begun)
			<-migrated
			return nil
		})
	}()
	<-begun
	newer := openNewer(t, postgres.Options{URL: url}, shrinks)
	close(migrated)
	wantUnavailable(t, <-running)
	for range 3 {
		wantUnavailable(t, s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_b")))
		_, err = s.Accounts.Workspaces(t.Context())
		wantUnavailable(t, err)
	}
	if err := older.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "start the newer keepsake") {
		t.Errorf("readiness says %v", err)
	}
	if err := listening.Ping(t.Context()); err == nil {
		t.Error("a connection of its own was left")
	}
	if conn, err := older.Connect(t.Context()); err == nil {
		conn.Close(t.Context())
		t.Error("it connects again")
	}
	if n := log.count("schema requires a newer release"); n != 1 {
		t.Errorf("it was logged %d times, want once:\n%s", n, &log.text)
	}
	wantRefused(t, postgres.Options{URL: url}, "has version 9001", "start the newer keepsake")

	if err := newer.Ready(t.Context()); err != nil {
		t.Error(err)
	}
	var titles []string
	rows, err := connect(t, url).Query(t.Context(), "SELECT id FROM keepsake.workspace")
	if err == nil {
		titles, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	if err != nil || !slices.Equal(titles, []string{"wsp_a"}) {
		t.Errorf("%v was written, want wsp_a alone; %v", titles, err)
	}
}

// A failed migration leaves the schema to the older program.
func TestOlderProcessWorksAfterAFailedMigration(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	s := store.New(open(t, postgres.Options{URL: url}))
	_, err := postgres.OpenNewer(t.Context(), patient(postgres.Options{URL: url}), map[string]string{
		"main/9001_wrong.sql": "-- keepsake: oldest 9001\nALTER TABLE workspace RENAME COLUMN name TO title; ALTER TABLE nothing RENAME TO something;",
	})
	if err == nil || !strings.Contains(err.Error(), "9001_wrong.sql") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that names the step", err)
	}
	if err := s.Accounts.CreateWorkspace(t.Context(), workspace("wsp_a")); err != nil {
		t.Error(err)
	}
	wantWorkspaces(t, s, "wsp_a")
}

// A migration waits for a table that is being read for long, for example by a backup. Other requests still get access
// to the table.
func TestWaitingMigrationBlocksNoRequest(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	e := open(t, postgres.Options{URL: url})
	s := store.New(e)
	conn := connect(t, url)
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM keepsake.workspace"); err != nil {
		t.Fatal(err)
	}
	var log said
	newer := make(chan error, 1)
	go func() {
		opt := patient(postgres.Options{URL: url, Log: log.log(), Table: 50 * time.Millisecond})
		n, err := postgres.OpenNewer(context.WithoutCancel(t.Context()), opt, grows)
		if err == nil {
			err = n.Close()
		}
		newer <- err
	}()
	// Writes and reads complete while the migration still waits for the table.
	for done := 0; log.count("retrying migration") < 2; done++ {
		if err := s.Accounts.CreateWorkspace(t.Context(), workspace(fmt.Sprintf("wsp_%d", done))); err != nil {
			t.Error(err)
		}
		if _, err := s.Accounts.Workspaces(t.Context()); err != nil {
			t.Error(err)
		}
		select {
		case err := <-newer:
			t.Fatalf("the migration did not wait: %v", err)
		default:
		}
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-newer; err != nil {
		t.Error(err)
	}
}

func TestMigrationGivesUpWithOneLine(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	open(t, postgres.Options{URL: url}).Close()
	tx, err := connect(t, url).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM keepsake.workspace"); err != nil {
		t.Fatal(err)
	}
	_, err = postgres.OpenNewer(t.Context(), patient(postgres.Options{URL: url, Migrate: time.Millisecond, Table: 50 * time.Millisecond}), grows)
	if err == nil || !strings.Contains(err.Error(), "in use") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line that says what to wait for", err)
	}
}

func TestConcurrentStartsMigrateOnce(t *testing.T) {
	t.Parallel()
	url := migrated(t)
	open(t, postgres.Options{URL: url}).Close()
	var all sync.WaitGroup
	var failed error
	var mu sync.Mutex
	for range 6 {
		all.Go(func() {
			e, err := postgres.OpenNewer(t.Context(), patient(postgres.Options{URL: url, Connections: 2}), shrinks)
			if err == nil {
				err = errors.Join(e.Ready(t.Context()), e.Close())
			}
			mu.Lock()
			defer mu.Unlock()
			failed = errors.Join(failed, err)
		})
	}
	all.Wait()
	if failed != nil {
		t.Error(failed)
	}
	var steps, different int
	err := connect(t, url).QueryRow(t.Context(), "SELECT count(*), count(DISTINCT version_id) FROM keepsake.schema_migration").Scan(&steps, &different)
	if err != nil || steps != different {
		t.Errorf("%d steps were taken, %d different ones; %v", steps, different, err)
	}
}
