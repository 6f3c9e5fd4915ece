package v1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"keepsake/internal/document"
	"keepsake/internal/endpoint"
	"keepsake/internal/problem"
)

type importResult struct {
	Body struct {
		Received int         `json:"received"`
		Created  int         `json:"created"`
		Replaced int         `json:"replaced"`
		Failed   int         `json:"failed"`
		Errors   []lineError `json:"errors" doc:"The first 100 errors."`
	}
}

type lineError struct {
	Line    int    `json:"line" doc:"The number of the line, starting at 1."`
	Field   string `json:"field"`
	Issue   string `json:"issue"`
	Message string `json:"message"`
}

func viewOfImport(i document.Imported) *importResult {
	out := &importResult{}
	out.Body.Received, out.Body.Created, out.Body.Replaced, out.Body.Failed = i.Received, i.Created, i.Replaced, i.Failed
	out.Body.Errors = make([]lineError, len(i.Errors))
	for n, e := range i.Errors {
		out.Body.Errors[n] = lineError(e)
	}
	return out
}

// maxLine is the maximum size of a line: the longest text with every character escaped.
const maxLine = 2 << 20

// documentLines reads documents from a body with one JSON object per line. It skips blank lines. A line that is too long or
// invalid is returned as such; an unreadable body is an error.
func documentLines(body io.Reader, decoder *endpoint.Decoder[newDocument]) document.Lines {
	r := bufio.NewReaderSize(body, 64<<10)
	var buf []byte
	number := 0
	return func() (document.Line, bool, error) {
		for {
			var tooLong bool
			var err error
			buf, tooLong, err = readLine(r, buf[:0])
			if err != nil && err != io.EOF {
				return document.Line{}, false, err
			}
			ended := err == io.EOF
			if ended && len(buf) == 0 && !tooLong {
				return document.Line{}, false, nil
			}
			number++
			line := document.Line{Number: number}
			if tooLong {
				line.Err = problem.Validation("body", problem.TooLong, fmt.Sprintf("A line must have at most %d bytes.", maxLine))
				return line, true, nil
			}
			if len(bytes.TrimSpace(buf)) == 0 {
				continue
			}
			line.ID, line.Fields, line.Err = decodeLine(decoder, buf)
			return line, true, nil
		}
	}
}

func decodeLine(decoder *endpoint.Decoder[newDocument], data []byte) (id string, f document.Fields, err error) {
	var d newDocument
	if err := decoder.Decode(data, &d); err != nil {
		return "", f, err
	}
	if d.ID != nil {
		id = *d.ID
	}
	return id, d.fields(), nil
}

// readLine appends the next line to buf, without its end. It keeps nothing of a line that is too long.
func readLine(r *bufio.Reader, buf []byte) (line []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(buf)+len(part) > maxLine+1; tooLong {
			buf = buf[:0]
		} else {
			buf = append(buf, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		return bytes.TrimSuffix(buf, []byte("\n")), tooLong, err
	}
}
