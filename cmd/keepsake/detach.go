package main

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os/signal"
	"syscall"
	"time"

	"github.com/lmittmann/tint"

	"keepsake/internal/app/config"
	"keepsake/internal/base/logqueue"
)

// flushTimeout is how long the program waits for the reader of its output before it goes on or ends.
const flushTimeout = 2 * time.Second

// detach puts queues in front of standard output and standard error. From then on the program never waits for who reads
// them, and goes on if the reader ends. The level of cfg has been checked.
func (st *stage) detach(cfg config.Log) error {
	level, err := cfg.SlogLevel()
	if err != nil {
		return err
	}
	// Without it, a write to a pipe without a reader ends the program if the pipe is standard output or standard error.
	signal.Ignore(syscall.SIGPIPE)
	handler := func(w io.Writer) slog.Handler {
		if !st.errTTY {
			return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level})
		}
		// On a terminal, a person reads it.
		return tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: st.getenv("NO_COLOR") != ""})
	}
	lines := logqueue.New(st.err, func(dropped int64) []byte {
		var line bytes.Buffer
		slog.New(handler(&line)).Warn("dropped log lines", "lines", dropped)
		return line.Bytes()
	})
	st.queues = []*logqueue.Writer{logqueue.New(st.out, nil), lines}
	st.out, st.err, st.log = st.queues[0], lines, slog.New(handler(lines))
	slog.SetDefault(st.log) // packages of others log there, and through package log
	return nil
}

// flush waits until what was printed is read, for a bounded time, and reports whether all of it was. Without detach there is
// nothing to wait for.
func (st *stage) flush() bool {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	flushed := true
	for _, q := range st.queues {
		flushed = q.Flush(ctx) && flushed
	}
	return flushed && st.lostLines() == 0
}

// lostLines returns how many lines were not printed.
func (st *stage) lostLines() int64 {
	n := int64(0)
	for _, q := range st.queues {
		n += q.Dropped()
	}
	return n
}
