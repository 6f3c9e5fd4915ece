package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"keepsake/internal/base/problem"
)

// Lines reads a stream with one JSON value per line (NDJSON).
type Lines struct {
	in     *bufio.Reader
	limit  int
	number int
	long   []byte // collects a line that is larger than the reader's buffer
}

// NewLines reads lines of at most limit bytes from r. A byte order mark at the beginning is skipped.
func NewLines(r io.Reader, limit int) *Lines {
	return &Lines{in: bufio.NewReaderSize(r, 64<<10), limit: limit}
}

// Number returns the number of the line that Next returned last, from 1, including blank lines.
func (l *Lines) Number() int { return l.number }

// Next returns the next line that is not blank. It is valid until the next call. At the end, the error is io.EOF. If a
// line is too long, Next skips it and returns a *TooLong; reading can continue. Other errors are the reader's.
func (l *Lines) Next() ([]byte, error) {
	for {
		line, err := l.line()
		if err != nil {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}

// TooLong reports a line that was skipped. It is a 400 for that line only.
type TooLong struct{ *problem.Problem }

// Unwrap returns the problem.
func (e *TooLong) Unwrap() error { return e.Problem }

// line reads to a line break, which it includes, or to the end of the stream.
func (l *Lines) line() ([]byte, error) {
	part, err := l.in.ReadSlice('\n')
	if len(part) == 0 && err != nil {
		return nil, err
	}
	if l.number++; l.number == 1 {
		part = bytes.TrimPrefix(part, ByteOrderMark)
	}
	if err == nil || err == io.EOF {
		return l.bounded(part)
	}
	l.long = append(l.long[:0], part...)
	for err == bufio.ErrBufferFull {
		part, err = l.in.ReadSlice('\n')
		if len(l.long) <= l.limit+2 { // the rest is skipped
			l.long = append(l.long, part...)
		}
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	return l.bounded(l.long)
}

func (l *Lines) bounded(line []byte) ([]byte, error) {
	if len(bytes.TrimRight(line, "\r\n")) > l.limit {
		return nil, &TooLong{problem.Validation("body", problem.TooLong, fmt.Sprintf("A line must have at most %d bytes.", l.limit))}
	}
	return line, nil
}
