package logqueue_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"keepsake/internal/base/logqueue"
)

// destination is a writer that can stall and fail.
type destination struct {
	mu     sync.Mutex
	gate   chan struct{} // closed: writes go on
	err    error
	taken  []string
	failed int
}

func (d *destination) Write(p []byte) (int, error) {
	<-d.gate
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.err != nil {
		d.failed++
		return 0, d.err
	}
	d.taken = append(d.taken, string(p))
	return len(p), nil
}

func notice(lines int64) []byte { return fmt.Appendf(nil, "dropped %d log lines\n", lines) }

// noticed reads the count of a notice. It reports whether line is one.
func noticed(line string, count *int64) bool {
	_, err := fmt.Sscanf(line, "dropped %d log lines\n", count)
	return err == nil
}

func TestAStalledReaderLosesLinesAndIsToldHowMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &destination{gate: make(chan struct{})}
		w := logqueue.New(d, notice)
		const all = 10_000
		for i := range all {
			fmt.Fprintf(w, "line %d\n", i) // must not block
		}
		dropped := w.Dropped()
		if dropped == 0 || dropped >= all {
			t.Fatalf("dropped %d of %d", dropped, all)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if w.Flush(ctx) {
			t.Error("flushed although the reader is stalled")
		}
		close(d.gate)
		synctest.Wait()
		io.WriteString(w, "after\n")
		if !w.Flush(t.Context()) {
			t.Error("not flushed")
		}
		// A line that is taken late follows a notice of its own, so the notices add up.
		said, lines := int64(0), 0
		for i, line := range d.taken {
			var count int64
			switch {
			case noticed(line, &count):
				said += count
			case line == "after\n" && i != len(d.taken)-1:
				t.Errorf("line %d is out of order", i)
			default:
				lines++
			}
		}
		if said != dropped || int64(lines) != all-dropped+1 || w.Dropped() != dropped {
			t.Errorf("notices of %d, %d lines, %d dropped", said, lines, w.Dropped())
		}
	})
}

func TestAFailingDestinationIsCounted(t *testing.T) {
	t.Parallel()
	d := &destination{gate: make(chan struct{}), err: errors.New("no reader")}
	close(d.gate)
	w := logqueue.New(d, notice)
	for range 3 {
		io.WriteString(w, "lost\n")
		w.Flush(t.Context())
	}
	if w.Dropped() != 3 {
		t.Errorf("counted %d of 3", w.Dropped())
	}
	d.mu.Lock()
	d.err = nil
	d.mu.Unlock()
	io.WriteString(w, "back\n")
	w.Flush(t.Context())
	if got := strings.Join(d.taken, ""); got != "dropped 3 log lines\nback\n" {
		t.Errorf("got %q", got)
	}
}

func TestALineLongerThanTheQueueIsWritten(t *testing.T) {
	t.Parallel()
	d := &destination{gate: make(chan struct{})}
	close(d.gate)
	w := logqueue.New(d, nil)
	io.WriteString(w, strings.Repeat("x", 2<<20))
	if !w.Flush(t.Context()) || len(d.taken) != 1 || w.Dropped() != 0 {
		t.Errorf("%d lines, %d dropped", len(d.taken), w.Dropped())
	}
}

func TestWritersAtTheSameTimeLoseNothingUncounted(t *testing.T) {
	t.Parallel()
	d := &destination{gate: make(chan struct{})}
	close(d.gate)
	w := logqueue.New(d, nil)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 2000 {
				io.WriteString(w, "line\n")
			}
		})
	}
	all.Wait()
	w.Flush(t.Context())
	if got := int64(len(d.taken)) + w.Dropped(); got != 16_000 {
		t.Errorf("written and dropped are %d", got)
	}
}
