package client

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// beginsArray reports whether a text is a JSON array, and skips a byte order mark and the white space before it.
func beginsArray(r *bufio.Reader) bool {
	const mark = "\ufeff"
	if begin, _ := r.Peek(len(mark)); string(begin) == mark {
		if rest, _ := r.Peek(len(mark) + 1); len(rest) > len(mark) && rest[len(mark)] == '[' {
			_, _ = r.Discard(len(mark)) // was peeked
			return true
		}
		return false
	}
	for n := 1; n <= r.Size(); n++ {
		begin, err := r.Peek(n)
		if err != nil {
			return false
		}
		switch begin[n-1] {
		case ' ', '\t', '\r', '\n':
		default:
			return begin[n-1] == '['
		}
	}
	return false
}

// arrayReader reads the elements of a JSON array as lines.
type arrayReader struct {
	decoder *json.Decoder
	begun   bool
	line    bytes.Buffer // what is not read yet
	number  int
	err     error
}

func (r *arrayReader) Read(p []byte) (int, error) {
	for r.line.Len() == 0 && r.err == nil {
		r.err = r.next()
	}
	if r.line.Len() > 0 {
		return r.line.Read(p)
	}
	return 0, r.err
}

// next reads an element. After the last one, it returns io.EOF.
func (r *arrayReader) next() error {
	if !r.begun {
		r.begun = true
		if _, err := r.decoder.Token(); err != nil {
			return fmt.Errorf("read a JSON array: %w", err)
		}
	}
	if !r.decoder.More() {
		if _, err := r.decoder.Token(); err != nil {
			return r.wrap(err)
		}
		if _, err := r.decoder.Token(); err != io.EOF {
			return errors.New("there is text after the JSON array")
		}
		return io.EOF
	}
	r.number++
	var element json.RawMessage
	if err := r.decoder.Decode(&element); err != nil {
		return r.wrap(err)
	}
	r.line.Reset()
	if err := json.Compact(&r.line, element); err != nil {
		return r.wrap(err)
	}
	return r.line.WriteByte('\n')
}

func (r *arrayReader) wrap(err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read element %d of a JSON array: %w", max(1, r.number), err)
}
