// Package table reads CSV (RFC 4180) row by row, in bounded memory. A row that cannot be read does not affect the others.
package table

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
)

const (
	// MaxColumns is the number of columns that a table can have.
	MaxColumns = 1_000
	// MaxName is the length of a column's name in bytes.
	MaxName = 1_024
)

// Row is a row of a table.
type Row struct {
	Line  int      // on which the row begins, from 1
	Cells []string // one for each column; an empty cell is an empty string
	Err   error    // a 400 *problem.Problem: the row cannot be read
}

// Reader reads a table. A byte order mark at its beginning is skipped.
//
// A quote that is never closed would make the rest of the table one cell. So a row that exceeds the limit inside of quotes, or
// at whose end a quote is open, fails alone, and reading continues at its second line.
type Reader struct {
	in      source
	comma   byte
	limit   int
	line    int // lines that were read
	columns int
	first   bool   // nothing was read
	raw     []byte // the row that is being read
	// doubtful is set from a row with an open quote to the next one with all cells, because lines between them can be parts of its cell.
	doubtful bool
}

// NewReader returns a Reader of a table whose cells are parted by comma, an ASCII character. Rows have at most limit bytes.
func NewReader(r io.Reader, comma byte, limit int) *Reader {
	return &Reader{in: source{in: bufio.NewReaderSize(r, 64<<10)}, comma: comma, limit: limit, first: true}
}

// Header reads the names of the columns. Call it first. Its error is a 400 *problem.Problem, or that of the input.
func (r *Reader) Header() ([]string, error) {
	begin, _ := r.in.in.Peek(512) // an error comes again with the next read
	if looks := wire.LooksLike(begin); strings.HasPrefix(looks, "UTF-") {
		return nil, notUTF8("table", looks)
	}
	row, err := r.next(false)
	switch {
	case err == io.EOF:
		return nil, problem.Validation("body", problem.Required, "A table needs a first row with the names of its columns.")
	case err != nil:
		return nil, err
	case row.Err != nil:
		return nil, row.Err
	}
	seen := make(map[string]bool, len(row.Cells))
	for i, name := range row.Cells {
		if name = strings.TrimSpace(name); name == "" {
			name = fmt.Sprintf("column_%d", i+1)
		}
		switch {
		case len(name) > MaxName:
			return nil, problem.Validation("body", problem.TooLong, fmt.Sprintf("The name of column %d is longer than %d bytes.", i+1, MaxName))
		case seen[name]:
			return nil, problem.Validation(name, problem.Duplicate, fmt.Sprintf("The table has two columns with the name of column %d.", i+1))
		}
		seen[name] = true
		row.Cells[i] = name
	}
	r.columns = len(row.Cells)
	return row.Cells, nil
}

// Next reads the next row that is not blank. At the end, the error is io.EOF. Other errors are those of the input.
func (r *Reader) Next() (Row, error) {
	reread := r.in.rereads()
	row, err := r.next(true)
	if err != nil || row.Err != nil {
		return row, err
	}
	n := len(row.Cells)
	for n > r.columns && row.Cells[n-1] == "" {
		n--
	}
	switch {
	case n > r.columns:
		row.Err = problem.Validation("body", problem.Format, fmt.Sprintf("The row has %d cells, but the table has %d columns.", n, r.columns))
	case n < r.columns && r.doubtful: // probably a line of a cell that was not closed
		row.Err = problem.Validation("body", problem.Format, fmt.Sprintf("The row has %d cells instead of %d. It follows a row with a quote that is not closed.", n, r.columns))
	}
	if n == r.columns && !reread {
		r.doubtful = false
	}
	row.Cells = row.Cells[:min(n, r.columns)]
	for len(row.Cells) < r.columns {
		row.Cells = append(row.Cells, "")
	}
	return row, nil
}

// next reads a row. skip is whether reading continues after a row that cannot be read.
func (r *Reader) next(skip bool) (Row, error) {
	for {
		row, blank, err := r.read(skip)
		if err != nil || !blank {
			return row, err
		}
	}
}

func (r *Reader) read(skip bool) (row Row, blank bool, err error) {
	cells := cells{comma: r.comma}
	r.raw, r.in.fresh = r.raw[:0], false
	second := 0 // where the second line of the row begins
	for done := false; !done; {
		size := len(r.raw)
		fits, err := r.readLine()
		ended := err == io.EOF
		switch {
		case err != nil && !ended:
			return Row{}, false, err
		case ended && size == 0:
			return Row{}, false, io.EOF
		case size == 0:
			second, row.Line = len(r.raw), r.line
		}
		fault := ""
		switch {
		case !fits && size == 0:
			row.Err = problem.Validation("body", problem.TooLong, fmt.Sprintf("A row must have at most %d bytes.", r.limit))
			return row, false, nil
		case !fits:
			fault = fmt.Sprintf("The row is longer than %d bytes, or a quote in it is not closed.", r.limit)
		case ended:
			fault = "A quote is not closed."
		default:
			done, fault = cells.add(r.raw[size:])
		}
		if fault != "" {
			if skip {
				r.in.unread(r.raw[second:])
				r.line, r.doubtful = row.Line, true
			}
			row.Err = problem.Validation("body", problem.Format, fault)
			return row, false, nil
		}
	}
	switch {
	case cells.blank():
		return row, true, nil
	case cells.count > MaxColumns:
		row.Err = problem.Validation("body", problem.TooLong, fmt.Sprintf("A row must have at most %d cells.", MaxColumns))
	default:
		if looks := wire.LooksLike(r.raw); looks != "" {
			row.Err = notUTF8("row", looks)
		}
	}
	row.Cells = cells.list
	return row, false, nil
}

// readLine appends a line with its line break to raw, which the last line can lack. If raw becomes longer than the limit, fits is
// false: the rest of a first line of a row is skipped, and that of another line stays unread. At the end of the input, nothing is
// appended and the error is io.EOF.
func (r *Reader) readLine() (fits bool, err error) {
	begin := len(r.raw)
	for {
		part, complete, err := r.in.part()
		if err == io.EOF && len(r.raw) > begin {
			complete, err = true, nil
		}
		if err != nil {
			return true, err
		}
		if r.first {
			part, r.first = bytes.TrimPrefix(part, wire.ByteOrderMark), false
		}
		r.raw = append(r.raw, part...)
		over := len(r.raw) > r.limit
		if over && begin > 0 {
			return false, nil
		}
		for ; over && !complete; _, complete, err = r.in.part() {
			if err == io.EOF {
				break
			}
			if err != nil {
				return true, err
			}
		}
		if over || complete {
			r.line++
			return !over, nil
		}
	}
}

func notUTF8(what, looks string) error {
	return problem.Validation("body", problem.Format, fmt.Sprintf("The %s is not UTF-8: it looks like %s. Convert it to UTF-8.", what, looks))
}
