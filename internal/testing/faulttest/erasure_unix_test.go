//go:build unix

package faulttest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// lingering makes the statement that removes the rows of an erased subject wait in the database.
const (
	lingering = `
		CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(3600); RETURN NULL; END $$;
		CREATE TRIGGER linger BEFORE DELETE ON memory FOR EACH STATEMENT EXECUTE FUNCTION linger()`
	notLingering = `CREATE OR REPLACE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$`
	lingers      = `FROM pg_stat_activity WHERE wait_event = 'PgSleep'`
)

// TestAnErasureEndsWhilePostgreSQLIsSilent pauses the database in the middle of an erasure: the request is answered in its time,
// before the database is back, and the answer is true. Afterwards the erasure finishes, and the receipt can be had.
func TestAnErasureEndsWhilePostgreSQLIsSilent(t *testing.T) {
	t.Parallel()
	testtier.Long(t, "waits for the time of a request")
	f := startFleet(t, nil)
	s, other := f.member(0), f.member(1)
	s.remember("ben", "stays", nil)
	for _, phase := range []struct {
		subject             string
		delay, reached, end func()
	}{
		{
			subject: "ada", // the other process is waited for, which can have the destroyed key in memory
			delay:   func() { other.Signal(syscall.SIGSTOP) },
			reached: func() { f.awaits("1", "SELECT count(*) FROM news WHERE kind = 'subject'") },
			end:     func() { other.Signal(syscall.SIGCONT) },
		},
		{
			subject: "eve", // the rows are being removed
			delay:   func() { f.query(lingering) },
			reached: func() { f.awaits("1", "SELECT count(*) "+lingers) },
			end: func() {
				f.query(notLingering)
				f.postgres.Exec(t, "SELECT pg_terminate_backend(pid) "+lingers)
			},
		},
	} {
		subject := phase.subject
		const count = 3
		for i := range count {
			s.remember(subject, fmt.Sprintf("canary %d", i), nil)
		}
		erase := func() *answer {
			return s.ask(context.Background(), s.Key, http.MethodDelete, memories+"/subjects/"+subject, nil)
		}
		answered := make(chan *answer, 1)
		phase.delay()
		go func() { answered <- erase() }()
		phase.reached()
		f.postgres.Pause(t)
		// A request that waited for the database would never be answered.
		if a := <-answered; a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" || !strings.Contains(string(a.text), "it continues in the background") {
			t.Errorf("%s: an erasure while the database is silent: %d %s", subject, a.status, a.text)
		}
		if a := erase(); a.status != http.StatusServiceUnavailable || a.code() != "unavailable" {
			t.Errorf("%s: the same request again, while the database is silent: %d %s", subject, a.status, a.text)
		}
		f.postgres.Resume(t)
		phase.end()
		f.settle()

		s.isGone(subject, "canary")
		var receipt *answer
		await.Until(t, "the receipt can be had", func() bool {
			receipt = erase()
			if receipt.status != http.StatusOK && receipt.status != http.StatusServiceUnavailable {
				t.Fatalf("%s: the request for the receipt: %d %s", subject, receipt.status, receipt.text)
			}
			return receipt.status == http.StatusOK
		})
		if !strings.Contains(string(receipt.text), fmt.Sprintf(`"memories":%d`, count)) {
			t.Errorf("%s: the receipt is %s", subject, receipt.text)
		}
		if left := f.query("SELECT (SELECT count(*) FROM memory) || ' ' || (SELECT count(*) FROM memory_erasure)"); left != "1 0" {
			t.Errorf("%s: memories and erasures in the database: %s, want 1 0", subject, left)
		}
	}
	if n := len(s.memoriesOf("ben")); n != 1 {
		t.Errorf("another subject has %d memories, want 1", n)
	}
	s.MustLive()
}

// query executes statements in the database of the fleet and returns the first value of the last one.
func (f *fleet) query(statements string) string {
	f.t.Helper()
	return enginetest.ExecIn(f.t, f.url, statements)
}

// awaits waits until a query returns a value.
func (f *fleet) awaits(value, query string) {
	f.t.Helper()
	await.Until(f.t, query+" is "+value, func() bool { return f.query(query) == value })
}
