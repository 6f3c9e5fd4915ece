package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
)

// Import is the result of an import.
type Import struct {
	Received int64         `json:"received"` // lines that were not blank
	Created  int64         `json:"created"`
	Replaced int64         `json:"replaced"`
	Failed   int64         `json:"failed"`
	Errors   []ImportError `json:"errors"` // the first 100
	Issues   []ImportIssue `json:"issues"` // all failures
}

// DocumentImport is the result of an import of documents.
type DocumentImport struct {
	Import
	Deleted int64 `json:"deleted"` // documents that a collection had and the import did not, if it replaces the collection
}

// ImportError is a refused line. It does not affect the other lines.
type ImportError struct {
	Line    int64  `json:"line"` // from 1
	Field   string `json:"field"`
	Issue   string `json:"issue"`
	Message string `json:"message"`
}

// ImportIssue counts the lines that were refused for one reason.
type ImportIssue struct {
	Field string `json:"field"`
	Issue string `json:"issue"`
	Count int64  `json:"count"`
}

// addIssues adds the counts of later lines.
func addIssues(total, later []ImportIssue) []ImportIssue {
	for _, issue := range later {
		i := slices.IndexFunc(total, func(o ImportIssue) bool { return o.Field == issue.Field && o.Issue == issue.Issue })
		if i < 0 {
			total = append(total, issue)
		} else {
			total[i].Count += issue.Count
		}
	}
	slices.SortStableFunc(total, func(a, b ImportIssue) int { return cmp.Compare(b.Count, a.Count) })
	return total
}

// The limits of the parts in which an import is sent. Each part is one request that can be repeated from memory.
const (
	partBytes  = 4 << 20
	partLines  = 5_000
	keptErrors = 100
)

// ErrLineTooLong ends an import: the server accepts no line of that length. The input is probably not one JSON object per
// line.
var ErrLineTooLong = errors.New("a line is longer than any may be")

// ImportDocuments sends NDJSON of any length, with one document per line, or a JSON array of any length, whose elements count as
// lines. It is sent in parts of a few megabytes. progress can be nil; it is called after each part with the number of bytes of
// r that were processed. If a part fails, the result of the parts before it is returned with the error. The same lines can be
// imported again.
func (c *Client) ImportDocuments(ctx context.Context, r io.Reader, progress func(bytes int64)) (*DocumentImport, error) {
	total := &DocumentImport{Import: Import{Errors: []ImportError{}, Issues: []ImportIssue{}}}
	const longest = 4 << 20
	in := bufio.NewReader(r)
	if !beginsArray(in) {
		return total, importLines(ctx, c, documents, newParts(in, longest), always, progress, total.addPart)
	}
	elements := &arrayReader{decoder: json.NewDecoder(in)}
	if progress != nil {
		report := progress
		progress = func(int64) { report(elements.decoder.InputOffset()) }
	}
	return total, importLines(ctx, c, documents, newParts(elements, longest), always, progress, total.addPart)
}

// always says that any part can be sent again.
func always(part) bool { return true }

// importLines sends parts to the import of a resource. It calls add with the result of each. repeatable reports whether a part that is
// sent again stores nothing twice.
func importLines[T any](ctx context.Context, c *Client, resource string, parts *partReader, repeatable func(part) bool, progress func(bytes int64), add func(outcome *T, firstLine int64)) error {
	var done int64
	for {
		part, err := parts.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		r := request{
			method: http.MethodPost, path: resource + "/import", body: part.data, contentType: mediaLines,
			keyed: repeatable(part),
		}
		if part.firstLine > 1 {
			r.keySuffix = fmt.Sprintf("-%d", part.firstLine)
		}
		outcome, err := result[T](func(out any) error { return c.call(ctx, r, out) })
		if err != nil {
			if part.firstLine == 1 {
				return err
			}
			return fmt.Errorf("the lines before line %d were sent, and the rest was not: %w", part.firstLine, err)
		}
		add(outcome, part.firstLine)
		if done += int64(len(part.data)); progress != nil {
			progress(done)
		}
	}
}

// addPart adds the result of a part whose first line is firstLine.
func (i *DocumentImport) addPart(p *DocumentImport, firstLine int64) {
	i.add(&p.Import, firstLine)
	i.Deleted += p.Deleted
}

// add adds the result of a part whose first line is firstLine.
func (i *Import) add(p *Import, firstLine int64) {
	i.Received += p.Received
	i.Created += p.Created
	i.Replaced += p.Replaced
	i.Failed += p.Failed
	i.Issues = addIssues(i.Issues, p.Issues)
	for _, e := range p.Errors {
		if len(i.Errors) == keptErrors {
			return
		}
		e.Line += firstLine - 1
		i.Errors = append(i.Errors, e)
	}
}

// part is a number of whole lines of an import.
type part struct {
	data      []byte
	firstLine int64
}

// named reports whether every line has an ID, so that sending the part twice stores nothing twice.
func (p part) named() bool {
	for line := range bytes.Lines(p.data) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var document struct {
			ID any `json:"id"` // a string or an integer
		}
		if json.Unmarshal(line, &document) != nil || document.ID == nil || document.ID == "" {
			return false
		}
	}
	return true
}

// partReader splits a stream into parts at line ends.
type partReader struct {
	lines   *bufio.Reader
	longest int    // a line that is longer ends the import
	line    int64  // lines read so far
	carry   []byte // a line that did not fit into the last part
	end     error  // io.EOF, or the read error; the lines before it still form a part
}

func newParts(r io.Reader, longest int) *partReader {
	return &partReader{lines: bufio.NewReaderSize(r, 64<<10), longest: longest}
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

// readLine returns a line with its line break, which the last line can lack.
func (r *partReader) readLine() ([]byte, error) {
	var line []byte
	for {
		piece, err := r.lines.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > r.longest:
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
