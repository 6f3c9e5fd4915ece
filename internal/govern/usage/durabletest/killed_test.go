package durabletest

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"keepsake/internal/govern/usage"
	"keepsake/internal/testing/await"
	"keepsake/internal/testing/enginetest"
	"keepsake/internal/testing/testtier"
)

// childPlace is set in the process that will be killed, to a folder or the URL of a database.
const childPlace = "KEEPSAKE_TEST_USAGE_PLACE"

func openerOf(place string) opener {
	if strings.HasPrefix(place, "postgres:") {
		return onPostgres(place)
	}
	return onSQLite(place)
}

// The test kills a process that charges, records and flushes, again and again on one store. Everything that it reported
// as flushed is stored, nothing is stored that it did not charge, and the quotas are the sums of the cells.
func TestKillLosesOnlyEventsAfterTheLastFlush(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if place := os.Getenv(childPlace); place != "" {
		chargeUntilKilled(t, openerOf(place), now)
		return
	}
	t.Parallel()
	for engine, place := range map[string]string{"SQLite": filepath.Join(t.TempDir(), "data"), "PostgreSQL": migrated(t)} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			killedAgainAndAgain(t, place, now)
		})
	}
}

func killedAgainAndAgain(t *testing.T, place string, now time.Time) {
	random := rand.New(rand.NewPCG(1, 1))
	for round := range testtier.Rounds(2, 6) {
		flushed, charged := killedRound(t, place, 1+random.IntN(60))
		awaitEnd(t, place)
		func() {
			s, end := openerOf(place)(t)
			defer end()
			quotas := inQuotas(t.Context(), t, s.Counters, now)
			if diff := cmp.Diff(inCells(t.Context(), t, s.Counters, now), quotas); diff != "" {
				t.Fatalf("round %d: (-cells +quotas):\n%s", round, diff)
			}
			if got := quotas[workspace][0]; got < flushed || got > charged {
				t.Fatalf("round %d: %d are stored; %d were flushed and %d charged", round, got, flushed, charged)
			}
			p, err := newParty(t.Context(), s.Counters, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(quotas, p.inMemory(now)); diff != "" {
				t.Fatalf("round %d: restored counters (-quotas +counters):\n%s", round, diff)
			}
		}()
	}
}

// awaitEnd waits until the database has processed all statements of a killed process. Its last commit may still be
// running.
func awaitEnd(t *testing.T, place string) {
	t.Helper()
	if !strings.HasPrefix(place, "postgres:") {
		return // it ended with the process
	}
	await.Until(t, "the connections of a killed process end", func() bool {
		return enginetest.Count(t, place, "pg_catalog", `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`) == 0
	})
}

// killedRound runs the child, kills it after it has reported that many flushes, and returns its last reports: the
// counters after a flush and those before the next. The child continues until it is killed, which can be at any point
// of a flush.
func killedRound(t *testing.T, place string, flushes int) (flushed, charged int64) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKillLosesOnlyEventsAfterTheLastFlush$")
	child.Env = append(os.Environ(), childPlace+"="+place)
	var fault bytes.Buffer
	child.Stderr = &fault
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	reported := ""
	for lines := bufio.NewScanner(out); lines.Scan(); reported += lines.Text() + "\n" {
		word, number, _ := strings.Cut(lines.Text(), " ")
		var n int64
		if _, err := fmt.Sscan(number, &n); err != nil {
			continue
		}
		switch word {
		case "charged":
			charged = n
		case "flushed":
			flushed = n
			if flushes--; flushes == 0 {
				_ = child.Process.Kill()
			}
		}
	}
	if err := child.Wait(); flushes > 0 {
		t.Fatalf("the child ended by itself: %v\n%s%s", err, reported, fault.String())
	}
	return flushed, charged
}

func chargeUntilKilled(t *testing.T, open opener, now time.Time) {
	s, _ := open(t)
	p, err := newParty(t.Context(), s.Counters, now)
	if err != nil {
		t.Fatal(err)
	}
	for n := range 10_000 {
		for range 50 {
			p.call(now, rand.IntN(len(keys)), rand.Int64N(3)+1, 200)
		}
		total := p.inMemory(now)[workspace][0]
		fmt.Println("charged", total)
		// Counts of earlier hours arrive and are rolled up; a kill can come at any point of that, too.
		p.late = time.Duration(rand.IntN(600)) * time.Minute
		if n%8 == 0 {
			if err := s.Counters.RollUpUsage(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := s.Counters.PruneUsage(t.Context(), usage.Retention{Now: now, Minutes: now.Add(-14 * time.Hour), Hours: now.Add(-14 * time.Hour), Days: now.AddDate(0, -25, 0)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.recorder.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		fmt.Println("flushed", total)
		runtime.Gosched()
	}
}
