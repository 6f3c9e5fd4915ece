package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strings"
)

// ImportOptions says how rows of any form become documents. The zero value imports rows that have the form of a NewDocument.
type ImportOptions struct {
	// The names of the values that become the fields; empty: the name of the field. The texts of several names are joined by blank
	// lines. Values in nested objects have names with dots.
	ID, Title, Tags, URL, Collection string
	Text                             []string

	Rest    string // what becomes of other values: refuse (the default), drop or metadata
	Into    string // the collection of rows that have none
	Replace bool   // delete the documents of Into that are not among the rows, once all are stored and none failed
}

// query returns the parameters of the request.
func (o *ImportOptions) query() url.Values {
	values := url.Values{}
	for _, p := range []struct{ name, value string }{
		{"id", o.ID},
		{"title", o.Title},
		{"text", strings.Join(o.Text, ",")},
		{"tags", o.Tags},
		{"url", o.URL},
		{"collection", o.Collection},
		{"rest", o.Rest},
		{"into", o.Into},
	} {
		set(values, p.name, p.value)
	}
	if o.Replace {
		values.Set("replace", "true")
	}
	return values
}

// ImportRows are rows to import.
type ImportRows interface {
	// Header returns the first row of a CSV, with its line break; nil if the rows are JSON objects.
	Header() []byte
	// Next returns the next row, which ends with a line break and can contain others in a CSV, and the number of its line in the
	// source. At the end, the error is io.EOF; a *RefusedRow is an error that affects no other row. The row is valid until the next call.
	Next() (row []byte, line int64, err error)
}

// RefusedRow is a row that is not sent, because it cannot be read. It counts as one that the server refused. But if Repeated is set, it is
// equal to a row before it that has no ID, and counts as the server counts such a row.
type RefusedRow struct {
	ImportError
	Repeated bool
}

func (r *RefusedRow) Error() string { return r.Message }

// refuse counts a row that was not sent.
func (i *Import) refuse(r *RefusedRow) {
	i.Received++
	if r.Repeated {
		i.Issues = addIssues(i.Issues, []ImportIssue{{Field: "body", Issue: "duplicate", Count: 1}})
		return
	}
	i.Failed++
	i.Issues = addIssues(i.Issues, []ImportIssue{{Field: r.Field, Issue: r.Issue, Count: 1}})
	if len(i.Errors) < keptErrors {
		i.Errors = append(i.Errors, r.ImportError)
	}
}

// ErrTooManyRows ends an import with Replace: the rows do not fit into one request, which they must.
var ErrTooManyRows = errors.New("the rows take more than 64 MiB")

// largestBody is the size of the largest body of an import.
const largestBody = 64 << 20

// ImportRows sends rows, and maps them to documents as o says. They are sent in parts of a few megabytes; with o.Replace in one
// request of at most 64 MiB, because the server must know all rows. progress can be nil; it is called after each part. If a part fails,
// the result of the parts before it is returned with the error. The same rows can be imported again.
func (c *Client) ImportRows(ctx context.Context, rows ImportRows, o ImportOptions, progress func()) (*DocumentImport, error) {
	total := &DocumentImport{Import: Import{Errors: []ImportError{}, Issues: []ImportIssue{}}}
	p := rowParts{rows: rows, maxBytes: partBytes, maxRows: partLines}
	if o.Replace {
		p.maxBytes, p.maxRows = largestBody, largestBody
	}
	for number := 1; ; number++ {
		part, err := p.next()
		for _, refused := range p.refused {
			total.refuse(refused)
		}
		p.refused = nil
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		if o.Replace && !part.last {
			return total, ErrTooManyRows
		}
		if total.Failed > 0 {
			o.Replace = false // rows are missing
		}
		r := request{method: http.MethodPost, path: documents + "/import", query: o.query(), body: part.data, contentType: mediaLines, keyed: true}
		if rows.Header() != nil {
			r.contentType = mediaCSV
		}
		if number > 1 {
			r.keySuffix = fmt.Sprintf("-%d", number)
		}
		outcome, err := result[DocumentImport](func(out any) error { return c.call(ctx, r, out) })
		if err != nil {
			if number == 1 {
				return total, err
			}
			return total, fmt.Errorf("the rows before line %d were sent, and the rest was not: %w", part.lines[0].line, err)
		}
		for i := range outcome.Errors {
			outcome.Errors[i].Line = part.sourceLine(outcome.Errors[i].Line)
		}
		total.addPart(outcome, 1)
		if progress != nil {
			progress()
		}
		if part.last {
			return total, nil
		}
	}
}

const mediaCSV = "text/csv"

// rowPart is the body of a request with rows.
type rowPart struct {
	data  []byte
	lines []rowLine
	last  bool
}

// rowLine is where a row begins.
type rowLine struct{ inPart, line int64 }

// sourceLine returns the line in the source of a line of the body.
func (p *rowPart) sourceLine(line int64) int64 {
	i := sort.Search(len(p.lines), func(i int) bool { return p.lines[i].inPart > line }) - 1
	if i < 0 {
		return line
	}
	return p.lines[i].line + line - p.lines[i].inPart
}

// rowParts makes parts of rows.
type rowParts struct {
	rows              ImportRows
	maxBytes, maxRows int

	carry     []byte // a row that did not fit into the last part
	carryLine int64
	begun     bool
	refused   []*RefusedRow // since the last part
}

// next returns the next part. At the end, the error is io.EOF. Rows that are none at all are one empty part.
func (p *rowParts) next() (*rowPart, error) {
	part := &rowPart{data: slices.Clone(p.rows.Header())}
	inPart := int64(1 + bytes.Count(part.data, []byte{'\n'}))
	add := func(row []byte, line int64) {
		part.lines = append(part.lines, rowLine{inPart, line})
		part.data = append(part.data, row...)
		inPart += int64(bytes.Count(row, []byte{'\n'}))
	}
	if p.carry != nil {
		add(p.carry, p.carryLine)
		p.carry = nil
	}
	for len(part.lines) < p.maxRows {
		row, line, err := p.rows.Next()
		if err == io.EOF {
			part.last = true
			if len(part.lines) == 0 && p.begun {
				return nil, io.EOF
			}
			p.begun = true
			return part, nil
		}
		if refused, ok := errors.AsType[*RefusedRow](err); ok {
			p.refused = append(p.refused, refused)
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(part.data)+len(row) > p.maxBytes && len(part.lines) > 0 {
			p.carry, p.carryLine = slices.Clone(row), line
			break
		}
		add(row, line)
	}
	p.begun = true
	return part, nil
}
