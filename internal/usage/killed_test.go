package usage_test

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
)

// childDir is set for the process that is going to be killed.
const childDir = "KEEPSAKE_TEST_USAGE_DIR"

// TestKilledProcessLosesOnlyWhatCameAfterTheLastFlush kills a process that charges, records and flushes, again and again
// on one folder. What it said it had flushed is there, nothing is there that it did not charge, and the quotas are the
// sums of the cells.
func TestKilledProcessLosesOnlyWhatCameAfterTheLastFlush(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if dir := os.Getenv(childDir); dir != "" {
		chargeUntilKilled(t, dir, now)
		return
	}
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	for round := range 6 {
		flushed, charged := killedRound(t, dir)
		func() {
			s, end := open(t, dir)
			defer end()
			quotas := inQuotas(t.Context(), t, s, now)
			if diff := cmp.Diff(inCells(t.Context(), t, s, now), quotas); diff != "" {
				t.Fatalf("round %d: (-cells +quotas):\n%s", round, diff)
			}
			if got := quotas[workspace][0]; got < flushed || got > charged {
				t.Fatalf("round %d: %d are stored; %d were flushed and %d charged", round, got, flushed, charged)
			}
			p, err := newParty(t.Context(), s, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(quotas, p.inMemory(now)); diff != "" {
				t.Fatalf("round %d: restored counters (-quotas +counters):\n%s", round, diff)
			}
		}()
	}
}

// killedRound runs the child for a moment and gives the last numbers it told: what its counters had when a flush had
// ended, and when one was about to begin.
func killedRound(t *testing.T, dir string) (flushed, charged int64) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), childDir+"="+dir)
	var fault bytes.Buffer
	child.Stderr = &fault
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var killing *time.Timer
	told := ""
	for lines := bufio.NewScanner(out); lines.Scan(); told += lines.Text() + "\n" {
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
			if killing == nil {
				killing = time.AfterFunc(time.Duration(rand.IntN(60_000))*time.Microsecond, func() { _ = child.Process.Kill() })
			}
		}
	}
	if err := child.Wait(); killing == nil {
		t.Fatalf("the child ended by itself: %v\n%s%s", err, told, fault.String())
	}
	killing.Stop()
	return flushed, charged
}

func chargeUntilKilled(t *testing.T, dir string, now time.Time) {
	s, _ := open(t, dir)
	p, err := newParty(t.Context(), s, now)
	if err != nil {
		t.Fatal(err)
	}
	for range 10_000 {
		for range 50 {
			p.call(now, rand.IntN(len(keys)), rand.Int64N(3)+1, 200)
		}
		total := p.inMemory(now)[workspace][0]
		fmt.Println("charged", total)
		if err := p.recorder.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		fmt.Println("flushed", total)
		runtime.Gosched()
	}
}
