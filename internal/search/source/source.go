// Package source reads files of other programs as rows: JSON objects of any form, one per line, in an array or in an array within
// an object, and tables. Files can be compressed with gzip.
package source

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/table"
	"keepsake/internal/base/wire"
	"keepsake/internal/search/mapping"
)

// MaxRow is the size of the largest row that a server accepts.
const MaxRow = 2 << 20

// Row is a row of a source.
type Row struct {
	Line int64    // in the file, or the position in an array, from 1
	Text []byte   // JSON or CSV, with a line break
	Row  wire.Row // if Err is nil
	Err  *problem.Problem
}

// Reader reads rows.
type Reader struct {
	// Columns are the names of the columns of a table; nil if the rows are JSON objects.
	Columns []string

	next   func() (Row, error)
	sample []Row // were read by Sample
	ended  bool  // there are no others
}

// Open returns a Reader. comma parts the cells of a table; 0 means that the first line tells.
func Open(r io.Reader, comma byte) (*Reader, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	if begin, _ := in.Peek(2); bytes.Equal(begin, []byte{0x1f, 0x8b}) {
		plain, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("decompress: %w", err)
		}
		in = bufio.NewReaderSize(plain, 64<<10)
	}
	begin, err := in.Peek(2)
	if err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.Equal(begin, []byte{0xff, 0xfe}), bytes.Equal(begin, []byte{0xfe, 0xff}):
		in = bufio.NewReaderSize(transform.NewReader(in, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewDecoder()), 64<<10)
	default:
		if mark, _ := in.Peek(3); bytes.Equal(mark, wire.ByteOrderMark) {
			_, _ = in.Discard(3) // was peeked
		}
	}
	return open(in, comma)
}

func open(in *bufio.Reader, comma byte) (*Reader, error) {
	begin, err := in.Peek(in.Size())
	if err != nil && err != io.EOF {
		return nil, err
	}
	if looks := wire.LooksLike(wholeCharacters(begin)); looks != "" {
		return nil, fmt.Errorf("the file is not UTF-8: it looks like %s; convert it to UTF-8", looks)
	}
	text := bytes.TrimLeft(begin, " \t\r\n")
	switch {
	case len(text) == 0:
		return &Reader{next: func() (Row, error) { return Row{}, io.EOF }}, nil
	case comma == 0 && text[0] == '[':
		return newArrayReader(in, false)
	case comma == 0 && text[0] == '{' && isLines(text):
		return &Reader{next: linesOf(in)}, nil
	case comma == 0 && text[0] == '{':
		return newArrayReader(in, true)
	}
	if comma == 0 {
		comma = commaOf(text)
	}
	return newTableReader(in, comma)
}

// wholeCharacters returns the beginning of a text without a character that is cut off at its end.
func wholeCharacters(begin []byte) []byte {
	for i := len(begin) - 1; i >= max(0, len(begin)-utf8.UTFMax); i-- {
		if utf8.RuneStart(begin[i]) {
			if !utf8.FullRune(begin[i:]) {
				return begin[:i]
			}
			break
		}
	}
	return begin
}

// isLines reports whether a text that begins with an object has one object per line. A single line, or the beginning of a long one, can
// also be an object with an array of objects in it, as services answer.
func isLines(text []byte) bool {
	first, rest, _ := bytes.Cut(text, []byte{'\n'})
	rest = bytes.TrimLeft(rest, " \t\r\n")
	if len(rest) == 0 {
		return !hasArray(first)
	}
	first = bytes.TrimSpace(first)
	return first[len(first)-1] == '}' && rest[0] == '{'
}

// commaOf returns what parts the cells of the first line of a table.
func commaOf(text []byte) byte {
	first, _, _ := bytes.Cut(text, []byte{'\n'})
	counts := map[byte]int{}
	quoted := false
	for _, c := range first {
		if c == '"' {
			quoted = !quoted
		} else if !quoted {
			counts[c]++
		}
	}
	best := byte(',')
	for _, c := range []byte{';', '\t', '|'} {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best
}

// Sample reads the first rows, at most n and about a megabyte. Next returns them again.
func (r *Reader) Sample(n int) ([]Row, error) {
	if err := r.read(n); err != nil {
		return nil, err
	}
	return r.sample, nil
}

// Head is Sample for a file that was cut off somewhere. It leaves out the row at which it was.
func (r *Reader) Head(n int) []Row {
	if err := r.read(n); (err != nil || r.ended) && len(r.sample) > 0 {
		r.sample = r.sample[:len(r.sample)-1]
	}
	r.ended = false
	return r.sample
}

// Ended reports whether the rows that Sample has returned are all.
func (r *Reader) Ended() bool { return r.ended }

// read reads the rows of Sample.
func (r *Reader) read(n int) error {
	for size := 0; len(r.sample) < n && size < 1<<20; {
		row, err := r.next()
		if err == io.EOF {
			end := err
			r.next, r.ended = func() (Row, error) { return Row{}, end }, true
			return nil
		}
		if err != nil {
			return err
		}
		row.Text = bytes.Clone(row.Text)
		size += len(row.Text)
		r.sample = append(r.sample, row)
	}
	return nil
}

// Next returns the next row, whose Text is valid until the next call. At the end, the error is io.EOF.
func (r *Reader) Next() (Row, error) {
	if len(r.sample) > 0 {
		row := r.sample[0]
		r.sample = r.sample[1:]
		return row, nil
	}
	return r.next()
}

// linesOf reads JSON objects, one per line.
func linesOf(in io.Reader) func() (Row, error) {
	lines := wire.NewLines(in, MaxRow)
	return func() (Row, error) {
		text, err := lines.Next()
		row := Row{Line: int64(lines.Number())}
		if tooLong, ok := errors.AsType[*wire.TooLong](err); ok {
			row.Err = tooLong.Problem
			return row, nil
		}
		if err != nil {
			return row, err
		}
		return row.of(text), nil
	}
}

// of returns the row with the text of a JSON object.
func (row Row) of(text []byte) Row {
	row.Text = append(text[:len(text):len(text)], '\n')
	if err := wire.DecodeLine(text, &row.Row); err != nil {
		row.Err, _ = problem.As(err)
	}
	return row
}

func newTableReader(in io.Reader, comma byte) (*Reader, error) {
	rows := table.NewReader(in, comma, MaxRow)
	columns, err := rows.Header()
	if err != nil {
		return nil, err
	}
	return &Reader{Columns: columns, next: func() (Row, error) {
		read, err := rows.Next()
		if err != nil {
			return Row{}, err
		}
		row := Row{Line: int64(read.Line)}
		if p, bad := problem.As(read.Err); bad {
			row.Err = p
			return row, nil
		}
		row.Text, row.Row = AppendCSV(nil, read.Cells), mapping.RowOfCells(columns, read.Cells)
		return row, nil
	}}, nil
}

// AppendCSV appends a row with commas between its cells, and a line break.
func AppendCSV(dst []byte, cells []string) []byte {
	for i, cell := range cells {
		if i > 0 {
			dst = append(dst, ',')
		}
		plain := !strings.ContainsAny(cell, ",\"\r\n") && cell != "" && cell[0] != ' ' && cell[0] != 0xef
		if plain || cell == "" && len(cells) > 1 {
			dst = append(dst, cell...)
			continue
		}
		dst = append(append(append(dst, '"'), strings.ReplaceAll(cell, `"`, `""`)...), '"')
	}
	return append(dst, '\n')
}
