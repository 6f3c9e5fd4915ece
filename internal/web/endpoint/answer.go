package endpoint

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"keepsake/internal/base/wire"
)

// Response is an encoded response that was not sent yet.
type Response struct {
	Status int
	Header []Field // from fields of Out: ETag, Location
	Body   []byte  // JSON, or of type Media; nil with 204
	// Kept is Body for a repeated request: secrets that are shown once are null. It equals Body if there are none.
	Kept []byte
	// Pieces replaces Body unless it is nil: pieces that are encoded while they are sent, each valid until the next.
	Pieces iter.Seq2[[]byte, error]
	Media  string // of Pieces, and of Body if that is not JSON
}

// Field is a response header with its canonical name.
type Field struct{ Name, Value string }

// output is the compiled Out of an operation.
type output struct {
	typ         reflect.Type
	status      int
	statuses    []int // all possible ones
	statusIndex []int
	headers     []outHeader
	body        *shape
	bodyIndex   []int
	once        map[string]bool // the members of the body that are shown once
	sequence    bool            // the body contains a Sequence
	line        *shape          // of each line; nil if the operation has no Lines
	linesIndex  []int
	csvIndex    []int // of the table; nil if the operation has no CSV
	rawIndex    []int // of a body that the operation encodes itself; nil if it has none
	rawMedia    string
}

type outHeader struct {
	name      string // as documented: ETag
	canonical string // as in http.Header: Etag
	index     []int
}

func compileOutput(op *Operation, t reflect.Type) *output {
	o := &output{typ: t, status: op.Status, statuses: []int{op.Status}, once: map[string]bool{}}
	shapes := newShapes(answered)
	for _, f := range visibleFields(t) {
		name, isHeader := f.Tag.Lookup("header")
		switch {
		case isHeader && f.Type.Kind() == reflect.String:
			o.headers = append(o.headers, outHeader{name: name, canonical: http.CanonicalHeaderKey(name), index: f.Index})
		case f.Name == "Status" && f.Type.Kind() == reflect.Int:
			o.statusIndex = f.Index
			o.statuses = statusesOf(op, f)
		case f.Name == "Body":
			o.bodyIndex = f.Index
			o.body = shapes.of(f.Type)
			for i := range o.body.members {
				if m := &o.body.members[i]; m.once {
					o.once[m.name] = true
				}
			}
			o.sequence = shapes.sequences > 0
		case f.Name == "Lines":
			item, ok := isSequence(f.Type)
			if !ok {
				panic(fmt.Sprintf("endpoint: %s: Lines is no Sequence", op.ID))
			}
			if op.Class != Stream {
				panic(fmt.Sprintf("endpoint: %s: an answer in lines takes its time, which is the class Stream", op.ID))
			}
			o.linesIndex = f.Index
			o.line = shapes.of(item)
		case f.Name == "CSV" && f.Type == reflect.TypeFor[[]byte]():
			o.csvIndex = f.Index
		case f.Name == "Raw" && f.Type == reflect.TypeFor[[]byte]():
			o.rawIndex, o.rawMedia = f.Index, f.Tag.Get("media")
		default:
			panic(fmt.Sprintf("endpoint: %s: field %s is neither Status, a header, Body, Lines, CSV nor Raw", op.ID, f.Name))
		}
	}
	for _, s := range shapes.objects {
		if s != o.body && slices.ContainsFunc(s.members, func(m member) bool { return m.once }) {
			panic(fmt.Sprintf("endpoint: %s: only a member of the body itself can be shown once, not one of %s", op.ID, s.typ))
		}
	}
	if o.sequence && len(o.once) > 0 {
		panic(fmt.Sprintf("endpoint: %s: a body with a Sequence shows nothing once", op.ID))
	}
	if (o.body == nil && o.line == nil && o.rawIndex == nil) != (op.Status == 204) {
		panic(fmt.Sprintf("endpoint: %s: status %d, but Body says otherwise", op.ID, op.Status))
	}
	return o
}

// statusesOf reads the tag enum of a Status field.
func statusesOf(op *Operation, f reflect.StructField) []int {
	var list []int
	for text := range strings.SplitSeq(f.Tag.Get("enum"), ",") {
		status, err := strconv.Atoi(text)
		must(err, f, "enum")
		list = append(list, status)
	}
	if slices.Contains(list, op.Status) {
		return list
	}
	panic(fmt.Sprintf("endpoint: %s: its own status %d is not among %v", op.ID, op.Status, list))
}

// encode fills response, which is the zero Response. It encodes a body with a sequence while it is sent, unless whole is
// set.
func (o *output) encode(response *Response, out any, buf []byte, whole bool) (err error) {
	response.Status = o.status
	v := reflect.ValueOf(out)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem() != o.typ {
		return errors.New("an operation gave no answer and no error")
	}
	v = v.Elem()
	if o.statusIndex != nil {
		if status := v.FieldByIndex(o.statusIndex).Int(); status != 0 {
			response.Status = int(status)
		}
	}
	for i := range o.headers {
		h := &o.headers[i]
		if text := v.FieldByIndex(h.index).String(); text != "" {
			response.Header = append(response.Header, Field{h.canonical, text})
		}
	}
	if o.rawIndex != nil {
		response.Body = v.FieldByIndex(o.rawIndex).Bytes()
		response.Media, response.Kept = o.rawMedia, response.Body
		return nil
	}
	if o.asTable(response, v) || o.inPieces(response, v, whole) || o.body == nil {
		return nil
	}
	start := len(buf)
	if buf, err = wire.Append(buf, v.FieldByIndex(o.bodyIndex).Addr().Interface()); err != nil {
		return fmt.Errorf("encode %s: %w", o.typ, err)
	}
	buf = append(buf, '\n')
	response.Body = buf[start:]
	response.Kept = response.Body
	if len(o.once) > 0 {
		response.Kept, err = o.withoutSecrets(response.Body)
	}
	return err
}

// asTable makes response a table, if v has one.
func (o *output) asTable(response *Response, v reflect.Value) bool {
	if o.csvIndex == nil {
		return false
	}
	response.Body = v.FieldByIndex(o.csvIndex).Bytes()
	if response.Body == nil {
		return false
	}
	response.Media, response.Kept = MediaCSV+"; charset=utf-8", response.Body
	return true
}

// inPieces makes response one that is encoded while it is sent, if v is such a response.
func (o *output) inPieces(response *Response, v reflect.Value, whole bool) bool {
	if o.line != nil {
		if lines := v.FieldByIndex(o.linesIndex); !lines.IsNil() {
			response.Media, response.Pieces = MediaLines, o.lines(lines.Interface().(sequence))
			return true
		}
	}
	if !o.sequence || whole {
		return false
	}
	response.Media, response.Pieces = mediaJSON, o.bodyInPieces(v.FieldByIndex(o.bodyIndex).Addr().Interface())
	return true
}

// withoutSecrets returns a body in which members that are shown once are null. Omitted members stay omitted.
func (o *output) withoutSecrets(body []byte) ([]byte, error) {
	var kept []byte
	from := 0
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	_, err := dec.ReadToken()
	for err == nil && dec.PeekKind() == '"' {
		var name jsontext.Token
		if name, err = dec.ReadToken(); err != nil {
			break
		}
		once := o.once[name.String()]
		var value jsontext.Value
		if value, err = dec.ReadValue(); err == nil && once {
			end := int(dec.InputOffset())
			kept = append(append(kept, body[from:end-len(value)]...), "null"...)
			from = end
		}
	}
	if err != nil {
		return nil, fmt.Errorf("remove secrets of %s: %w", o.typ, err)
	}
	return append(kept, body[from:]...), nil
}
