package endpoint

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"

	"keepsake/internal/base/problem"
	"keepsake/internal/base/wire"
)

// input is the compiled In of an operation.
type input struct {
	typ     reflect.Type
	params  []param
	queries map[string]int // of params, by name

	body         *shape
	bodyIndex    []int
	bodyOptional bool       // the field is a pointer
	items        wire.Items // reads its list of Loose items; can be nil
	streamIndex  []int
	arrayIndex   []int // Array is set if the stream is a JSON array; nil if it cannot be
	tableIndex   []int // Table is set if the stream is a CSV; nil if it cannot be
	rawIndex     []int
	media        string
	patch        bool // a merge patch: its own media type is also accepted
	limit        int64
}

var readerType = reflect.TypeFor[io.Reader]()

// compileInput compiles t and stores defaults in prototype, a *t.
func compileInput(op *Operation, t reflect.Type, prototype reflect.Value) *input {
	d := &input{typ: t, queries: map[string]int{}, media: op.Media, limit: op.Class.MaxBody()}
	if op.MaxBody > 0 {
		d.limit = op.MaxBody
	}
	if d.media == "" {
		d.media, d.patch = mediaJSON, op.Method == http.MethodPatch
	}
	shapes := newShapes(asked)
	for _, f := range visibleFields(t) {
		p, ok := shapes.compileParam(f)
		switch {
		case ok:
			if p.place == inQuery {
				d.queries[p.name] = len(d.params)
			}
			d.params = append(d.params, p)
			if text, ok := f.Tag.Lookup("default"); ok {
				if fault := p.set(prototype.Elem(), text); fault != nil {
					panic(fmt.Sprintf("endpoint: %s: default of %s: %s", op.ID, f.Name, fault.says))
				}
			}
		case f.Name == "Body":
			d.bodyIndex, d.bodyOptional = f.Index, f.Type.Kind() == reflect.Pointer
			body := f.Type
			if d.bodyOptional {
				body = body.Elem()
			}
			d.body = shapes.of(body)
			d.items = d.body.looseItems()
			prefill(d.body, prototype.Elem().FieldByIndex(f.Index))
		case f.Name == "Stream" && f.Type == readerType && op.Class == Stream:
			d.streamIndex = f.Index
		case f.Name == "Array" && f.Type.Kind() == reflect.Bool && op.Class == Stream:
			d.arrayIndex = f.Index
		case f.Name == "Table" && f.Type.Kind() == reflect.Bool && op.Class == Stream:
			d.tableIndex = f.Index
		case f.Name == "Raw" && f.Type == reflect.TypeFor[[]byte]():
			d.rawIndex = f.Index
		default:
			panic(fmt.Sprintf("endpoint: %s: field %s is neither a parameter nor the body", op.ID, f.Name))
		}
	}
	if shapes.loose > 1 || shapes.loose == 1 && (d.items == nil || d.bodyOptional) {
		panic(fmt.Sprintf("endpoint: %s: a Loose is an item of the one such list of a body", op.ID))
	}
	return d
}

// prefill stores the defaults of the body's direct members.
func prefill(s *shape, v reflect.Value) {
	for i := range s.members {
		m := &s.members[i]
		if m.prefilled {
			if v.Kind() == reflect.Pointer || m.pointer || m.optional {
				panic("endpoint: member " + m.name + ": a default needs a field and a body that are no pointers")
			}
			if f := m.prefill(m.of(v)); f != nil {
				panic("endpoint: member " + m.name + ": its default " + f.says)
			}
		}
	}
}

// bind reads r into in, a *In.
func (d *input) bind(r *http.Request, in any, copied io.Writer) error {
	v := reflect.ValueOf(in).Elem()
	if len(d.params) > 0 || r.URL.RawQuery != "" {
		if f := d.bindParams(r, v); f != nil {
			return f.problem()
		}
	}
	switch {
	case d.streamIndex != nil:
		return d.bindStream(r, v)
	case d.rawIndex != nil:
		return d.bindRaw(r, v)
	case d.body != nil:
		return d.bindBody(r, v, copied)
	}
	return nil
}

// listed are headers whose value is a list.
var listed = map[string]bool{"Accept": true, "If-Match": true, "If-None-Match": true}

func (d *input) bindParams(r *http.Request, in reflect.Value) *fault {
	var few [16]bool
	seen := few[:]
	if len(d.params) > len(few) {
		seen = make([]bool, len(d.params))
	}
	if f := d.bindQuery(r.URL.RawQuery, in, seen); f != nil {
		return f
	}
	for i := range d.params {
		p := &d.params[i]
		switch p.place {
		case inPath:
			seen[i] = true
			if f := p.set(in, r.PathValue(p.name)); f != nil {
				return f
			}
		case inHeader:
			values := r.Header[p.header]
			if listed[p.header] && len(values) > 1 { // a list can be split into several fields
				values = []string{strings.Join(values, ",")}
			}
			if len(values) > 1 {
				return (&fault{issue: problem.Duplicate, says: "is given twice."}).in(p.name)
			}
			if len(values) == 1 {
				seen[i] = true
				if f := p.set(in, values[0]); f != nil {
					return f
				}
			}
		}
		if !seen[i] {
			if f := p.missing(); f != nil {
				return f.in(p.name)
			}
			continue
		}
		if f := p.check(in); f != nil {
			return f
		}
	}
	return nil
}

// pathParams lists the names in braces of a path.
func pathParams(path string) []string {
	var names []string
	for segment := range strings.SplitSeq(path, "/") {
		if strings.HasPrefix(segment, "{") && strings.HasSuffix(segment, "}") {
			names = append(names, segment[1:len(segment)-1])
		}
	}
	return names
}
