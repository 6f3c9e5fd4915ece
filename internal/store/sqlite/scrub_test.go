package sqlite

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"keepsake/internal/base/problem"
)

// A long read keeps deleted rows in the log. Scrub reports that, writes continue, and the next scrub removes the rows.
func TestScrubReportsRowsThatALongReadKeeps(t *testing.T) {
	t.Parallel()
	e := open(t, emptyInstance(t))
	e.keys.scrubWait = 5 * time.Millisecond
	write := func(name string) error {
		return e.keys.Run(t.Context(), func(ctx context.Context) error {
			_, err := e.keys.In(ctx).Exec(ctx, `INSERT INTO wrapped_secret (name, sealed, created_at) VALUES ($1, $2, 1)`, name, []byte(name))
			return err
		})
	}
	if err := write("before"); err != nil {
		t.Fatal(err)
	}
	reading, err := e.keys.readers.db.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reading.Rollback()
	var n int
	if err := reading.QueryRowContext(t.Context(), `SELECT count(*) FROM wrapped_secret`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	scrubbed := make(chan error, 1)
	go func() { scrubbed <- e.keys.Scrub(context.WithoutCancel(t.Context())) }()
	for i := range 20 {
		if err := write(string(rune('a' + i))); err != nil {
			t.Fatalf("a write beside it: %v", err)
		}
	}
	if p, ok := problem.As(<-scrubbed); !ok || p.Kind != problem.Unavailable {
		t.Errorf("it is said to be gone: %v", p)
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := e.keys.Scrub(t.Context()); err != nil {
		t.Errorf("when nobody reads: %v", err)
	}
}
