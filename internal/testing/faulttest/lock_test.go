package faulttest

import (
	"context"
	"database/sql"
	"net/http"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the stranger's own way into the file

	"keepsake/internal/app/apptest"
	"keepsake/internal/testing/testtier"
)

// TestAStrangersLockIsABoundedWait holds the write lock of main.db from another process' point of view, as a backup tool
// or a curious operator with a shell does.
func TestAStrangersLockIsABoundedWait(t *testing.T) {
	t.Parallel()
	apptest.OnSQLite(t, "its file is locked")
	testtier.Long(t, "waits for SQLite's own 5 s busy timeout")
	dir, _, s := served(t)
	stranger, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "main.db")+"?_pragma=busy_timeout(10000)") // the server writes, too
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	ctx := context.Background()
	conn, err := stranger.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	s.refusesToWrite("locked") // while the lock is held
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/kept", nil)
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/search?q=kept", nil)
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	s.writesAgain()
	s.Must(http.StatusNotFound, http.MethodGet, "/api/v1/documents/locked", nil)
	s.MustLive()
}
