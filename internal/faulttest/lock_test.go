package faulttest

import (
	"context"
	"database/sql"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the stranger's own way into the file

	"keepsake/internal/app/apptest"
)

// TestAStrangersLockIsABoundedWait holds the write lock of main.db from another process' point of view, as a backup tool
// or a curious operator with a shell does.
func TestAStrangersLockIsABoundedWait(t *testing.T) {
	apptest.OnSQLite(t, "its file is locked")
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
	// The 5 s of the busy timeout and a little, and not twice those 5 s.
	promptly(t, 9*time.Second, "a write that waits for a lock", func() { s.refusesToWrite("locked") })
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/documents/kept", nil)
	s.Must(http.StatusOK, http.MethodGet, "/api/v1/search?q=kept", nil)
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	s.writesAgain()
	s.Must(http.StatusNotFound, http.MethodGet, "/api/v1/documents/locked", nil)
	s.MustLive()
}
