package endpoint

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"

	"keepsake/internal/base/problem"
)

// MaxBody is the maximum size of a request body of the class.
func (c Class) MaxBody() int64 {
	switch c {
	case Batch:
		return 8 << 20
	case Stream:
		return 64 << 20
	default:
		return 1 << 20
	}
}

// bindBody reads and decodes the body. It also writes what it reads to copied, unless that is nil.
func (d *input) bindBody(r *http.Request, in reflect.Value, copied io.Writer) error {
	if _, err := d.accept(r); err != nil {
		return err
	}
	buf := buffers.Get().(*[]byte)
	defer release(buf)
	data, err := readBody(r, d.limit, (*buf)[:0])
	if err != nil {
		return err
	}
	*buf = data
	if copied != nil {
		if _, err := copied.Write(data); err != nil {
			return err
		}
	}
	field := in.FieldByIndex(d.bodyIndex)
	target := field.Addr()
	if d.bodyOptional {
		if len(data) == 0 {
			return nil
		}
		target = reflect.New(field.Type().Elem())
		field.Set(target)
	}
	if d.items != nil {
		return d.body.decodeItems(data, target, d.items)
	}
	return d.body.decode(data, target)
}

// buffers are reused for bodies. The decoder copies what it keeps.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func release(buf *[]byte) {
	const most = 64 << 10 // larger buffers are not reused
	if cap(*buf) <= most {
		buffers.Put(buf)
	}
}

// readBody appends the body to buf.
func readBody(r *http.Request, limit int64, buf []byte) ([]byte, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if r.Body == nil {
		return buf, nil
	}
	if need := max(512, min(r.ContentLength, 64<<10)+1); int64(cap(buf)) < need { // do not trust Content-Length further
		buf = make([]byte, 0, need)
	}
	for {
		if len(buf) == cap(buf) {
			more := max(512, int64(len(buf))) // twice as much as arrived
			if left := r.ContentLength + 1 - int64(len(buf)); left > 0 {
				more = min(more, left)
			}
			buf = slices.Grow(buf, int(more))
		}
		n, err := r.Body.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		switch {
		case int64(len(buf)) > limit:
			return nil, tooLarge(limit)
		case err == io.EOF:
			return buf, nil
		case err != nil:
			return nil, broken(err, limit)
		}
	}
}

// accept checks the media type of a body, if there is one, and returns it without aliases and parameters.
func (d *input) accept(r *http.Request) (media string, err error) {
	if r.ContentLength == 0 {
		return d.media, nil
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return "", unsupportedMedia("The body must not have a Content-Encoding, such as gzip.")
	}
	types := r.Header["Content-Type"]
	if len(types) != 1 {
		return "", unsupportedMedia("Send the header Content-Type once: " + d.accepted() + ".")
	}
	if types[0] == d.media {
		return d.media, nil
	}
	media, params, err := mime.ParseMediaType(types[0])
	switch {
	case d.patch && media == mediaMergePatch, d.media == MediaLines && slices.Contains(linesAliases, media):
		media = d.media
	}
	known := media == d.media || d.arrayIndex != nil && media == mediaJSON || d.tableIndex != nil && media == MediaCSV
	if charset := params["charset"]; err != nil || !known || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "", unsupportedMedia(fmt.Sprintf("The body must be %s in UTF-8, not %q.", d.accepted(), printable(types[0])))
	}
	return media, nil
}

// accepted names the media types of the body.
func (d *input) accepted() string {
	accepted := d.media
	if d.tableIndex != nil {
		accepted += ", " + MediaCSV
	}
	if d.arrayIndex != nil {
		accepted += " or " + mediaJSON
	}
	return accepted
}

func (d *input) bindStream(r *http.Request, in reflect.Value) error {
	media, err := d.accept(r)
	if err != nil {
		return err
	}
	limit := d.limit
	if media == MediaCSV && d.tableIndex != nil {
		in.FieldByIndex(d.tableIndex).SetBool(true)
	}
	if media == mediaJSON && d.arrayIndex != nil {
		in.FieldByIndex(d.arrayIndex).SetBool(true)
		limit = Batch.MaxBody() // its reader needs the whole array
	}
	body, err := open(r, limit)
	if err != nil {
		return err
	}
	in.FieldByIndex(d.streamIndex).Set(reflect.ValueOf(body))
	return nil
}

// bindRaw reads the body without decoding it.
func (d *input) bindRaw(r *http.Request, in reflect.Value) error {
	if _, err := d.accept(r); err != nil {
		return err
	}
	data, err := readBody(r, d.limit, nil)
	if err != nil {
		return err
	}
	in.FieldByIndex(d.rawIndex).SetBytes(data)
	return nil
}

// open returns a body of at most limit bytes that is read as it arrives.
func open(r *http.Request, limit int64) (io.Reader, error) {
	if r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if r.Body == nil {
		return strings.NewReader(""), nil
	}
	return &stream{body: r.Body, limit: limit, left: limit}, nil
}

// stream is a body that is read as it arrives. Its errors are problems: 413, or 400 for a truncated one.
type stream struct {
	body        io.Reader
	limit, left int64
}

func (s *stream) Read(p []byte) (int, error) {
	if int64(len(p)) > s.left+1 {
		p = p[:s.left+1]
	}
	n, err := s.body.Read(p)
	if s.left -= int64(n); s.left < 0 {
		return 0, tooLarge(s.limit)
	}
	if err != nil && err != io.EOF {
		err = broken(err, s.limit)
	}
	return n, err
}

func tooLarge(limit int64) error {
	return problem.New(problem.TooLarge, problem.CodePayloadTooLarge, fmt.Sprintf("The body is larger than %d MiB.", limit>>20))
}

// broken returns the problem of a failed read: one that the error already is, an exceeded limit, or a truncated body.
func broken(err error, limit int64) error {
	if _, ok := problem.As(err); ok {
		return err
	}
	if over, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(min(over.Limit, limit))
	}
	return problem.Validation("body", problem.Format, "The body was cut off.").Because(err)
}

func unsupportedMedia(message string) error {
	return problem.New(problem.UnsupportedMedia, problem.CodeUnsupportedMedia, message)
}
