// Package logqueue writes log lines without letting the program wait for their reader.
package logqueue

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
)

// What a queue holds at most. A line that does not fit is dropped.
const (
	maxLines = 4096
	maxBytes = 1 << 20
)

// Writer is an io.Writer whose Write never blocks and never fails. One goroutine writes the lines to the destination. If the
// destination is slow, lines are dropped; if it fails, as a pipe without a reader does, they are lost. Both are counted, and
// the next line that is written follows a notice with the count.
type Writer struct {
	to      io.Writer
	notice  func(lines int64) []byte
	dropped atomic.Int64

	mu      sync.Mutex
	lines   [][]byte // without the one that is being written
	bytes   int
	writing bool
	waiting []chan struct{} // of Flush
	unsaid  int64           // dropped lines that no notice has counted
}

// New returns a queue in front of a destination. notice returns the line that says how many lines were dropped; with nil,
// none is written.
func New(to io.Writer, notice func(lines int64) []byte) *Writer {
	return &Writer{to: to, notice: notice}
}

// Write implements io.Writer. Each call is a line.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) >= maxLines || w.bytes > 0 && w.bytes+len(p) > maxBytes {
		w.drop()
		return len(p), nil
	}
	w.lines = append(w.lines, slices.Clone(p))
	w.bytes += len(p)
	if !w.writing {
		w.writing = true
		go w.drain()
	}
	return len(p), nil
}

// drop counts a line that was not written. The caller holds mu.
func (w *Writer) drop() {
	w.dropped.Add(1)
	w.unsaid++
}

// drain writes lines until none is left.
func (w *Writer) drain() {
	for {
		line, unsaid := w.next()
		if line == nil {
			return
		}
		written := true
		if unsaid > 0 && w.notice != nil {
			written = w.write(w.notice(unsaid))
		}
		if written {
			written = w.write(line)
		} else {
			unsaid = 0 // they are still to be reported
		}
		w.mu.Lock()
		w.unsaid -= unsaid
		if !written {
			w.drop()
		}
		w.mu.Unlock()
	}
}

func (w *Writer) write(line []byte) bool {
	_, err := w.to.Write(line)
	return err == nil
}

// next takes a line, and returns how many lines were dropped before it. Without a line it ends the goroutine.
func (w *Writer) next() (line []byte, unsaid int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.lines) == 0 {
		w.lines, w.writing = nil, false
		for _, flushed := range w.waiting {
			close(flushed)
		}
		w.waiting = nil
		return nil, 0
	}
	line, w.lines = w.lines[0], w.lines[1:]
	w.bytes -= len(line)
	return line, w.unsaid
}

// Dropped returns how many lines were dropped or lost.
func (w *Writer) Dropped() int64 { return w.dropped.Load() }

// Flush waits until every line was written or lost, or ctx ends. It reports whether it waited for all.
func (w *Writer) Flush(ctx context.Context) bool {
	w.mu.Lock()
	if !w.writing {
		w.mu.Unlock()
		return true
	}
	flushed := make(chan struct{})
	w.waiting = append(w.waiting, flushed)
	w.mu.Unlock()
	select {
	case <-flushed:
		return true
	case <-ctx.Done():
		return false
	}
}
