package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Import is the outcome of an import.
type Import struct {
	Received int64         `json:"received"` // lines that were not blank
	Created  int64         `json:"created"`
	Replaced int64         `json:"replaced"`
	Failed   int64         `json:"failed"`
	Errors   []ImportError `json:"errors"` // the first 100
}

// ImportError is a line that was refused. The others of its import are not affected.
type ImportError struct {
	Line    int64  `json:"line"` // from 1
	Field   string `json:"field"`
	Issue   string `json:"issue"`
	Message string `json:"message"`
}

// The parts in which an import is sent. Each is one request that can be repeated from memory.
const (
	partBytes  = 4 << 20
	partLines  = 5_000
	lineBytes  = 4 << 20 // no line the server takes is longer; a longer one ends the import
	keptErrors = 100
)

// ErrLineTooLong ends an import: no document is that large, the input is not one JSON object a line.
var ErrLineTooLong = errors.New("a line is longer than any document may be")

// ImportDocuments sends NDJSON, one document a line, of any length. It goes in parts of a few megabytes; progress, if
// given, hears after each part how many bytes of r have been dealt with. When a part fails, the outcome of the parts
// before it comes back beside the error; documents with ids may simply be imported again.
func (c *Client) ImportDocuments(ctx context.Context, r io.Reader, progress func(bytes int64)) (*Import, error) {
	total := &Import{Errors: []ImportError{}}
	parts := partReader{lines: bufio.NewReaderSize(r, 64<<10)}
	var done int64
	for {
		part, err := parts.next()
		if err == io.EOF {
			return total, nil
		}
		if err != nil {
			return total, err
		}
		outcome, err := c.importPart(ctx, part)
		if err != nil {
			return total, fmt.Errorf("from line %d: %w", part.firstLine, err)
		}
		total.add(outcome, part.firstLine)
		done += int64(len(part.data))
		if progress != nil {
			progress(done)
		}
	}
}

func (c *Client) importPart(ctx context.Context, p part) (*Import, error) {
	return result[Import](func(out any) error {
		return c.call(ctx, request{
			method: http.MethodPost, path: documents + "/import",
			body: p.data, contentType: "application/x-ndjson",
			once: !p.named(), // a line without an id would become a second document
		}, out)
	})
}

// add counts a part's outcome in; its line numbers begin at firstLine.
func (i *Import) add(p *Import, firstLine int64) {
	i.Received += p.Received
	i.Created += p.Created
	i.Replaced += p.Replaced
	i.Failed += p.Failed
	for _, e := range p.Errors {
		if len(i.Errors) == keptErrors {
			return
		}
		e.Line += firstLine - 1
		i.Errors = append(i.Errors, e)
	}
}

// part is some whole lines of an import.
type part struct {
	data      []byte
	firstLine int64
}

// named reports whether every line carries an id, so that sending the part twice makes nothing twice.
func (p part) named() bool {
	for line := range bytes.Lines(p.data) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var document struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(line, &document) != nil || document.ID == "" {
			return false
		}
	}
	return true
}

// partReader cuts a stream into parts at line ends.
type partReader struct {
	lines *bufio.Reader
	line  int64  // lines read so far
	carry []byte // a line that did not fit into the last part
	end   error  // io.EOF, or why reading ended; the lines before it still make a part
}

func (r *partReader) next() (part, error) {
	p := part{firstLine: r.line + 1}
	if r.carry != nil {
		p.firstLine = r.line
		p.data, r.carry = r.carry, nil
	}
	for lines := 0; lines < partLines && r.end == nil; lines++ {
		var line []byte
		if line, r.end = r.readLine(); r.end != nil {
			break
		}
		r.line++
		if len(p.data)+len(line) > partBytes && len(p.data) > 0 {
			r.carry = line
			break
		}
		p.data = append(p.data, line...)
	}
	if len(p.data) == 0 {
		return part{}, r.end
	}
	return p, nil
}

// readLine gives a line with its end; the last one may lack it.
func (r *partReader) readLine() ([]byte, error) {
	var line []byte
	for {
		piece, err := r.lines.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > lineBytes:
			return nil, fmt.Errorf("line %d: %w", r.line+1, ErrLineTooLong)
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && len(line) > 0:
			return line, nil
		case err == io.EOF:
			return nil, io.EOF
		case err != nil:
			return nil, fmt.Errorf("read the input: %w", err)
		default:
			return line, nil
		}
	}
}
